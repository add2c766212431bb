// An operator with its tensors, for the kernels of operators with state.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "frontend/tflite/kernels/state_kernels.h"
#include "frontend/tflite/model.h"

namespace carina::tflite {

class KernelCall {
 public:
  KernelCall(const Subgraph& graph, const Operator& op) : graph_(graph), op_(op) {}

  [[nodiscard]] const Operator& op() const { return op_; }
  [[nodiscard]] bool has(size_t i) const { return i < op_.inputs.size() && op_.inputs[i] != kAbsent; }
  [[nodiscard]] const Tensor& in(size_t i) const { return graph_.tensors[static_cast<size_t>(op_.inputs[i])]; }
  [[nodiscard]] const Tensor& out() const { return graph_.tensors[static_cast<size_t>(op_.outputs[0])]; }
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
    const bool has_data = !tensor.is_sparse && (!tensor.is_constant || tensor.data.size() != 0);
    if (tensor.dtype == dtype && tensor.shape == shape && has_data && (dtype == DType::kInt32 || is_quantized))
      return {};
    return reject(where, "a tensor of this type or shape, or without one scale, is not supported",
                  fmt::format("{} {}", name_of(dtype), to_string(shape)),
                  fmt::format("{}: {} {}", tensor.name, tensor.type_name, to_string(tensor.shape)));
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

Result<void> check_lstm(const KernelCall& call, const std::string& where);
void run_lstm(const KernelCall& call, const TensorBytes& bytes);
Result<void> check_svdf(const KernelCall& call, const std::string& where);
void run_svdf(const KernelCall& call, const TensorBytes& bytes);

}  // namespace carina::tflite
