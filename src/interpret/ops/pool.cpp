// AVG_POOL2D and MAX_POOL2D: windows over [N,H,W,C].

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "interpret/checks_internal.h"
#include "interpret/elements_internal.h"
#include "interpret/ops/nan_internal.h"
#include "kernels/micro/microkernels.h"
#include "tensor/fixed_point.h"

namespace carina::interpret {

namespace {

using enum DType;

struct Geometry {
  int64_t n, ih, iw, c, oh, ow;
  int64_t kernel_y, kernel_x, stride_y, stride_x, pad_top, pad_left;
};

// The part of a window inside of the input.
struct Window {
  int64_t y0, y1, x0, x1;
  [[nodiscard]] int64_t count() const { return (y1 - y0) * (x1 - x0); }
};
Window window_of(const Geometry& g, int64_t oy, int64_t ox) {
  const int64_t y = oy * g.stride_y - g.pad_top;
  const int64_t x = ox * g.stride_x - g.pad_left;
  return {.y0 = std::max<int64_t>(0, y),
          .y1 = std::min(g.ih, y + g.kernel_y),
          .x0 = std::max<int64_t>(0, x),
          .x1 = std::min(g.iw, x + g.kernel_x)};
}

Result<Geometry> geometry_of(const NodePlan& plan) {
  Checks checks(plan);
  constexpr int64_t kMax = INT32_MAX;
  checks.rank(plan.in[0], 4, 4)
      .rank(plan.out[0], 4, 4)
      .list("kernel", 2, 1, kMax)
      .list("stride", 2, 1, kMax)
      .list("pad", 4, 0, kMax);
  if (!checks.good()) return fail(checks.done().error());
  const auto& kernel = plan.node.attributes.integers("kernel");
  const auto& stride = plan.node.attributes.integers("stride");
  const auto& pad = plan.node.attributes.integers("pad");
  const Operand& in = plan.in[0];
  const Geometry g{.n = in.dim(0),
                   .ih = in.dim(1),
                   .iw = in.dim(2),
                   .c = in.dim(3),
                   .oh = plan.out[0].dim(1),
                   .ow = plan.out[0].dim(2),
                   .kernel_y = kernel[0],
                   .kernel_x = kernel[1],
                   .stride_y = stride[0],
                   .stride_x = stride[1],
                   .pad_top = pad[0],
                   .pad_left = pad[2]};
  // Padding must be smaller than the kernel, so that every window contains an element of the input.
  checks.require(pad[0] < kernel[0] && pad[1] < kernel[0] && pad[2] < kernel[1] && pad[3] < kernel[1],
                 "padding must be smaller than the kernel");
  const int64_t span_y = g.ih + pad[0] + pad[1] - kernel[0];
  const int64_t span_x = g.iw + pad[2] + pad[3] - kernel[1];
  checks.require(span_y >= 0 && span_x >= 0 && span_y % stride[0] == 0 && span_x % stride[1] == 0,
                 "kernel, stride and padding do not fit the input");
  if (!checks.good()) return fail(checks.done().error());
  checks.shape(plan.out[0], {g.n, span_y / stride[0] + 1, span_x / stride[1] + 1, g.c})
      .same_type(plan.out[0], in.dtype);
  CARINA_CHECKED(checks.done());
  return g;
}

// Calls pixel(output offset of its channels, offset of image n, window) for every output position.
template <typename Pixel>
void for_each_pixel(Workers& workers, const Geometry& g, const Pixel& pixel) {
  const int64_t work = g.c * g.kernel_y * g.kernel_x;
  split(workers, g.n * g.oh * g.ow, 1 + 16384 / (work + 1), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      pixel(p * g.c, p / (g.oh * g.ow) * g.ih * g.iw * g.c, window_of(g, p / g.ow % g.oh, p % g.ow));
    }
  });
}

