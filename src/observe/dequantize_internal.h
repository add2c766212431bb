#pragma once

#include <optional>

#include "carina/tensor.h"
#include "tensor/quantization.h"

namespace carina::observe {

// Dequantizes a tensor with per-tensor parameters. Tensors without parameters are returned unchanged.
Tensor as_floats(const Tensor& tensor, const std::optional<Quantization>& quantization);
// Quantizes floats. Source: quantized_decomposed.quantize_per_tensor of PyTorch.
Tensor as_integers(const Tensor& floats, const Quantization& quantization);

}  // namespace carina::observe
