#pragma once

namespace carina::simd {

// Elementary functions whose bits are the same on every machine: the C library's differ between versions and, in one
// library, between processors with and without fused multiply-add. Computed in double from products and sums alone,
// each rounded once, and rounded to float at the end: nearly always the correctly rounded result.
float exact_exp(float x);
float exact_log(float x);
float exact_sin(float x);
float exact_cos(float x);
float exact_tanh(float x);
float exact_sigmoid(float x);
float exact_erf(float x);
float exact_pow(float x, float y);
float exact_rsqrt(float x);

}  // namespace carina::simd
