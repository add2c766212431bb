#include "frontend/tflite/kernels/kernels.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "frontend/tflite/kernels/kernel_call_internal.h"

namespace carina::tflite {

namespace {

// An operator's kernel, and the tensors with which it is used.
struct KernelRow {
  std::string_view name;
  bool (*applies)(const KernelCall& call);
  Result<void> (*check)(const KernelCall& call, const std::string& where);
  Result<void> (*run)(const KernelCall& call, const TensorBytes& bytes, const std::string& where);
};

bool always(const KernelCall& /*call*/) {
  return true;
}
bool has_floats(const KernelCall& call) {
  return call.has(0) && (call.in(0).dtype == DType::kFp32 || call.out().dtype == DType::kFp32);
}
// The types that TOSA's CAST does not have.
bool is_cast_of_other_types(const KernelCall& call) {
  return has_floats(call) || (call.has(0) && (call.in(0).dtype == DType::kUInt8 || call.out().dtype == DType::kUInt8));
}
bool has_wide_indices(const KernelCall& call) {
  return call.out().dtype == DType::kInt64;
}

constexpr auto kKernels = std::to_array<KernelRow>({
    {"ARG_MAX", has_wide_indices, check_arg_max, run_arg_max},
    {"CAST", is_cast_of_other_types, check_cast, run_cast},
    {"DEQUANTIZE", has_floats, check_dequantize, run_dequantize},
    {"DIV", has_floats, check_division, run_division},
    {"FLOOR_DIV", always, check_division, run_division},
    {"FULLY_CONNECTED", has_floats, check_fully_connected, run_fully_connected},
    {"GATHER_ND", always, check_gather_nd, run_gather_nd},
    {"QUANTIZE", has_floats, check_quantize, run_quantize},
    {"RESIZE_BILINEAR", always, check_resize_bilinear, run_resize_bilinear},
    {"SCATTER_ND", always, check_scatter_nd, run_scatter_nd},
    {"SOFTMAX", has_floats, check_softmax, run_softmax},
    {"SQRT", has_floats, check_square_root, run_square_root},
    {"SVDF", always, check_svdf, run_svdf},
    {"UNIDIRECTIONAL_SEQUENCE_LSTM", always, check_lstm, run_lstm},
});

const KernelRow* kernel_of(const KernelCall& call) {
  if (call.op().outputs.size() != 1) return nullptr;
  const auto* row = std::ranges::find(kKernels, call.op().name, &KernelRow::name);
  return row != kKernels.end() && row->applies(call) ? row : nullptr;
}

}  // namespace

bool has_kernel(const Subgraph& graph, const Operator& op) {
  return kernel_of(KernelCall(graph, op)) != nullptr;
}

Result<void> check_kernel(const Subgraph& graph, const Operator& op, const std::string& where) {
  const KernelCall call(graph, op);
  CARINA_CHECKED(call.need_memory(where, call.out()));
  return kernel_of(call)->check(call, where);
}

Result<void> run_kernel(const Subgraph& graph, const Operator& op, const TensorBytes& bytes, const std::string& where) {
  const KernelCall call(graph, op);
  return kernel_of(call)->run(call, bytes, where);
}

std::byte initial_state(const Tensor& tensor) {
  const bool is_moved = tensor.dtype == DType::kInt8 && !tensor.quantization.zero_points.empty();
  return is_moved ? static_cast<std::byte>(tensor.quantization.zero_points.front()) : std::byte{0};
}

}  // namespace carina::tflite
