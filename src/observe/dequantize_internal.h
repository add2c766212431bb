#pragma once

#include <optional>

#include "carina/tensor.h"
#include "tensor/quantization.h"

namespace carina::observe {

// What integers stand for; other tensors, and those without parameters, as they are. Parameters per tensor.
Tensor as_floats(const Tensor& tensor, const std::optional<Quantization>& quantization);
// The integers that stand for floats. Source: quantized_decomposed.quantize_per_tensor of PyTorch.
Tensor as_integers(const Tensor& floats, const Quantization& quantization);

}  // namespace carina::observe
