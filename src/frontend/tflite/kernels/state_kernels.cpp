#include "frontend/tflite/kernels/state_kernels.h"

#include "frontend/tflite/kernels/kernel_call_internal.h"

namespace carina::tflite {

namespace {

constexpr std::string_view kLstm = "UNIDIRECTIONAL_SEQUENCE_LSTM", kSvdf = "SVDF";

}  // namespace

bool has_state_kernel(const Operator& op) {
  return op.name == kLstm || op.name == kSvdf;
}

Result<void> check_state_kernel(const Subgraph& graph, const Operator& op, const std::string& where) {
  const KernelCall call(graph, op);
  if (op.outputs.size() != 1) return call.reject(where, "not one result");
  return op.name == kLstm ? check_lstm(call, where) : check_svdf(call, where);
}

void run_state_kernel(const Subgraph& graph, const Operator& op, const TensorBytes& bytes) {
  const KernelCall call(graph, op);
  if (op.name == kLstm)
    run_lstm(call, bytes);
  else
    run_svdf(call, bytes);
}

std::byte initial_state(const Tensor& tensor) {
  const bool is_moved = tensor.dtype == DType::kInt8 && !tensor.quantization.zero_points.empty();
  return is_moved ? static_cast<std::byte>(tensor.quantization.zero_points.front()) : std::byte{0};
}

}  // namespace carina::tflite
