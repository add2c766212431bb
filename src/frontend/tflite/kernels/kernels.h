// Evaluates operators that have no TOSA form and stay on the CPU, with the bits of LiteRT's reference kernels: those
// that keep a state (UNIDIRECTIONAL_SEQUENCE_LSTM, SVDF), those of floats between integer parts, and those that address
// by index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "frontend/tflite/model.h"

namespace carina::tflite {

// The bytes of a graph's tensors: to read them, or to write them. A constant cannot be written.
struct TensorBytes {
  std::function<std::span<const std::byte>(int32_t)> read;
  std::function<std::span<std::byte>(int32_t)> write;
};

// Whether an operator with these tensors has a kernel here.
bool has_kernel(const Subgraph& graph, const Operator& op);

// The names of the operators that have a kernel for some types, in alphabetic order.
std::vector<std::string_view> operators_with_kernels();

// Checks an operator for which has_kernel(). Errors: a form of it that is not supported: other types, shapes that do
// not fit, peephole connections.
Result<void> check_kernel(const Subgraph& graph, const Operator& op, const std::string& where);

// Runs an operator that check_kernel() accepts. State tensors are read and overwritten. Errors: an index out of range.
Result<void> run_kernel(const Subgraph& graph, const Operator& op, const TensorBytes& bytes, const std::string& where);

// The value of every byte of a state tensor before the first run.
std::byte initial_state(const Tensor& tensor);

}  // namespace carina::tflite
