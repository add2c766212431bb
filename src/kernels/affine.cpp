#include "kernels/affine.h"

#include "base/checked_math.h"

namespace carina::kernels {

std::optional<LinearScale> linear_scale(const Scales& s, int64_t channel) {
  const auto c = static_cast<size_t>(s.per_channel ? channel : 0);
  const int shift = 32 + s.after[c];
  const auto zero = checked_mul<int64_t>(s.output_zp, int64_t{1} << shift);
  const auto addend = zero ? checked_add(*zero, (c % 2 == 0 ? s.round_even : s.round_odd)[c / 2]) : std::nullopt;
  if (s.doubled || s.input_zp != 0 || !addend) return std::nullopt;
  return LinearScale{.multiplier = int64_t{s.multiplier[c]} << s.before[c], .addend = *addend, .shift = shift};
}

std::optional<Affine> scaled(const LinearScale& scale, const AffineValue& value) {
  const auto factor = checked_mul(value.factor, scale.multiplier);
  const auto product = checked_mul(value.addend, scale.multiplier);
  const auto addend = product ? checked_add(*product, scale.addend) : std::nullopt;
  if (!factor || !addend) return std::nullopt;
  return Affine::create(*factor, *addend >> value.left_shift, scale.shift - value.left_shift);
}

}  // namespace carina::kernels
