#include <algorithm>
#include <limits>

#include "plan/select/emit_internal.h"
#include "plan/select/resize_internal.h"

// A bilinear RESIZE gives sums in units of the product of its scales. LiteRT rounds their quotients half away from
// zero, which RESCALE does with a multiplier a little above 1 / unit. NPUs have operations that round so themselves.
namespace carina::plan {
namespace {

// Whether every quotient is rounded half away from zero. Both functions grow with the sum, so that it is enough to
// compare the sums at which the rounded quotient becomes t:
//   Example, unit 4: 1 begins at the sum 2, 0 at -1, -1 at -5.
bool rounds_half_away(const Rescale& r, ElementType type, int64_t unit) {
  const ScaleFactor factor = r.factors.front();
  constexpr uint32_t kMaxMultiplier = std::numeric_limits<int32_t>::max();
  const bool fits = factor.shift >= 2 && factor.shift <= 62 && factor.multiplier <= kMaxMultiplier;
  if (!fits || unit % 2 != 0 || unit * -type.min() > kSigned32.max()) return false;
  const auto scaled = [&](int64_t sum) {
    const int64_t value = apply_scale_32(sum, static_cast<int32_t>(factor.multiplier), factor.shift, r.rounding);
    return std::clamp(value, type.min(), type.max());
  };
  for (int64_t t = type.min() + 1; t <= type.max(); ++t) {
    const int64_t first = t * unit - unit / 2 + (t > 0 ? 0 : 1);
    if (scaled(first) != t || scaled(first - 1) != t - 1) return false;
  }
  return true;
}

}  // namespace

std::optional<RoundedSums> rounded_sums(const Selection& s, ElementType type, int64_t unit) {
  RoundedSums out;
  auto found = rescale_after(s, s.output());
  const bool only_narrows = found && found->rescale.out == kSigned32 && found->rescale.output_zp == 0 &&
                            !found->rescale.per_channel && simplified(found->rescale.scaling()).is_unit();
  if (only_narrows) {
    out.nodes.push_back(found->node);
    found = rescale_after(s, s.graph()[found->node].outputs[0]);
  }
  if (!found || found->rescale.out != type || found->rescale.output_zp != 0 || found->rescale.per_channel ||
      !rounds_half_away(found->rescale, type, unit))
    return std::nullopt;
  out.nodes.push_back(found->node);
  out.epilogue = epilogue_of(found->rescale, s.graph()[found->node].outputs[0]);
  out.epilogue.rounding = Rounding::kSingle;
  return out;
}

}  // namespace carina::plan
