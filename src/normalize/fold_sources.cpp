// What:   tensors that operators without inputs create become constants.
// Before: %z = aten.zeros.default(size=[1,32], dtype=fp32)
// After:  %z, a constant of 32 zeros
// Needs:  static sizes.
// Gives:  no zeros, ones, full, arange, linspace, eye or scalar_tensor with known sizes.
// Legal:  their values depend only on attributes. The quantization parameters of the value stay.

#include <algorithm>

#include "base/checked_math.h"
#include "facts/aten_traits.h"
#include "normalize/passes_internal.h"
#include "normalize/rewriter.h"
#include "tensor/float_formats.h"

namespace carina::normalize {
namespace {

using ir::Node;

// A model with larger generated tensors keeps the nodes that generate them.
constexpr int64_t kMaxElements = int64_t{1} << 26;
// So does a model whose generated tensors take more bytes together.
constexpr int64_t kMaxBytes = int64_t{1} << 30;

// The sizes must be known, and the tensor must not be too large.
bool becomes_constant(const ir::Value& value) {
  const auto elements = checked_product(value.shape.dims());
  return elements && *elements >= 0 && *elements <= kMaxElements;
}

template <typename T, typename Number, typename Convert>
Tensor made_of(const ir::Value& value, const Number& number, const Convert& convert) {
  MutableTensor tensor(value.dtype, value.shape);
  int64_t i = 0;
  for (T& element : tensor.values<T>()) element = convert(number(i++));
  return std::move(tensor).freeze();
}

template <typename T>
T truncated(double number) {
  return static_cast<T>(static_cast<int64_t>(number));
}

// The value becomes a constant. Its element i is number(i), which is a double, converted to the type of the value.
template <typename Number>
Result<bool> become_constant(Rewriter& in, const Node& node, const Number& number) {
  ir::Value& value = in.graph()[node.outputs[0]];
  if (!becomes_constant(value)) return false;
  switch (value.dtype) {
    case DType::kFp64:
      value.constant = made_of<double>(value, number, [](double v) { return v; });
      break;
    case DType::kFp32:
      value.constant = made_of<float>(value, number, [](double v) { return static_cast<float>(v); });
      break;
    case DType::kFp16:
      value.constant = made_of<uint16_t>(value, number, [](double v) { return fp16_of_fp32(static_cast<float>(v)); });
      break;
    case DType::kBf16:
      value.constant = made_of<uint16_t>(value, number, [](double v) { return bf16_of_fp32(static_cast<float>(v)); });
      break;
    case DType::kFp8E4M3:
      value.constant = made_of<uint8_t>(value, number, [](double v) { return fp8e4m3_of_fp32(static_cast<float>(v)); });
      break;
    case DType::kFp8E5M2:
      value.constant = made_of<uint8_t>(value, number, [](double v) { return fp8e5m2_of_fp32(static_cast<float>(v)); });
      break;
    case DType::kInt64:
      value.constant = made_of<int64_t>(value, number, truncated<int64_t>);
      break;
    case DType::kInt32:
    case DType::kUInt32:
      value.constant = made_of<int32_t>(value, number, truncated<int32_t>);
      break;
    case DType::kInt16:
    case DType::kUInt16:
      value.constant = made_of<int16_t>(value, number, truncated<int16_t>);
      break;
    case DType::kInt8:
    case DType::kUInt8:
      value.constant = made_of<int8_t>(value, number, truncated<int8_t>);
      break;
    case DType::kBool:
      value.constant = made_of<uint8_t>(value, number, [](double v) { return uint8_t{v != 0}; });
      break;
    default:
      return false;
  }
  return true;
}

// A number rounded to the type that PyTorch's kernel computes with: that of the elements, or double for integers.
double rounded(DType dtype, double number) {
  const auto single = static_cast<float>(number);
  switch (dtype) {
    case DType::kFp32:
      return single;
    case DType::kFp16:
      return fp32_of_fp16(fp16_of_fp32(single));
    case DType::kBf16:
      return fp32_of_bf16(bf16_of_fp32(single));
    default:
      return number;
  }
}

// The first half counts from the start and the second half from the end, as in PyTorch's kernel.
Result<bool> linspace(Rewriter& in, const Node& node) {
  const ir::Value& value = in.graph()[node.outputs[0]];
  const auto round = [dtype = value.dtype](double number) { return rounded(dtype, number); };
  const double start = round(node.attributes.number("start")), end = round(node.attributes.number("end"));
  const int64_t count = value.shape.elements();
  const double step = count > 1 ? round(round(end - start) / round(static_cast<double>(count - 1))) : 0;
  return become_constant(in, node, [=](int64_t i) {
    const bool from_start = i < count / 2 || count == 1;
    const double part = round(step * round(static_cast<double>(from_start ? i : count - 1 - i)));
    return round(from_start ? start + part : end - part);
  });
}

// Ones on the diagonal of a zero matrix.
Result<bool> eye(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.outputs[0]);
  if (shape.rank() != 2) return false;
  return become_constant(in, node, [columns = shape[1]](int64_t i) { return i / columns == i % columns ? 1.0 : 0.0; });
}

Result<bool> zeros(Rewriter& in, const Node& node) {
  return become_constant(in, node, [](int64_t) { return 0.0; });
}
Result<bool> ones(Rewriter& in, const Node& node) {
  return become_constant(in, node, [](int64_t) { return 1.0; });
}
template <const char* kName>
Result<bool> filled(Rewriter& in, const Node& node) {
  return become_constant(in, node, [value = node.attributes.number(kName)](int64_t) { return value; });
}
constexpr char kFillValue[] = "fill_value", kScalar[] = "s", kValue[] = "value";

Result<bool> ramp(Rewriter& in, const Node& node) {
  const auto number = [&](std::string_view name, double otherwise) {
    return node.attributes.find(name) == nullptr ? otherwise : node.attributes.number(name);
  };
  return become_constant(in, node, [start = number("start", 0), step = number("step", 1)](int64_t i) {
    return start + step * static_cast<double>(i);
  });
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
  int64_t bytes = 0;
  for (const Node& node : graph.nodes) {
    if (!node.op.is_aten() ||
        std::ranges::find(kFoldSourcesRows, node.op.aten(), &RewriteRow::op) == std::ranges::end(kFoldSourcesRows))
      continue;
    const ir::Value& value = graph[node.outputs[0]];
    if (becomes_constant(value)) bytes += static_cast<int64_t>(tensor_bytes(value.dtype, value.shape));
    if (bytes > kMaxBytes) return {};
  }
  return Rewriter(graph, kFoldSourcesRows).run();
}

}  // namespace carina::normalize
