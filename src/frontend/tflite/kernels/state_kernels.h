// Evaluates the operators that keep a state from run to run and have no TOSA form: UNIDIRECTIONAL_SEQUENCE_LSTM and
// SVDF of int8, with the bits of LiteRT's reference kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "carina/result.h"
#include "frontend/tflite/model.h"

namespace carina::tflite {

// The bytes of a graph's tensors: to read them, or to write them. A constant cannot be written.
struct TensorBytes {
  std::function<std::span<const std::byte>(int32_t)> read;
  std::function<std::span<std::byte>(int32_t)> write;
};

bool has_state_kernel(const Operator& op);

// Errors: a form of the operator that is not supported: other types, peephole connections, projections, layer norm.
Result<void> check_state_kernel(const Subgraph& graph, const Operator& op, const std::string& where);

// Runs an operator that check_state_kernel() accepts. Its state tensors are read and overwritten.
void run_state_kernel(const Subgraph& graph, const Operator& op, const TensorBytes& bytes);

// The value of every byte of a state tensor before the first run.
std::byte initial_state(const Tensor& tensor);

}  // namespace carina::tflite
