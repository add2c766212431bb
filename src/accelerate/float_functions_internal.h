#pragma once

#include <cstdint>

namespace carina::accelerate {

// out[i] = function(in[i]), with the bits of the runtime's float_functions. `out` may be `in`.
enum class FloatFunctionKind : uint8_t { kExp, kSigmoid, kTanh, kGelu, kTanhGelu };
void apply(FloatFunctionKind kind, const float* in, float* out, int64_t count);

}  // namespace carina::accelerate
