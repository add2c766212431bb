#pragma once

#include <cstdint>
#include <optional>

#include "carina/tensor.h"
#include "quantize/scheme.h"
#include "tensor/quantization.h"

namespace carina::quantize {

// Returns symmetric parameters that cover the weights, per tensor or per index of `axis`. No value if a weight is not
// finite.
std::optional<Quantization> weight_parameters(const Tensor& weight, int axis, const WeightScheme& integers,
                                              double smallest_scale);

// Returns the parameters of a bias: scale input * weight, in the type of the accumulator. Source:
// docs/facts/arm_backend.md 4.1. The weights of a grouped transposed convolution count the channels of one group; their
// scales are repeated for each group.
Quantization bias_parameters(const Quantization& input, const Quantization& weight, int64_t channels);

// Returns the scheme of the weights for this input and result. TOSA multiplies int16 inputs by int8 weights only. Of
// weights of 16 bits it is that of each of the two layers that have them (fine_weights_internal.h).
WeightScheme weight_scheme_for(const Quantization& input, const Quantization& result, const WeightScheme& wanted);

}  // namespace carina::quantize
