#pragma once

#include <optional>

#include "tensor/quantization.h"
#include "tensor/tensor.h"

namespace carina::quantize {

// What integers stand for; other tensors, and those without parameters, as they are. Parameters per tensor.
Tensor as_reals(const Tensor& tensor, const std::optional<Quantization>& quantization);
// The integers that stand for reals. Source: quantized_decomposed.quantize_per_tensor of PyTorch.
Tensor as_integers(const Tensor& reals, const Quantization& quantization);

}  // namespace carina::quantize
