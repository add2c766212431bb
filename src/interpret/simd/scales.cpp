#include <algorithm>

#include "interpret/simd/simd_internal.h"

namespace carina::interpret::simd {

std::optional<Scales> make_scales(const ScaleRequest& request) {
  Scales scales;
  scales.per_channel = request.multiplier.size() > 1;
  const int64_t count = std::max(padded(request.channels), kLanes);
  for (int64_t c = 0; c < count; ++c) {
    const size_t from = scales.per_channel ? static_cast<size_t>(std::min(c, request.channels - 1)) : 0;
    const int32_t multiplier = request.multiplier[from];
    const int shift = request.shift[from];
    if (multiplier < 0 || shift < 2 || shift > 62 || request.bound >= int64_t{1} << std::min(shift - 1, 31))
      return std::nullopt;
    const bool twice = request.rounding == Rounding::kDouble && shift > 31;
    scales.doubled |= twice;
    scales.multiplier.push_back(multiplier);
    (c % 2 == 0 ? scales.shift_even : scales.shift_odd).push_back(shift);
    (c % 2 == 0 ? scales.round_even : scales.round_odd).push_back(int64_t{1} << (shift - 1));
    (c % 2 == 0 ? scales.extra_even : scales.extra_odd).push_back(twice ? int64_t{1} << 30 : 0);
  }
  return scales;
}

void settle(Scales& scales, DType out_type) {
  // |value * multiplier| < 2^62 by the REQUIREs on values and factors, so another 2^61 and the rounding fit 63 bits.
  constexpr int kLargestShift = 45;
  constexpr int32_t kLargestZeroPoint = 1 << 16;
  const auto small = [](int64_t shift) { return shift <= kLargestShift; };
  if (scales.output_zp > -kLargestZeroPoint && scales.output_zp < kLargestZeroPoint &&
      std::ranges::all_of(scales.shift_even, small) && std::ranges::all_of(scales.shift_odd, small)) {
    const int64_t zp = scales.output_zp;
    for (size_t i = 0; i < scales.round_even.size(); ++i)
      scales.round_even[i] += zp * (int64_t{1} << scales.shift_even[i]);
    for (size_t i = 0; i < scales.round_odd.size(); ++i)
      scales.round_odd[i] += zp * (int64_t{1} << scales.shift_odd[i]);
    scales.output_zp = 0;
  }
  const IntegerRange range = range_of(out_type);
  scales.plain = !scales.doubled && scales.output_zp == 0 && scales.low == range.min && scales.high == range.max;
}

}  // namespace carina::interpret::simd