// Folds the channels [c0, c0 + count) of a window into `sums`.
constexpr int64_t kSide = 32;
template <typename Element, typename Value, typename Fold>
void fold_window(const Geometry& g, const typename Element::Storage* image, const Window& w, int64_t c0, int64_t count,
                 Value* sums, const Fold& fold) {
  for (int64_t y = w.y0; y < w.y1; ++y) {
    for (int64_t x = w.x0; x < w.x1; ++x) {
      const auto* in = image + (y * g.iw + x) * g.c + c0;
      for (int64_t c = 0; c < count; ++c) sums[c] = fold(sums[c], Element::load(in[c]));
    }
  }
}

// Sums integers: in i32 if every window's sum fits, otherwise in i64.
template <typename Element, typename Sum>
Kernel average_int_with(const NodePlan& plan, const Geometry& g) {
  using S = typename Element::Storage;
  return {.run = [g, shape = *plan.out[0].shape](const Call& call) -> Result<void> {
    const int64_t input_zp = scalar_at(call.in[1], Element::kDType);
    const int64_t output_zp = scalar_at(call.in[2], Element::kDType);
    FirstBad first_bad;
    for_each_pixel(call.runtime.workers, g, [&](int64_t out_at, int64_t image, const Window& w) {
      const ScaleFactor factor = reciprocal_scale(static_cast<uint32_t>(w.count()));
      for (int64_t c0 = 0; c0 < g.c; c0 += kSide) {
        const int64_t count = std::min(kSide, g.c - c0);
        Sum sums[kSide] = {};
        fold_window<Element>(g, call.input<S>(0) + image, w, c0, count, sums,
                             [](Sum sum, int32_t x) { return sum + x; });
        for (int64_t c = 0; c < count; ++c) {
          const int64_t sum = sums[c] - w.count() * input_zp;
          if (sum != static_cast<int32_t>(sum)) first_bad.report(out_at + c0 + c);
          const int64_t mean = apply_scale_32(static_cast<int32_t>(sum), static_cast<int32_t>(factor.multiplier),
                                              factor.shift, Rounding::kSingle);
          call.output<S>(0)[out_at + c0 + c] = saturate<S>(mean + output_zp);
        }
      }
    });
    if (first_bad.any()) return fail_at(call, shape, first_bad.element(), "the sum does not fit i32");
    return {};
  }};
}

// The scales of the means of windows, by the number of their elements: windows at the borders have fewer. Returns
// nothing if a sum could break a REQUIRE, or if zero points are known only at run time.
using ScalesByCount = std::map<int64_t, kernels::Scales>;
std::optional<ScalesByCount> scales_of_means(const NodePlan& plan, const Geometry& g) {
  constexpr size_t kMany = 64;
  const DType type = plan.out[0].dtype;
  if (plan.kernels != Kernels::kFast || plan.in[1].constant == nullptr || plan.in[2].constant == nullptr)
    return std::nullopt;
  const int64_t input_zp = scalar_at(plan.in[1].constant->data.data(), type);
  const int64_t output_zp = scalar_at(plan.in[2].constant->data.data(), type);
  const IntegerRange range = range_of(type);
  const int64_t largest = std::max(range.max - input_zp, input_zp - range.min);
  std::set<int64_t> heights, widths;
  for (int64_t y = 0; y < g.oh; ++y) heights.insert(window_of(g, y, 0).y1 - window_of(g, y, 0).y0);
  for (int64_t x = 0; x < g.ow; ++x) widths.insert(window_of(g, 0, x).x1 - window_of(g, 0, x).x0);
  if (heights.size() * widths.size() > kMany) return std::nullopt;
  ScalesByCount all;
  for (const int64_t height : heights) {
    for (const int64_t width : widths) {
      const int64_t count = height * width;
      const ScaleFactor factor = reciprocal_scale(static_cast<uint32_t>(count));
      const std::array<int32_t, 1> multiplier{static_cast<int32_t>(factor.multiplier)};
      const std::array<int8_t, 1> shift{static_cast<int8_t>(factor.shift)};
      auto scales = kernels::make_scales({.multiplier = multiplier,
                                          .shift = shift,
                                          .rounding = Rounding::kSingle,
                                          .bound = count * largest,
                                          .channels = 1});
      if (!scales) return std::nullopt;
      scales->output_zp = static_cast<int32_t>(output_zp);
      scales->low = static_cast<int32_t>(range.min);
      scales->high = static_cast<int32_t>(range.max);
      if (type == kInt8) kernels::find_float_form(*scales);
      kernels::settle(*scales, type);
      all.emplace(count, *std::move(scales));
    }
  }
  return all;
}

