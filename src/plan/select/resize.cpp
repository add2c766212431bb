#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plan/select/convolution_internal.h"
#include "plan/select/emit_internal.h"
#include "plan/select/resize_internal.h"
#include "plan/select/rules.h"
#include "plan/select/weights_internal.h"

// RESIZE, one axis after the other. Outputs whose sources advance evenly are made by one operation that steps over its
// output: with upscaling by n there are n such phases. Sizes that are doubled take less (doubled.cpp).
namespace carina::plan {

// Source: TOSA 1.0, RESIZE.
Source source_of(const AxisScale& a, int64_t o) {
  const int64_t position = o * a.d + a.offset;
  const int64_t index = position >= 0 ? position / a.n : -((-position + a.n - 1) / a.n);
  return {.low = std::clamp<int64_t>(index, 0, a.inputs - 1),
          .high = std::clamp<int64_t>(index + 1, 0, a.inputs - 1),
          .fraction = position - index * a.n};
}

int64_t nearest_of(const AxisScale& a, int64_t o) {
  const Source source = source_of(a, o);
  return 2 * source.fraction >= a.n ? source.high : source.low;
}

namespace {

// A run of outputs first, first + step, ... whose sources are `low + i * advance` with the same fraction.
struct Run {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 1;
  Source source;
  int64_t advance = 1;
};

std::vector<Run> runs_of(const AxisScale& a) {
  std::vector<bool> done(static_cast<size_t>(a.outputs), false);
  std::vector<Run> runs;
  for (int64_t o = 0; o < a.outputs; ++o) {
    if (done[static_cast<size_t>(o)]) continue;
    Run run{.first = o, .step = a.n, .count = 1, .source = source_of(a, o), .advance = a.d};
    for (int64_t next = o;;) {
      done[static_cast<size_t>(next)] = true;
      next += a.n;
      if (next >= a.outputs) break;
      const Source s = source_of(a, next);
      if (s.fraction != run.source.fraction || s.low != run.source.low + run.count * a.d ||
          s.high - s.low != run.source.high - run.source.low)
        break;
      ++run.count;
    }
    runs.push_back(run);
  }
  return runs;
}

void nearest_axis(Selection& s, const View& dst, const Operand& src, size_t axis, const AxisScale& a) {
  for (const Run& run : runs_of(a)) {
    const int64_t index = 2 * run.source.fraction >= a.n ? run.source.high : run.source.low;
    emit_copy(s, stepped_axis(dst, axis, run.first, run.step, run.count),
              stepped_axis(src.view, axis, index, run.advance, run.count), src.type);
  }
}

// A depthwise kernel of the two taps along the axis, scaled up by n.
Result<void> bilinear_axis(Selection& s, const View& dst, const Operand& src, size_t axis, const AxisScale& a,
                           const Epilogue& epilogue) {
  for (const Run& run : runs_of(a)) {
    const int64_t channels = dst.axes[3].size;
    const bool two = run.source.high != run.source.low && run.source.fraction != 0;
    const int64_t taps = two ? 2 : 1;
    const int64_t range = run.source.high - run.source.low;
    CARINA_CHECK(!two || range == 1, "neighbors");
    Weights weights{
        .name = {}, .out_channels = channels, .height = axis == 1 ? taps : 1, .width = axis == 2 ? taps : 1};
    std::vector<int16_t> values;
    for (int64_t c = 0; c < channels; ++c) {
      values.push_back(static_cast<int16_t>(two ? a.n - run.source.fraction : a.n));
      if (two) values.push_back(static_cast<int16_t>(run.source.fraction));
    }
    weights.values = values;
    Window window{.kind = StepKind::kDepthwise,
                  .ifm = src,
                  .ofm = stepped_axis(dst, axis, run.first, run.step, run.count),
                  .kernel = {.height = weights.height, .width = weights.width}};
    (axis == 1 ? window.kernel.stride_y : window.kernel.stride_x) = run.count == 1 ? 1 : run.advance;
    window.ifm.view = sliced_axis(src.view, axis, run.source.low, (run.count - 1) * run.advance + taps);
    CARINA_TRY(window.weights, add_weights(s, std::move(weights), epilogue));
    CARINA_CHECKED(emit_window(s, window, epilogue));
  }
  return {};
}

// The two taps along an axis and how much each counts.
struct AxisTaps {
  int64_t taps = 1;
  std::array<int64_t, 2> weights{};
};
AxisTaps taps_of(const Run& run, const AxisScale& a) {
  const bool two = run.source.high != run.source.low && run.source.fraction != 0;
  if (!two) return {.taps = 1, .weights = {a.n, 0}};
  return {.taps = 2, .weights = {a.n - run.source.fraction, run.source.fraction}};
}

// The weights of a window's taps, which are the same for all channels, and the epilogue for them.
struct Scaled {
  std::vector<int64_t> weights;
  Epilogue epilogue;
};
constexpr int64_t kMaxWeight = 255;  // nine bits with the sign

// The products of both axes' weights. While one exceeds kMaxWeight and all are even, all are halved, and the result is
// shifted by one bit less.
//   Example: {512, 256} with a shift of 10 is {128, 64} with a shift of 8.
Scaled products_of(const AxisTaps& y, const AxisTaps& x, const Epilogue& epilogue) {
  Scaled scaled{.weights = {}, .epilogue = epilogue};
  for (int64_t i = 0; i < y.taps; ++i) {
    for (int64_t k = 0; k < x.taps; ++k)
      scaled.weights.push_back(y.weights[static_cast<size_t>(i)] * x.weights[static_cast<size_t>(k)]);
  }
  const auto even = [](int64_t w) { return w % 2 == 0; };
  while (std::ranges::max(scaled.weights) > kMaxWeight && std::ranges::all_of(scaled.weights, even) &&
         std::ranges::min(scaled.epilogue.factors, {}, &ScaleFactor::shift).shift > 0) {
    for (int64_t& w : scaled.weights) w /= 2;
    for (ScaleFactor& factor : scaled.epilogue.factors) --factor.shift;
  }
  return scaled;
}

// The input that outputs of two runs see.
View seen_by(const View& src, const Run& rows, int64_t height, const Run& columns, int64_t width) {
  const auto seen = [](const Run& run, int64_t taps) { return (run.count - 1) * run.advance + taps; };
  return sliced_axis(sliced_axis(src, 1, rows.source.low, seen(rows, height)), 2, columns.source.low,
                     seen(columns, width));
}

Result<void> bilinear_part(Selection& s, const View& dst, const Operand& src, const Run& rows, const Run& columns,
                           const AxisTaps& v, const AxisTaps& h, const Epilogue& whole) {
  const auto [products, epilogue] = products_of(v, h, whole);
  if (std::ranges::max(products) > kMaxWeight) {
    return s.reject("this bilinear RESIZE is not supported",
                    fmt::format("scale numerators whose product is at most {} (16-bit elements)", kMaxWeight));
  }
  const int64_t channels = dst.axes[3].size;
  Weights weights{.name = {}, .out_channels = channels, .height = v.taps, .width = h.taps};
  std::vector<int16_t> values;
  for (int64_t c = 0; c < channels; ++c) values.insert(values.end(), products.begin(), products.end());
  weights.values = values;
  Window window{.kind = StepKind::kDepthwise,
                .ifm = src,
                .ofm = stepped_axis(stepped_axis(dst, 1, rows.first, rows.step, rows.count), 2, columns.first,
                                    columns.step, columns.count),
                .kernel = {.height = v.taps,
                           .width = h.taps,
                           .stride_y = rows.count == 1 ? 1 : rows.advance,
                           .stride_x = columns.count == 1 ? 1 : columns.advance}};
  window.ifm.view = seen_by(src.view, rows, v.taps, columns, h.taps);
  CARINA_TRY(window.weights, add_weights(s, std::move(weights), epilogue));
  return emit_window(s, window, epilogue);
}

// Both axes at once: results that need more than 16 bits between the axes have no other way.
Result<void> bilinear_at_once(Selection& s, const View& dst, const Operand& src, const AxisScale& y, const AxisScale& x,
                              const Epilogue& epilogue) {
  for (const Run& rows : runs_of(y)) {
    for (const Run& columns : runs_of(x))
      CARINA_CHECKED(bilinear_part(s, dst, src, rows, columns, taps_of(rows, y), taps_of(columns, x), epilogue));
  }
  return {};
}

constexpr int64_t kNearest = 1;
constexpr int64_t kMaxBilinearScale = 128;  // int8 times this fits int16, and the weights fit nine bits

// Sums of 16-bit elements have 48 bits. They stay in the accumulators until they are rescaled.
Result<void> bilinear_16(Selection& s, const Operand& x, const AxisScale& y, const AxisScale& w) {
  CARINA_TRY(const std::vector<Epilogue> epilogues, epilogues_of(s));
  for (const Epilogue& epilogue : epilogues) {
    if (!epilogue.scaled)
      return s.reject("a result of 48 bits is only supported where it is rescaled", "RESCALE behind RESIZE");
    const View out = s.open(epilogue.value, s.shape(s.output()));
    CARINA_CHECKED(bilinear_at_once(s, out, x, y, w, epilogue));
    s.close(epilogue.value, out, epilogue.type);
  }
  return {};
}

}  // namespace

Result<void> select_resize(Selection& s) {
  CARINA_TRY(const std::vector<int64_t> scale, s.constant(s.input(1), "scale"));
  CARINA_TRY(const std::vector<int64_t> offset, s.constant(s.input(2), "offset"));
  if (scale.size() != 4 || offset.size() != 2 || std::ranges::min(scale) < 1)
    return s.reject("RESIZE needs four scales and two offsets");
  const Operand x = with_dense_channels(s, s.plain(s.input(0)));
  const Shape in = s.shape(s.input(0)), out_shape = s.shape(s.output());
  const AxisScale y{.n = scale[0], .d = scale[1], .offset = offset[0], .inputs = in[1], .outputs = out_shape[1]};
  const AxisScale w{.n = scale[2], .d = scale[3], .offset = offset[1], .inputs = in[2], .outputs = out_shape[2]};
  const Shape rows_shape{in[0], out_shape[1], in[2], in[3]};
  if (s.node().attributes.integer("mode") == kNearest) {
    const View out = s.destination(s.output());
    CARINA_TRY(const bool is_doubled, emit_doubled_nearest(s, out, x, y, w));
    if (!is_doubled) {
      const View rows = s.new_tensor("rows", rows_shape, x.type);
      nearest_axis(s, rows, x, 1, y);
      nearest_axis(s, out, {.view = rows, .type = x.type}, 2, w);
    }
    s.define(s.output(), {.view = out, .type = x.type});
    return {};
  }
  CARINA_TRY(const bool is_doubled, select_doubled_bilinear(s, x, y, w));
  if (is_doubled) return {};
  if (x.type == kSigned16) return bilinear_16(s, x, y, w);
  if (std::max(y.n, w.n) > kMaxBilinearScale) {
    return s.reject("this bilinear RESIZE is not supported",
                    fmt::format("scale numerators of at most {}", kMaxBilinearScale),
                    fmt::format("{} and {}", y.n, w.n));
  }
  const View rows = s.new_tensor("rows", rows_shape, kSigned16);
  CARINA_CHECKED(bilinear_axis(s, rows, x, 1, y, store_only({}, kSigned16)));
  const Epilogue epilogue = s.follow(s.output(), kSigned32, {.scale = EpilogueRules::Scale::kGlobal});
  const View out = s.open(epilogue.value, out_shape);
  CARINA_CHECKED(bilinear_axis(s, out, {.view = rows, .type = kSigned16}, 2, w, epilogue));
  s.close(epilogue.value, out, epilogue.type);
  return {};
}

}  // namespace carina::plan
