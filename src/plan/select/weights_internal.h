#pragma once

#include "plan/select/selection.h"

// Weights and biases of convolutions during selection.
namespace carina::plan {

// The biases of a convolution, one per output channel. Errors: not constant, wrong length, more than 40 bits.
Result<std::vector<int64_t>> biases_of(Selection& s, ir::ValueId bias, int64_t channels);

// Adds weights with the epilogue's scales. Errors: weights so large that the accumulators could overflow.
Result<WeightsId> add_weights(Selection& s, Weights weights, const Epilogue& epilogue);

}  // namespace carina::plan
