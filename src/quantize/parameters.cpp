#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "quantize/parameters_internal.h"
#include "tensor/elements.h"

namespace carina::quantize {

namespace {

struct Row {
  AtenOp op;
  Role role;
  bool per_channel;
};
// `is_tensor` rows have the operands (input, scales, zero_points), the others (input).
constexpr std::array kRows = {
    Row{AtenOp::quantize_per_tensor_default, Role::kQuantize, false},
    Row{AtenOp::quantize_per_tensor_tensor, Role::kQuantize, false},
    Row{AtenOp::dequantize_per_tensor_default, Role::kDequantize, false},
    Row{AtenOp::dequantize_per_tensor_tensor, Role::kDequantize, false},
    Row{AtenOp::quantize_per_channel_default, Role::kQuantize, true},
    Row{AtenOp::dequantize_per_channel_default, Role::kDequantize, true},
};

const Row* row_of(const ir::Node& node) {
  if (!node.op.is_aten()) return nullptr;
  const auto* found = std::ranges::find(kRows, node.op.aten(), &Row::op);
  return found == kRows.end() ? nullptr : found;
}

Diagnostic about(const ir::Node& node, std::string what, std::string got) {
  return {.where = node.source.empty() ? node.name : fmt::format("{} ({})", node.name, node.source),
          .what = std::move(what),
          .got = std::move(got)};
}

// Returns scales and zero points from attributes or constant tensors, unchecked.
Result<Quantization> raw_parameters(const ir::Graph& graph, const ir::Node& node) {
  Quantization q{.dtype = node.attributes.get<DType>("dtype"),
                 .scales = {},
                 .zero_points = {},
                 .axis = Quantization::kPerTensor,
                 .qmin = node.attributes.integer("quant_min"),
                 .qmax = node.attributes.integer("quant_max")};
  if (node.inputs.size() == 1) {
    q.scales = {node.attributes.number("scale")};
    q.zero_points = {node.attributes.integer("zero_point")};
    return q;
  }
  const auto scales = numbers_of(*graph[node.inputs[1]].constant);
  if (!scales)
    return fail(about(node, "the scales of a quantization are of a type that they cannot have",
                      std::string(name_of(graph[node.inputs[1]].dtype))));
  q.scales = *scales;
  q.zero_points.assign(q.scales.size(), 0);
  if (node.inputs[2].valid()) {
    // Symmetric quantization may write its zeros as floats.
    const auto zeros = numbers_of(*graph[node.inputs[2]].constant);
    if (!zeros || zeros->size() != q.scales.size())
      return fail(
          about(node, "a quantization has not as many zero points as scales", fmt::format("{}", q.scales.size())));
    const bool small = std::ranges::all_of(*zeros, [](double z) { return std::abs(z) < 9e15; });
    if (!small) return fail(about(node, "a zero point is not possible", ""));
    std::ranges::transform(*zeros, q.zero_points.begin(), [](double z) { return static_cast<int64_t>(z); });
  }
  return q;
}

Result<void> set_axis(const ir::Graph& graph, const ir::Node& node, Quantization& q) {
  const Shape& shape = graph[node.inputs.front()].shape;
  const auto rank = static_cast<int64_t>(shape.rank());
  int64_t axis = node.attributes.integer("axis");
  if (axis < 0) axis += rank;
  const bool fits =
      axis >= 0 && axis < rank && shape[static_cast<size_t>(axis)] == static_cast<int64_t>(q.scales.size());
  if (!fits)
    return fail(about(node, "the axis of a quantization is not as long as its list of scales",
                      fmt::format("axis {} of {}, {} scales", axis, to_string(shape), q.scales.size())));
  q.axis = static_cast<int>(axis);
  return {};
}

Result<void> check(const ir::Node& node, const Quantization& q) {
  if (!is_integer(q.dtype))
    return fail(about(node, "quantization to a type that is no integer", std::string(name_of(q.dtype))));
  const IntegerRange range = range_of(q.dtype);
  if (q.qmin > q.qmax || q.qmin < range.min || q.qmax > range.max) {
    return fail(about(node, fmt::format("the range of a quantization does not fit {}", name_of(q.dtype)),
                      fmt::format("[{}, {}]", q.qmin, q.qmax)));
  }
  for (size_t i = 0; i < q.scales.size(); ++i) {
    if (!(q.scales[i] > 0) || !std::isfinite(q.scales[i]))
      return fail(about(node, "a scale must be a positive number", fmt::format("{}", q.scales[i])));
    if (q.zero_points[i] < range.min || q.zero_points[i] > range.max)
      return fail(about(node, "a zero point lies outside the type", fmt::format("{}", q.zero_points[i])));
  }
  return {};
}

}  // namespace

Role role_of(const ir::Node& node) {
  const Row* row = row_of(node);
  return row == nullptr ? Role::kNone : row->role;
}

bool has_constant_parameters(const ir::Graph& graph, const ir::Node& node) {
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i].valid() && !graph[node.inputs[i]].constant) return false;
  }
  return true;
}

Result<Quantization> parameters_of(const ir::Graph& graph, const ir::Node& node) {
  CARINA_TRY(Quantization q, raw_parameters(graph, node));
  if (row_of(node)->per_channel) {
    CARINA_CHECKED(set_axis(graph, node, q));
  } else if (q.scales.size() != 1) {
    return fail(about(node, "a quantization per tensor needs one scale", fmt::format("{}", q.scales.size())));
  }
  CARINA_CHECKED(check(node, q));
  return q;
}

}  // namespace carina::quantize
