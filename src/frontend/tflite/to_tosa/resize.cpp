#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "frontend/tflite/to_tosa/ops_internal.h"

// RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR as TOSA's RESIZE, where TOSA's rational positions are LiteRT's: LiteRT
// computes those of the nearest neighbor in float, and those between two pixels in steps of 1/1024. Both are compared
// for every row and column of the result. Nearest neighbors of other ratios are slices of rows and of columns.
namespace carina::tflite {

namespace {

using ir::ValueId;

// TOSA: position of result o in the input = (o * divisor + offset) / scale.
struct Axis {
  int64_t in;
  int64_t out;
  int64_t scale;
  int64_t divisor;
  int64_t offset;
  int64_t border;
};

int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// The mapping of an axis. Half pixels: position = (o + 1/2) * in / out - 1/2.
std::optional<Axis> axis_of(int64_t in, int64_t out, const Options& o) {
  int64_t scale = out, divisor = in;
  if (o.align_corners && out > 1) {
    scale = out - 1;
    divisor = in - 1;
  }
  if (divisor == 0) divisor = scale = 1;
  const int64_t common = std::gcd(scale, divisor);
  // Doubled, so that half a step is whole.
  scale = 2 * scale / common;
  divisor = 2 * divisor / common;
  const int64_t offset = o.half_pixel_centers ? (divisor - scale) / 2 : 0;
  const int64_t border = (out - 1) * divisor + offset - (in - 1) * scale;
  const Axis axis{.in = in, .out = out, .scale = scale, .divisor = divisor, .offset = offset, .border = border};
  // TOSA's limits on RESIZE.
  if (scale > 256 || divisor >= 16 * scale || offset < -scale || offset >= 16 * scale) return std::nullopt;
  if (border < -16 * scale || border >= scale) return std::nullopt;
  return axis;
}

// The result's size in TOSA: ((in - 1) * scale - offset + border) / divisor + 1.
bool covers(const Axis& a) {
  const int64_t numerator = (a.in - 1) * a.scale - a.offset + a.border;
  return numerator >= 0 && numerator % a.divisor == 0 && numerator / a.divisor + 1 == a.out;
}

int64_t nearest_in_tosa(const Axis& a, int64_t o) {
  const int64_t at = o * a.divisor + a.offset;
  const int64_t whole = floor_divide(at, a.scale);
  const int64_t index = 2 * (at - whole * a.scale) >= a.scale ? whole + 1 : whole;
  return std::clamp<int64_t>(index, 0, a.in - 1);
}

// By row or column of the result: the one of the input.
std::vector<int64_t> nearest_indices(int64_t in, int64_t out, const Options& options) {
  const bool is_aligned = options.align_corners && out > 1;
  const float scale = is_aligned ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                 : static_cast<float>(in) / static_cast<float>(out);
  std::vector<int64_t> indices;
  for (int64_t o = 0; o < out; ++o) {
    const float at = (static_cast<float>(o) + (options.half_pixel_centers ? 0.5F : 0.0F)) * scale;
    const auto index = static_cast<int64_t>(options.align_corners ? std::round(at) : std::floor(at));
    indices.push_back(std::clamp<int64_t>(index, 0, in - 1));
  }
  return indices;
}

// The nearest neighbor rounds down, which half a pixel less than LiteRT's position does in TOSA.
std::optional<Axis> nearest_axis(int64_t in, int64_t out, const Options& options) {
  Options exact = options;
  auto axis = axis_of(in, out, exact);
  if (!axis) return std::nullopt;
  const std::vector<int64_t> expected = nearest_indices(in, out, options);
  for (const int64_t change :
       {int64_t{0}, -axis->scale / 2, -axis->scale / 2 + 1, -axis->scale / 2 + axis->divisor / 2}) {
    Axis tried = *axis;
    tried.offset += change;
    tried.border += change;
    if (tried.offset < -tried.scale || tried.border < -16 * tried.scale || tried.border >= tried.scale ||
        !covers(tried))
      continue;
    bool same = true;
    for (int64_t o = 0; o < out && same; ++o) same = nearest_in_tosa(tried, o) == expected[static_cast<size_t>(o)];
    if (same) return tried;
  }
  return std::nullopt;
}

// Two neighbors and the second one's share, in LiteRT in 1/1024.
struct Between {
  int64_t low;
  int64_t high;
  int64_t share;
  int64_t of;
};

Between between_in_litert(const Axis& a, int64_t o, const Options& options) {
  const int64_t half = a.out / 2;
  int64_t step = (1024 * a.in + half) / a.out;
  if (options.align_corners && a.out > 1) step = (1024 * (a.in - 1) + (a.out - 1) / 2) / (a.out - 1);
  const int64_t at = options.half_pixel_centers ? o * step + step / 2 - 512 : o * step;
  const int64_t low = std::max<int64_t>(at / 1024, 0);
  const int64_t high = std::min<int64_t>((at + 1023) / 1024, a.in - 1);
  return {.low = std::min(low, a.in - 1), .high = high, .share = at - 1024 * low, .of = 1024};
}

Between between_in_tosa(const Axis& a, int64_t o) {
  const int64_t at = o * a.divisor + a.offset;
  const int64_t whole = floor_divide(at, a.scale);
  const auto within = [&](int64_t index) { return std::clamp<int64_t>(index, 0, a.in - 1); };
  return {.low = within(whole), .high = within(whole + 1), .share = at - whole * a.scale, .of = a.scale};
}

// Whether two blends of neighbors are the same function of them.
bool are_alike(const Between& a, const Between& b) {
  const auto is_single = [](const Between& x) { return x.low == x.high || x.share == 0; };
  if (is_single(a) && is_single(b)) return a.low == b.low;
  return a.low == b.low && a.high == b.high && a.share * b.of == b.share * a.of;
}

std::optional<Axis> bilinear_axis(int64_t in, int64_t out, const Options& options) {
  const auto axis = axis_of(in, out, options);
  if (!axis || !covers(*axis)) return std::nullopt;
  for (int64_t o = 0; o < out; ++o) {
    if (!are_alike(between_in_litert(*axis, o, options), between_in_tosa(*axis, o))) return std::nullopt;
  }
  return axis;
}

Result<void> check_resize(const Call& call) {
  CARINA_CHECKED(call.need(1));
  CARINA_CHECKED(call.need_type(call.in(0), kOf8Or16));
  if (call.in(0).dtype != call.result().dtype)
    return call.reject("input and result have different types", call.in(0).type_name, call.result().type_name);
  const Shape &in = call.in(0).shape, &out = call.result().shape;
  if (in.rank() != 4 || out.rank() != 4 || in[0] != out[0] || in[3] != out[3])
    return call.reject("the shapes do not fit", to_string(in), to_string(out));
  return {};
}

std::unexpected<Diagnostics> no_such_ratio(const Call& call) {
  return call.reject("the ratio of the sizes is not supported", {},
                     fmt::format("{} to {}", to_string(call.in(0).shape), to_string(call.result().shape)),
                     "sizes that are a whole multiple of the input's are");
}

ValueId resized(Call& call, const Axis& rows, const Axis& columns, bool is_nearest) {
  const DType in = call.out.dtype(call.value(0));
  const DType wide = in == DType::kInt16 ? DType::kInt48 : DType::kInt32;
  const ValueId scale = call.out.shape_constant(std::array{rows.scale, rows.divisor, columns.scale, columns.divisor});
  const ValueId offset = call.out.shape_constant(std::array{rows.offset, columns.offset});
  const ValueId border = call.out.shape_constant(std::array{rows.border, columns.border});
  constexpr int64_t kNearest = 1, kBilinear = 2;
  return call.out.emit(TosaOp::RESIZE, {call.value(0), scale, offset, border},
                       {{"mode", is_nearest ? kNearest : kBilinear}},
                       {.dtype = is_nearest ? in : wide, .shape = call.result().shape, .suffix = "resize"});
}

}  // namespace

namespace {

// One pixel, which every neighbor is.
bool is_one_pixel(const Call& call) {
  return call.in(0).shape[1] == 1 && call.in(0).shape[2] == 1;
}

ValueId repeated_pixel(Call& call) {
  const Shape& out = call.result().shape;
  const ValueId multiples = call.out.shape_constant(std::array<int64_t, 4>{1, out[1], out[2], 1});
  return call.out.emit(TosaOp::TILE, {call.value(0), multiples}, {},
                       {.dtype = call.out.dtype(call.value(0)), .shape = out, .suffix = "repeated"});
}

}  // namespace

Result<void> resize_nearest(Call& call) {
  CARINA_CHECKED(check_resize(call));
  const Shape &in = call.in(0).shape, &out = call.result().shape;
  if (is_one_pixel(call)) return call.set(repeated_pixel(call));
  const auto rows = nearest_axis(in[1], out[1], call.options());
  const auto columns = nearest_axis(in[2], out[2], call.options());
  if (!rows || !columns) {
    if (std::max(out[1], out[2]) > kMaxSlices) return no_such_ratio(call);
    ValueId picked = call.value(0);
    for (const size_t axis : {1, 2}) {
      if (in[axis] == out[axis]) continue;
      CARINA_TRY(picked, sliced_by(call, picked, nearest_indices(in[axis], out[axis], call.options()), axis));
    }
    return call.set(picked);
  }
  return call.set(resized(call, *rows, *columns, true));
}

// The blend of four neighbors has the scales' product as its unit. It is rounded half away from zero: a multiplier a
// little above 1 / unit moves the halves below zero down, and no other value.
Result<void> resize_bilinear(Call& call) {
  CARINA_CHECKED(check_resize(call));
  if (is_one_pixel(call)) return call.set(repeated_pixel(call));
  const Shape &in = call.in(0).shape, &out = call.result().shape;
  const auto rows = bilinear_axis(in[1], out[1], call.options());
  const auto columns = bilinear_axis(in[2], out[2], call.options());
  if (!rows || !columns) return no_such_ratio(call);
  ValueId blend = resized(call, *rows, *columns, false);
  const int64_t unit = rows->scale * columns->scale;
  Multiplier multiplier = multiplier_of(1.0 / static_cast<double>(unit));
  if (call.in(0).dtype != DType::kUInt8) ++multiplier.multiplier;
  const DType type = Call::type_of(call.result());
  if (type == DType::kInt16) {
    if (unit > 1 << 14) return no_such_ratio(call);
    constexpr Multiplier kOne{.multiplier = 1 << 30, .exponent = 1};
    blend = call.rescale(blend, {.multipliers = {kOne}, .to = DType::kInt32, .rounding = ir::kSingleRound});
  }
  return call.set(call.rescale(blend, {.multipliers = {multiplier}, .to = type, .rounding = ir::kSingleRound}));
}

}  // namespace carina::tflite
