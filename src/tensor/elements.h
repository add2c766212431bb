// Reads and makes tensors by element.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "carina/tensor.h"
#include "tensor/quantization.h"

namespace carina {

// Returns the elements of a tensor of integers (any width), bools or a shape. No value for other types.
std::optional<std::vector<int64_t>> integers_if_any(const Tensor& tensor);
// Like integers_if_any(), for a tensor that must have such a type.
std::vector<int64_t> integers_of(const Tensor& tensor);
// Returns the elements of a tensor of integers, fp32 or fp64; 64-bit integers are rounded. No value for other types,
// including bool.
std::optional<std::vector<double>> numbers_of(const Tensor& tensor);

// Returns a tensor of an integer type with these values, which must fit.
Tensor integer_tensor(DType dtype, const Shape& shape, std::span<const int64_t> values);
// Returns a tensor in which every element is `value`, rounded to the type: fp32, fp16, bf16 or an 8-bit float.
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
  // Returns the number of consecutive elements of one channel among so many elements, at least 1.
  [[nodiscard]] size_t run(size_t elements) const { return std::max<size_t>(count_ == 1 ? elements : inner_, 1); }

 private:
  size_t count_ = 1;
  size_t inner_ = 1;  // elements between two indices
};

}  // namespace carina
