// An operator with its tensors, for the kernels of operators on the CPU.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "carina/check.h"
#include "frontend/tflite/kernels/kernels.h"
#include "frontend/tflite/model.h"

namespace carina::tflite {

inline constexpr std::array kFloats{DType::kFp32};

class KernelCall {
 public:
  KernelCall(const Subgraph& graph, const Operator& op) : graph_(graph), op_(op) {}

  [[nodiscard]] const Operator& op() const { return op_; }
  [[nodiscard]] bool has(size_t i) const { return i < op_.inputs.size() && op_.inputs[i] != kAbsent; }
  [[nodiscard]] const Tensor& in(size_t i) const { return graph_.tensors[static_cast<size_t>(op_.inputs[i])]; }
  [[nodiscard]] const Tensor& out(size_t i = 0) const { return graph_.tensors[static_cast<size_t>(op_.outputs[i])]; }
  [[nodiscard]] const Tensor& intermediate(size_t i) const {
    return graph_.tensors[static_cast<size_t>(op_.intermediates[i])];
  }

  static float scale(const Tensor& tensor) { return tensor.quantization.scales.front(); }
  static int64_t zero_point(const Tensor& tensor) { return tensor.quantization.zero_points.front(); }

  [[nodiscard]] std::unexpected<Diagnostics> reject(const std::string& where, std::string what,
                                                    std::string expected = {}, std::string got = {}) const {
    return fail({.where = fmt::format("{}: {} {}", where, op_.name, op_.outputs.empty() ? "" : out().name),
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .got = std::move(got)});
  }

  // Checks type, shape and data, and that there is one scale, except of a bias, which needs none.
  [[nodiscard]] Result<void> need(const std::string& where, const Tensor& tensor, DType dtype,
                                  const Shape& shape) const {
    const bool is_quantized =
        tensor.quantization.scales.size() == 1 && scale(tensor) > 0 &&
        (dtype == DType::kInt8 ? zero_point(tensor) >= -128 && zero_point(tensor) <= 127 : zero_point(tensor) == 0);
    if (tensor.dtype == dtype && tensor.shape == shape && has_data(tensor) && (dtype == DType::kInt32 || is_quantized))
      return {};
    return reject(where, "a tensor of this type or shape, or without one scale, is not supported",
                  fmt::format("{} {}", name_of(dtype), to_string(shape)),
                  fmt::format("{}: {} {}", tensor.name, tensor.type_name, to_string(tensor.shape)));
  }

  // Checks that an operand exists, has one of the types, and has data if it is a constant.
  [[nodiscard]] Result<void> need_type(const std::string& where, size_t i, std::span<const DType> types) const {
    if (!has(i)) return reject(where, fmt::format("operand {} is missing", i));
    const Tensor& tensor = in(i);
    if (has_data(tensor) && std::ranges::find(types, tensor.dtype) != types.end()) return {};
    return reject(where, "the type of an operand is not supported", {},
                  fmt::format("{}: {}", tensor.name, tensor.type_name));
  }
  [[nodiscard]] Result<void> need_result(const std::string& where, std::span<const DType> types) const {
    if (std::ranges::find(types, out().dtype) != types.end()) return {};
    return reject(where, "the type of the result is not supported", {}, out().type_name);
  }

  // Checks that a tensor can be written.
  [[nodiscard]] Result<void> need_memory(const std::string& where, const Tensor& tensor) const {
    return tensor.is_constant ? reject(where, "a constant that is written", {}, tensor.name) : Result<void>();
  }

  // Checks a ratio of scales, whose multiplier shifts to the left by less than 16 bits.
  [[nodiscard]] Result<void> need_ratio(const std::string& where, double ratio) const {
    return ratio < 32768.0 ? Result<void>() : reject(where, "the ratio of the scales is too large", "below 32768");
  }

 private:
  static bool has_data(const Tensor& tensor) {
    return !tensor.is_sparse && (!tensor.is_constant || tensor.data.size() != 0);
  }

  const Subgraph& graph_;
  const Operator& op_;
};

template <typename T>
std::span<const T> values_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <typename T>
std::span<T> values_of(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

// Calls visit with a value of the type's C++ type.
template <typename Visit>
void with_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kInt8:
      return visit(int8_t{});
    case DType::kUInt8:
    case DType::kBool:  // a byte of 0 or 1
      return visit(uint8_t{});
    case DType::kInt16:
      return visit(int16_t{});
    case DType::kInt32:
      return visit(int32_t{});
    case DType::kInt64:
      return visit(int64_t{});
    case DType::kFp32:
      return visit(float{});
    default:
      CARINA_UNREACHABLE("type", dtype);
  }
}

// The kernels (kernels.cpp has the table). check_*() accepts what run_*() can compute.
#define CARINA_TFLITE_KERNEL(name)                                             \
  Result<void> check_##name(const KernelCall& call, const std::string& where); \
  Result<void> run_##name(const KernelCall& call, const TensorBytes& bytes, const std::string& where);
CARINA_TFLITE_KERNEL(addition)
CARINA_TFLITE_KERNEL(arg_max)
CARINA_TFLITE_KERNEL(average_pool)
CARINA_TFLITE_KERNEL(cast)
CARINA_TFLITE_KERNEL(convolution)
CARINA_TFLITE_KERNEL(depthwise_convolution)
CARINA_TFLITE_KERNEL(dequantize)
CARINA_TFLITE_KERNEL(division)
CARINA_TFLITE_KERNEL(fully_connected)
CARINA_TFLITE_KERNEL(function)
CARINA_TFLITE_KERNEL(gather_nd)
CARINA_TFLITE_KERNEL(logistic)
CARINA_TFLITE_KERNEL(lstm)
CARINA_TFLITE_KERNEL(maximum_pool)
CARINA_TFLITE_KERNEL(pack)
CARINA_TFLITE_KERNEL(product)
CARINA_TFLITE_KERNEL(quantize)
CARINA_TFLITE_KERNEL(reduction)
CARINA_TFLITE_KERNEL(reshape)
CARINA_TFLITE_KERNEL(resize_bilinear)
CARINA_TFLITE_KERNEL(resize_floats)
CARINA_TFLITE_KERNEL(scatter_nd)
CARINA_TFLITE_KERNEL(softmax)
CARINA_TFLITE_KERNEL(split)
CARINA_TFLITE_KERNEL(square_root)
CARINA_TFLITE_KERNEL(strided_slice)
CARINA_TFLITE_KERNEL(sum)
CARINA_TFLITE_KERNEL(svdf)
CARINA_TFLITE_KERNEL(tangent)
CARINA_TFLITE_KERNEL(transposed_convolution)
CARINA_TFLITE_KERNEL(two_floats)
CARINA_TFLITE_KERNEL(unpack)
#undef CARINA_TFLITE_KERNEL

}  // namespace carina::tflite