// Sums are scaled with vectors.
template <typename Element>
Kernel scaled_average(const NodePlan& plan, const Geometry& g, ScalesByCount scales) {
  using S = typename Element::Storage;
  const auto input_zp = static_cast<int32_t>(scalar_at(plan.in[1].constant->data.data(), Element::kDType));
  return {.run = [g, input_zp, scales = std::move(scales)](const Call& call) -> Result<void> {
    for_each_pixel(call.runtime.workers, g, [&](int64_t out_at, int64_t image, const Window& w) {
      const kernels::Scales& scale = scales.at(w.count());
      for (int64_t c0 = 0; c0 < g.c; c0 += kSide) {
        const int64_t count = std::min(kSide, g.c - c0);
        int32_t sums[kSide];
        std::fill_n(sums, kSide, static_cast<int32_t>(-w.count() * input_zp));
        fold_window<Element>(g, call.input<S>(0) + image, w, c0, count, sums,
                             [](int32_t sum, int32_t x) { return sum + x; });
        kernels::scale_rows({.scales = scale,
                             .in_type = kInt32,
                             .out_type = Element::kDType,
                             .in = sums,
                             .out = call.output<S>(0) + out_at + c0,
                             .in_stride = kSide,
                             .out_stride = kSide,
                             .rows = 1,
                             .first = 0,
                             .channels = count});
      }
    });
    return {};
  }};
}

template <typename Element>
Kernel average_int(const NodePlan& plan, const Geometry& g) {
  if (auto scales = scales_of_means(plan, g)) return scaled_average<Element>(plan, g, *std::move(scales));
  constexpr int64_t kSmall = 1 << 15;
  const bool small = g.kernel_y <= kSmall && g.kernel_x <= kSmall / g.kernel_y;
  return small ? average_int_with<Element, int32_t>(plan, g) : average_int_with<Element, int64_t>(plan, g);
}

template <typename Element>
Kernel average_float(const NodePlan&, const Geometry& g) {
  using S = typename Element::Storage;
  return {.run = [g](const Call& call) -> Result<void> {
    for_each_pixel(call.runtime.workers, g, [&](int64_t out_at, int64_t image, const Window& w) {
      for (int64_t c0 = 0; c0 < g.c; c0 += kSide) {
        const int64_t count = std::min(kSide, g.c - c0);
        float sums[kSide] = {};
        fold_window<Element>(g, call.input<S>(0) + image, w, c0, count, sums,
                             [](float sum, float x) { return sum + x; });
        for (int64_t c = 0; c < count; ++c)
          call.output<S>(0)[out_at + c0 + c] = Element::store(sums[c] / static_cast<float>(w.count()));
      }
    });
    return {};
  }};
}

template <typename Element>
Kernel maximum_int(const NodePlan&, const Geometry& g) {
  using S = typename Element::Storage;
  return {.run = [g](const Call& call) -> Result<void> {
    for_each_pixel(call.runtime.workers, g, [&](int64_t out_at, int64_t image, const Window& w) {
      for (int64_t c0 = 0; c0 < g.c; c0 += kSide) {
        const int64_t count = std::min(kSide, g.c - c0);
        S best[kSide];
        std::fill_n(best, kSide, std::numeric_limits<S>::min());
        fold_window<Plain<kUnknown, S>>(g, call.input<S>(0) + image, w, c0, count, best,
                                        [](S a, S b) { return std::max(a, b); });
        std::copy_n(best, count, call.output<S>(0) + out_at + c0);
      }
    });
    return {};
  }};
}

