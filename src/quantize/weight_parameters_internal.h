#pragma once

#include <cstdint>
#include <optional>

#include "carina/tensor.h"
#include "quantize/scheme.h"
#include "tensor/quantization.h"

namespace carina::quantize {

// Symmetric parameters that reach as far as the weights, of the tensor or of each index of `axis`. None: not all weights
// are finite.
std::optional<Quantization> weight_parameters(const Tensor& weight, int axis, const WeightScheme& integers,
                                              double smallest_scale);

// Of scale input * weight, in the accumulator's type. Source: docs/facts/arm_backend.md 4.1. Groups of a transposed
// convolution, whose weights count the channels of one group, have the same scales one after the other.
Quantization bias_parameters(const Quantization& input, const Quantization& weight, int64_t channels);

// What weights become beside such inputs: TOSA multiplies int16 by int8 only.
WeightScheme weight_scheme_for(const Quantization& input, const WeightScheme& wanted);

}  // namespace carina::quantize
