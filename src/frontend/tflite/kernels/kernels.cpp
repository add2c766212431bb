#include "frontend/tflite/kernels/kernels.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "frontend/tflite/kernels/kernel_call_internal.h"

namespace carina::tflite {

namespace {

// An operator's kernel, and the tensors with which it is used. An operator may have a row for floats and one for
// others.
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
bool has_no_floats(const KernelCall& call) {
  return !has_floats(call);
}
// The types that TOSA's CAST does not have.
bool is_cast_of_other_types(const KernelCall& call) {
  return has_floats(call) || (call.has(0) && (call.in(0).dtype == DType::kUInt8 || call.out().dtype == DType::kUInt8));
}
bool has_wide_indices(const KernelCall& call) {
  return call.out().dtype == DType::kInt64;
}

constexpr auto kKernels = std::to_array<KernelRow>({
    {"ABS", has_floats, check_function, run_function},
    {"ADD", has_floats, check_addition, run_addition},
    {"ARG_MAX", has_wide_indices, check_arg_max, run_arg_max},
    {"AVERAGE_POOL_2D", has_floats, check_average_pool, run_average_pool},
    {"CAST", is_cast_of_other_types, check_cast, run_cast},
    {"CONV_2D", has_floats, check_convolution, run_convolution},
    {"COS", has_floats, check_function, run_function},
    {"DEPTHWISE_CONV_2D", has_floats, check_depthwise_convolution, run_depthwise_convolution},
    {"DEQUANTIZE", has_floats, check_dequantize, run_dequantize},
    {"DIV", has_floats, check_division, run_division},
    {"ELU", has_floats, check_function, run_function},
    {"EXP", has_floats, check_function, run_function},
    {"FLOOR", has_floats, check_function, run_function},
    {"FLOOR_DIV", always, check_division, run_division},
    {"FULLY_CONNECTED", has_floats, check_fully_connected, run_fully_connected},
    {"GATHER_ND", always, check_gather_nd, run_gather_nd},
    {"HARD_SWISH", has_floats, check_function, run_function},
    {"LEAKY_RELU", has_floats, check_function, run_function},
    {"LOG", has_floats, check_function, run_function},
    {"LOGISTIC", has_floats, check_logistic, run_logistic},
    {"MAXIMUM", has_floats, check_two_floats, run_two_floats},
    {"MAX_POOL_2D", has_floats, check_maximum_pool, run_maximum_pool},
    {"MEAN", has_floats, check_reduction, run_reduction},
    {"MINIMUM", has_floats, check_two_floats, run_two_floats},
    {"MUL", has_floats, check_product, run_product},
    {"NEG", has_floats, check_function, run_function},
    {"PACK", has_floats, check_pack, run_pack},
    {"POW", has_floats, check_two_floats, run_two_floats},
    {"PRELU", has_floats, check_two_floats, run_two_floats},
    {"QUANTIZE", has_floats, check_quantize, run_quantize},
    {"REDUCE_MAX", has_floats, check_reduction, run_reduction},
    {"REDUCE_MIN", has_floats, check_reduction, run_reduction},
    {"REDUCE_PROD", has_floats, check_reduction, run_reduction},
    {"RELU", has_floats, check_function, run_function},
    {"RELU6", has_floats, check_function, run_function},
    {"RELU_0_TO_1", has_floats, check_function, run_function},
    {"RELU_N1_TO_1", has_floats, check_function, run_function},
    {"RESHAPE", has_floats, check_reshape, run_reshape},
    {"RESIZE_BILINEAR", has_no_floats, check_resize_bilinear, run_resize_bilinear},
    {"RESIZE_BILINEAR", has_floats, check_resize_floats, run_resize_floats},
    {"RESIZE_NEAREST_NEIGHBOR", has_floats, check_resize_floats, run_resize_floats},
    {"RSQRT", has_floats, check_function, run_function},
    {"SCATTER_ND", always, check_scatter_nd, run_scatter_nd},
    {"SIN", has_floats, check_function, run_function},
    {"SOFTMAX", has_floats, check_softmax, run_softmax},
    {"SPLIT", has_floats, check_split, run_split},
    {"SQRT", has_floats, check_square_root, run_square_root},
    {"SQUARE", has_floats, check_function, run_function},
    {"SQUARED_DIFFERENCE", has_floats, check_two_floats, run_two_floats},
    {"STRIDED_SLICE", has_floats, check_strided_slice, run_strided_slice},
    {"SUB", has_floats, check_two_floats, run_two_floats},
    {"SUM", has_no_floats, check_sum, run_sum},
    {"SUM", has_floats, check_reduction, run_reduction},
    {"SVDF", always, check_svdf, run_svdf},
    {"TANH", has_floats, check_tangent, run_tangent},
    {"TRANSPOSE_CONV", has_floats, check_transposed_convolution, run_transposed_convolution},
    {"UNIDIRECTIONAL_SEQUENCE_LSTM", always, check_lstm, run_lstm},
    {"UNPACK", has_floats, check_unpack, run_unpack},
});

const KernelRow* kernel_of(const KernelCall& call) {
  const Operator& op = call.op();
  const bool has_many = op.name == "SPLIT" || op.name == "UNPACK";
  if (op.outputs.empty() || (op.outputs.size() != 1 && !has_many)) return nullptr;
  const auto* row =
      std::ranges::find_if(kKernels, [&](const KernelRow& r) { return r.name == op.name && r.applies(call); });
  return row != kKernels.end() ? row : nullptr;
}

}  // namespace

bool has_kernel(const Subgraph& graph, const Operator& op) {
  return kernel_of(KernelCall(graph, op)) != nullptr;
}

std::vector<std::string_view> operators_with_kernels() {
  std::vector<std::string_view> names;
  for (const KernelRow& row : kKernels) {
    if (names.empty() || names.back() != row.name) names.push_back(row.name);
  }
  return names;
}

Result<void> check_kernel(const Subgraph& graph, const Operator& op, const std::string& where) {
  const KernelCall call(graph, op);
  for (size_t i = 0; i < op.outputs.size(); ++i) CARINA_CHECKED(call.need_memory(where, call.out(i)));
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
