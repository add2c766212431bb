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

}  // namespace carina::interpret::simd
