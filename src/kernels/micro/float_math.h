#pragma once

namespace carina::kernels {

// Elementary functions with the same bits on every machine. The C library's functions differ between versions and, in
// one library, between processors with and without fused multiply-add. These functions use double products and sums,
// each rounded once, and round to float at the end. Nearly all results are correctly rounded.
float exact_exp(float x);
float exact_log(float x);
float exact_sin(float x);
float exact_cos(float x);
float exact_tanh(float x);
float exact_sigmoid(float x);
float exact_erf(float x);
float exact_pow(float x, float y);
float exact_rsqrt(float x);

}  // namespace carina::kernels
