// The 16-bit fixed-point functions of LiteRT's LSTM. They differ in the last bits from the tables that LiteRT's int16
// LOGISTIC and TANH have.
#pragma once

#include <cstdint>

namespace carina::tflite {

// 1 / (1 + exp(-x)) in Q0.15 of x in Q3.12.
int16_t logistic_16(int16_t x);
// tanh(x) in Q0.15 of x with 0 to 6 integer bits.
int16_t tanh_16(int16_t x, int integer_bits);

// The parts of exp, in Q0.15: exp((rest - 1024) / 4096) of a rest in [0, 1024), and exp(-2^(log2 - 2)), log2 in 0 .. 6.
int16_t exp_of_rest_16(int rest);
int16_t exp_of_quarters_16(int log2);

}  // namespace carina::tflite