template <typename Element, NanMode Mode>
Kernel maximum_float_with(const Geometry& g) {
  using S = typename Element::Storage;
  return {.run = [g](const Call& call) -> Result<void> {
    const float start =
        Mode == NanMode::kIgnore ? std::numeric_limits<float>::quiet_NaN() : -std::numeric_limits<float>::infinity();
    for_each_pixel(call.runtime.workers, g, [&](int64_t out_at, int64_t image, const Window& w) {
      for (int64_t c0 = 0; c0 < g.c; c0 += kSide) {
        const int64_t count = std::min(kSide, g.c - c0);
        float best[kSide];
        std::fill_n(best, kSide, start);
        fold_window<Element>(g, call.input<S>(0) + image, w, c0, count, best,
                             [](float a, float b) { return float_max<Mode>(a, b); });
        for (int64_t c = 0; c < count; ++c) call.output<S>(0)[out_at + c0 + c] = Element::store(best[c]);
      }
    });
    return {};
  }};
}

template <typename Element>
Kernel maximum_float(const NodePlan& plan, const Geometry& g) {
  return nan_mode_of(plan) == NanMode::kIgnore ? maximum_float_with<Element, NanMode::kIgnore>(g)
                                               : maximum_float_with<Element, NanMode::kPropagate>(g);
}

struct Row {
  DType dtype;
  Kernel (*make)(const NodePlan&, const Geometry&);
};

Result<Kernel> choose_row(const NodePlan& plan, const Geometry& g, std::span<const Row> rows) {
  for (const Row& row : rows) {
    if (row.dtype == plan.in[0].dtype) return row.make(plan, g);
  }
  return fail(plan.diagnostic("the pooling does not have this type", "i8, i16 or a float",
                              std::string(name_of(plan.in[0].dtype))));
}

}  // namespace

Result<Kernel> prepare_AVG_POOL2D(const NodePlan& plan) {
  CARINA_CHECKED(Checks(plan).operands(3, 1).done());
  for (size_t i = 1; i <= 2; ++i)
    CARINA_CHECKED(Checks(plan).scalar(plan.in[i]).same_type(plan.in[i], plan.in[0].dtype).done());
  CARINA_TRY(const Geometry g, geometry_of(plan));
  const auto window = static_cast<double>(g.kernel_y) * static_cast<double>(g.kernel_x);
  CARINA_CHECKED(Checks(plan).require(window < 2147483648.0, "the window has too many elements").done());
  static constexpr Row kRows[] = {{kInt8, &average_int<I8>},       {kInt16, &average_int<I16>},
                                  {kFp32, &average_float<F32>},    {kFp16, &average_float<F16>},
                                  {kBf16, &average_float<BF16>},   {kFp8E4M3, &average_float<E4M3>},
                                  {kFp8E5M2, &average_float<E5M2>}};
  return choose_row(plan, g, kRows);
}

Result<Kernel> prepare_MAX_POOL2D(const NodePlan& plan) {
  CARINA_CHECKED(Checks(plan).operands(1, 1).done());
  CARINA_TRY(const Geometry g, geometry_of(plan));
  static constexpr Row kRows[] = {{kInt8, &maximum_int<I8>},       {kInt16, &maximum_int<I16>},
                                  {kFp32, &maximum_float<F32>},    {kFp16, &maximum_float<F16>},
                                  {kBf16, &maximum_float<BF16>},   {kFp8E4M3, &maximum_float<E4M3>},
                                  {kFp8E5M2, &maximum_float<E5M2>}};
  return choose_row(plan, g, kRows);
}

}  // namespace carina::interpret
