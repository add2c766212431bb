#pragma once

#include <cstdint>
#include <optional>

#include "kernels/micro/affine_bytes.h"
#include "kernels/micro/microkernels.h"

// Affine functions of bytes that are followed by a RESCALE.
namespace carina::kernels {

// The RESCALE of a channel: (value * multiplier + addend) >> shift. The addend rounds, and has the zero point.
struct LinearScale {
  int64_t multiplier, addend;
  int shift;
};
// Returns nothing for DOUBLE_ROUND, whose addend depends on the value.
std::optional<LinearScale> linear_scale(const Scales& scales, int64_t channel);

// (x * factor << left_shift) + addend of a byte x, scaled. Returns nothing if 64 bits, or the parts of 32 bits, do not
// suffice.
//   Example: (x << 19) - b, scaled by m / 2^50, is (x * m + ((2^49 - b * m) >> 19)) >> 31.
struct AffineValue {
  int64_t factor;
  int left_shift = 0;
  int64_t addend;
};
std::optional<Affine> scaled(const LinearScale& scale, const AffineValue& value);

}  // namespace carina::kernels
