// Reads and makes tensors by element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "carina/tensor.h"
#include "tensor/quantization.h"

namespace carina {

// The elements of a tensor of integers (any width), bools or a shape; none for other types.
std::optional<std::vector<int64_t>> integers_if_any(const Tensor& tensor);
// The same for a tensor that must hold such elements.
std::vector<int64_t> integers_of(const Tensor& tensor);
// The elements of a tensor of integers, fp32 or fp64 (64-bit integers rounded); none for other types, bools too.
std::optional<std::vector<double>> numbers_of(const Tensor& tensor);

// A tensor of an integer type from int64 values, which must fit.
Tensor integer_tensor(DType dtype, const Shape& shape, std::span<const int64_t> values);
// All elements are `value`, rounded to the type: fp32, fp16, bf16 or one of 8 bits.
Tensor float_tensor(DType dtype, const Shape& shape, float value);

// Returns the floats that the integers of a tensor represent. Source: dequantize_per_tensor and dequantize_per_channel
// of quantized_decomposed.
Tensor dequantized(const Tensor& integers, const Quantization& quantization);

// Computes the index along one axis of an element, given the element's position in a dense tensor. The position must be
// valid.
class ChannelOf {
 public:
  ChannelOf() = default;  // a single channel
  ChannelOf(const Shape& shape, size_t axis);
  // Returns for each element the index of its scale; per-tensor parameters are a single channel.
  ChannelOf(const Shape& shape, const Quantization& quantization);

  [[nodiscard]] size_t count() const { return count_; }
  size_t operator()(size_t element) const { return element / inner_ % count_; }

 private:
  size_t count_ = 1;
  size_t inner_ = 1;  // elements between two indices
};

}  // namespace carina
