#include <algorithm>
#include <bit>

#include "kernels/micro/microkernels.h"

// The factors of a RESCALE in the layout of the vector kernels: multipliers, rounding addends and shifts per channel.
namespace carina::kernels {

namespace {
constexpr int kUpper = 32;  // the first bit of the upper half

// Of a multiplier 2^m: m - shift, unless it is below 0.
std::optional<int32_t> left_shift_of(int32_t multiplier, int shift) {
  const auto m = static_cast<uint32_t>(multiplier);
  if (!std::has_single_bit(m) || std::countr_zero(m) < shift) return {};
  return std::countr_zero(m) - shift;
}
}  // namespace

std::optional<Scales> make_scales(const ScaleRequest& request) {
  Scales scales;
  scales.per_channel = request.multiplier.size() > 1;
  const int64_t count = scales.per_channel ? padded(request.channels) : kLanes;
  for (int64_t c = 0; c < count; ++c) {
    const size_t from = scales.per_channel ? static_cast<size_t>(std::min(c, request.channels - 1)) : 0;
    const int32_t multiplier = request.multiplier[from];
    const int shift = request.shift[from];
    if (multiplier < 0 || shift < 2 || shift > 62 || request.bound >= int64_t{1} << std::min(shift - 1, 31))
      return std::nullopt;
    const bool twice = request.rounding == Rounding::kDouble && shift > 31;
    scales.doubled |= twice;
    scales.multiplier.push_back(multiplier);
    const int after = std::max(shift - kUpper, 0);
    scales.before.push_back(std::max(kUpper - shift, 0));
    scales.after.push_back(after);
    (c % 2 == 0 ? scales.round_even : scales.round_odd).push_back(int64_t{1} << (kUpper + after - 1));
    (c % 2 == 0 ? scales.extra_even : scales.extra_odd).push_back(twice ? int64_t{1} << 30 : 0);
  }
  if (!scales.per_channel) scales.left_shift = left_shift_of(request.multiplier[0], request.shift[0]);
  return scales;
}

void settle(Scales& scales, DType out_type) {
  if (scales.left_shift) return;  // there is no rounding addend that could take the zero point
  // The REQUIREs on values and factors give |value * multiplier| < 2^62. Another 2^61 and the rounding addend still fit
  // 63 bits.
  constexpr int32_t kLargestShift = 45 - kUpper;
  constexpr int32_t kLargestZeroPoint = 1 << 16;
  const auto small = [](int32_t after) { return after <= kLargestShift; };
  if (scales.output_zp > -kLargestZeroPoint && scales.output_zp < kLargestZeroPoint &&
      std::ranges::all_of(scales.after, small)) {
    const int64_t zp = scales.output_zp;
    for (size_t c = 0; c < scales.after.size(); ++c)
      (c % 2 == 0 ? scales.round_even : scales.round_odd)[c / 2] += zp * (int64_t{1} << (kUpper + scales.after[c]));
    scales.output_zp = 0;
  }
  const IntegerRange range = range_of(out_type);
  scales.plain = !scales.doubled && scales.output_zp == 0 && scales.low == range.min && scales.high == range.max;
}

int64_t byte_padded(int64_t channels) {
  constexpr int64_t kBlock = kMaxPanels * kLanes;
  return (channels + kBlock - 1) / kBlock * kBlock;
}

Int8Epilogue::Int8Epilogue(int64_t channels)
    : column(static_cast<size_t>(byte_padded(channels)), 0), multiplier(column), addend(column), shift(column) {}

std::optional<Int8Epilogue> int8_epilogue(const Scales& scales, DType out_type, std::span<const int32_t> column) {
  constexpr int32_t kLargestShift = 54 - kUpper;  // the zero point's share of the addend is then below 2^30
  if (!kernels_make_bytes() || out_type != DType::kInt8 || scales.doubled || scales.input_zp != 0) return std::nullopt;
  Int8Epilogue epilogue(std::ssize(column));
  epilogue.low = static_cast<int8_t>(scales.low);
  epilogue.high = static_cast<int8_t>(scales.high);
  for (size_t c = 0; c < column.size(); ++c) {
    const size_t from = scales.per_channel ? c : 0;
    if (from >= scales.multiplier.size()) break;  // the rest is padding
    const int32_t shift = scales.after[from];
    const int64_t round = (from % 2 == 0 ? scales.round_even : scales.round_odd)[from / 2];
    if (shift == 0 || shift > kLargestShift) return std::nullopt;
    epilogue.column[c] = column[c];
    epilogue.multiplier[c] = scales.multiplier[from];
    epilogue.shift[c] = shift;
    // The rounding addend and the zero point are multiples of 2^32, so they are added to the upper half only.
    epilogue.addend[c] = static_cast<int32_t>((round >> kUpper) + scales.output_zp * (int64_t{1} << shift));
  }
  return epilogue;
}

}  // namespace carina::kernels
