#include "plan/network/step.h"

namespace carina::plan {

Scaling simplified(const Scaling& scaling) {
  Scaling result = scaling;
  // The second rounding only exists for shifts above 31.
  if (result.rounding == Rounding::kDouble && result.shift + result.first_shift <= 31) {
    result.rounding = Rounding::kSingle;
    result.first_shift = 0;
  }
  if (result.rounding == Rounding::kDouble) return result;
  while (result.multiplier != 0 && result.multiplier % 2 == 0 && result.shift > 0) {
    result.multiplier /= 2;
    --result.shift;
  }
  return result;
}

std::optional<uint32_t> whole_factor(const Scaling& scaling) {
  const Scaling simple = simplified(scaling);
  if (simple.shift != 0) return std::nullopt;
  return simple.multiplier;
}

}  // namespace carina::plan
