// What:   tensors that operators without inputs create become constants.
// Before: %z = aten.zeros.default(size=[1,32], dtype=fp32)
// After:  %z, a constant of 32 zeros
// Needs:  static sizes.
// Gives:  no zeros, ones, full, arange, linspace, eye or scalar_tensor of fp32, int8 to int64 or bool.
// Legal:  their values depend only on attributes. The quantization parameters of the value stay.

#include <algorithm>
#include <cmath>

#include "base/checked_math.h"
#include "facts/aten_traits.h"
#include "normalize/passes_internal.h"
#include "normalize/rewriter.h"
#include "tensor/elements.h"

namespace carina::normalize {
namespace {

using ir::Node;

// A model with larger generated tensors keeps the nodes that generate them.
constexpr int64_t kMaxElements = int64_t{1} << 26;

struct Ramp {
  double start;
  double step;
};

template <typename T>
void fill(MutableTensor& tensor, const Ramp& ramp) {
  int64_t i = 0;
  for (T& element : tensor.values<T>()) element = static_cast<T>(ramp.start + ramp.step * static_cast<double>(i++));
}

bool becomes_constant(const ir::Value& value) {
  const auto elements = checked_product(value.shape.dims());
  return elements && *elements >= 0 && *elements <= kMaxElements;
}

Result<bool> become_constant(Rewriter& in, const Node& node, Ramp ramp) {
  ir::Value& value = in.graph()[node.outputs[0]];
  if (!becomes_constant(value)) return false;
  MutableTensor tensor(value.dtype, value.shape);
  switch (value.dtype) {
    case DType::kFp32:
      fill<float>(tensor, ramp);
      break;
    case DType::kInt64:
      fill<int64_t>(tensor, ramp);
      break;
    case DType::kInt32:
      fill<int32_t>(tensor, ramp);
      break;
    case DType::kInt16:
      fill<int16_t>(tensor, ramp);
      break;
    case DType::kInt8:
      fill<int8_t>(tensor, ramp);
      break;
    case DType::kBool:
      ramp.start = ramp.start != 0 ? 1 : 0;
      fill<uint8_t>(tensor, ramp);
      break;
    default:
      if (!is_float(value.dtype) || value.dtype == DType::kFp64 || ramp.step != 0) return false;
      value.constant = float_tensor(value.dtype, value.shape, static_cast<float>(ramp.start));
      return true;
  }
  value.constant = std::move(tensor).freeze();
  return true;
}

// The first half counts from the start and the second half from the end, in fp32, as in PyTorch's kernel.
Result<bool> linspace(Rewriter& in, const Node& node) {
  ir::Value& value = in.graph()[node.outputs[0]];
  if (!becomes_constant(value) || value.dtype != DType::kFp32) return false;
  const auto start = static_cast<float>(node.attributes.number("start"));
  const auto end = static_cast<float>(node.attributes.number("end"));
  const int64_t count = value.shape.elements();
  const float step = count > 1 ? (end - start) / static_cast<float>(count - 1) : 0;
  MutableTensor tensor(value.dtype, value.shape);
  const auto elements = tensor.values<float>();
  for (int64_t i = 0; i < count; ++i) {
    elements[static_cast<size_t>(i)] = i < count / 2 || count == 1 ? start + step * static_cast<float>(i)
                                                                   : end - step * static_cast<float>(count - 1 - i);
  }
  value.constant = std::move(tensor).freeze();
  return true;
}

// Writes ones on the diagonal of a zero matrix.
template <typename T>
Tensor identity(const ir::Value& value) {
  std::vector<T> elements(static_cast<size_t>(value.shape.elements()), T{0});
  const auto columns = static_cast<size_t>(value.shape[1]);
  for (size_t i = 0; i < static_cast<size_t>(std::min(value.shape[0], value.shape[1])); ++i)
    elements[i * columns + i] = T{1};
  return Tensor::of<T>(value.dtype, value.shape, elements);
}

Result<bool> eye(Rewriter& in, const Node& node) {
  ir::Value& value = in.graph()[node.outputs[0]];
  if (!becomes_constant(value)) return false;
  if (value.dtype == DType::kFp32) value.constant = identity<float>(value);
  if (value.dtype == DType::kInt64) value.constant = identity<int64_t>(value);
  if (value.dtype == DType::kInt32) value.constant = identity<int32_t>(value);
  if (value.dtype == DType::kInt16) value.constant = identity<int16_t>(value);
  if (value.dtype == DType::kInt8) value.constant = identity<int8_t>(value);
  if (value.dtype == DType::kBool) value.constant = identity<uint8_t>(value);
  return value.constant.has_value();
}

Result<bool> zeros(Rewriter& in, const Node& node) {
  return become_constant(in, node, {.start = 0, .step = 0});
}
Result<bool> ones(Rewriter& in, const Node& node) {
  return become_constant(in, node, {.start = 1, .step = 0});
}
template <const char* kName>
Result<bool> filled(Rewriter& in, const Node& node) {
  return become_constant(in, node, {.start = node.attributes.number(kName), .step = 0});
}
constexpr char kFillValue[] = "fill_value", kScalar[] = "s", kValue[] = "value";

Result<bool> ramp(Rewriter& in, const Node& node) {
  const auto number = [&](std::string_view name, double otherwise) {
    return node.attributes.find(name) == nullptr ? otherwise : node.attributes.number(name);
  };
  return become_constant(in, node, {.start = number("start", 0), .step = number("step", 1)});
}

constexpr RewriteRow kFoldSourcesRows[] = {
    {AtenOp::zeros_default, zeros},
    {AtenOp::zeros_like_default, zeros},
    {AtenOp::ones_default, ones},
    {AtenOp::ones_like_default, ones},
    {AtenOp::full_default, filled<kFillValue>},
    {AtenOp::full_like_default, filled<kFillValue>},
    {AtenOp::scalar_tensor_default, filled<kScalar>},
    {AtenOp::fill_Scalar, filled<kValue>},
    {AtenOp::zero_default, zeros},
    {AtenOp::arange_default, ramp},
    {AtenOp::arange_start, ramp},
    {AtenOp::arange_start_step, ramp},
    {AtenOp::new_zeros_default, zeros},
    {AtenOp::new_ones_default, ones},
    {AtenOp::new_full_default, filled<kFillValue>},
    {AtenOp::linspace_default, linspace},
    {AtenOp::eye_default, eye},
    {AtenOp::eye_m, eye},
};
static_assert(rewrites_what_becomes(kFoldSourcesRows));

}  // namespace

std::span<const RewriteRow> source_rows() {
  return kFoldSourcesRows;
}

Result<void> fold_sources(ir::Graph& graph, const Log&) {
  return Rewriter(graph, kFoldSourcesRows).run();
}

}  // namespace carina::normalize
