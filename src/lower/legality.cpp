#include "lower/legality.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/aten_traits.h"
#include "lower/insert_qdq_internal.h"
#include "lower/legality_internal.h"
#include "lower/lowering_internal.h"
#include "normalize/recurrence.h"

namespace carina::lower {

namespace {

using ir::Node;
using ir::ValueId;

Rejected check_elements(const ir::Value& value) {
  if (std::ranges::none_of(value.shape.dims(), [](int64_t n) { return n == 0; })) return std::nullopt;
  return rejected("shape.empty", value.name + " has no elements", "remove the nodes that write and read it");
}

// Checks a value that is not quantized. Legal are constants that the lowering quantizes, and integers that the operator
// supports.
Rejected check_plain(const Candidate& c, const ir::Value& value, PlainIntegers integers, std::string_view hint) {
  if (is_float(value.dtype)) {
    if (c.target.takes_floats) return std::nullopt;
    if (value.constant && takes_float_constants(c.node.op.aten()) && works_on_quantized(c)) return std::nullopt;
    return rejected(kNotQuantized, value.name + " is not quantized", std::string(hint));
  }
  // Q/DQ nodes and MXFP have their own checks.
  const AtenFamily family = traits_of(c.node.op.aten()).family;
  if (family == AtenFamily::kQuantization || family == AtenFamily::kBlockScaled) return std::nullopt;
  // int64 is lowered to int32 and converted at the graph's boundary.
  const bool narrow = value.dtype == DType::kInt32 || value.dtype == DType::kInt16 || value.dtype == DType::kInt8 ||
                      value.dtype == DType::kInt64 || value.dtype == DType::kBool;
  const bool taken =
      integers == PlainIntegers::kAny || (integers == PlainIntegers::kInt32Too && value.dtype == DType::kInt32);
  if (narrow && taken) return std::nullopt;
  return rejected("types.integers",
                  fmt::format("{} has type {}, which {} does not support for this operator", value.name,
                              name_of(value.dtype), c.target.name),
                  "quantize it, or compute it in int32");
}

Rejected check_types(const Candidate& c, PlainIntegers integers, std::string_view hint) {
  std::vector<ValueId> values = c.node.inputs;
  values.push_back(c.node.outputs.front());
  for (const ValueId id : values) {
    if (!id.valid()) continue;
    const ir::Value& value = c.graph[id];
    auto rejection =
        first_of({check_rank(value), check_elements(value),
                  value.quantization ? check_activation(c, value) : check_plain(c, value, integers, hint)});
    if (rejection) return rejection;
  }
  return std::nullopt;
}

Rejected no_row(const Candidate& c) {
  if (auto rejection = normalize::check_recurrence(c.graph, c.node)) return rejection;
  const bool known = c.node.op.is_aten() && traits_of(c.node.op.aten()).lowering.kind == AtenLowering::Kind::kNone;
  const std::string_view own = known ? traits_of(c.node.op.aten()).lowering.text : "";
  return rejected("op.unknown", fmt::format("{} has no implementation for {}", c.node.op.name(), c.target.name),
                  own.empty() ? "replace it by operators that `carina ops` lists" : std::string(own));
}

// The hint for a value that is not quantized: quantize the model, or the rest of it.
std::string_view quantization_hint(const ir::Graph& graph) {
  const bool partly = std::ranges::any_of(graph.values, [](const ir::Value& v) { return v.quantization.has_value(); });
  return partly ? "the model's quantizer left it float: annotate it, or quantize the float model with --quantize int8"
                : "quantize the model: --quantize int8 --calibrate DATA";
}

Rejected rejection_of(const Candidate& c, std::string_view hint) {
  const LoweringRow* row = lowering_of(c.node.op);
  if (row == nullptr) return no_row(c);
  if (c.node.outputs.empty() || !c.node.outputs.front().valid())
    return rejected("node.no-result", "the node has no result", "leave it out of the model");
  if (auto rejection = check_block_scaled(c)) return rejection;
  if (c.target.takes_floats && mixes_floats_and_integers(c.graph, c.node)) return check_types(c, row->integers, hint);
  return first_of({check_types(c, row->integers, hint), check_mixture(c)});
}

}  // namespace

Rejected check_rank(const ir::Value& value) {
  constexpr size_t kMaxAxes = 6;
  if (value.shape.rank() > kMaxAxes) {
    return rejected("shape.rank",
                    fmt::format("{} has {} axes, at most {} are supported", value.name, value.shape.rank(), kMaxAxes),
                    "merge adjacent axes: torch.flatten, view");
  }
  if (std::ranges::any_of(value.shape.dims(), [](int64_t n) { return n < 0; }))
    return rejected("shape.dynamic", value.name + " has no static shape", "export with static shapes");
  return std::nullopt;
}

namespace {

// Returns whether the operator supports int32 with a zero point of 0. Data movement, conversions, quantize and
// dequantize nodes, additions on one scale and functions do. Products do not, because TOSA cannot rescale them.
bool computes_with_int32(const Candidate& c, const Quantization& q) {
  if (q.dtype != DType::kInt32 || q.zero_point() != 0) return false;
  const AtenOp op = c.node.op.aten();
  if (op == AtenOp::add_Tensor || op == AtenOp::sub_Tensor) {
    return c.output().quantization == q &&
           std::ranges::all_of(c.node.inputs, [&](ValueId id) { return !id.valid() || c.graph[id].quantization == q; });
  }
  const bool is_result = c.output().quantization == q;
  const AtenFamily family = traits_of(op).family;
  return is_data_movement(op) || family == AtenFamily::kConversion || family == AtenFamily::kQuantization ||
         (family == AtenFamily::kFunction && is_result);
}

// Returns whether the node converts between uint8, which only inputs and outputs of a model have, and signed integers.
bool converts_uint8(const Candidate& c, const Quantization& q) {
  const bool converts =
      c.node.op == ir::Op(AtenOp::clone_default) || traits_of(c.node.op.aten()).family == AtenFamily::kQuantization;
  return q.dtype == DType::kUInt8 && converts;
}

}  // namespace

Rejected check_activation(const Candidate& c, const ir::Value& value) {
  if (!value.quantization || value.constant) return std::nullopt;
  const Quantization& q = *value.quantization;
  if (q.per_channel()) {
    return rejected("types.per-channel",
                    fmt::format("{} is quantized per channel, activations must be per tensor", value.name),
                    "quantize activations per tensor");
  }
  if (q.dtype == DType::kInt8 || q.dtype == DType::kInt16) return std::nullopt;
  if (computes_with_int32(c, q) || converts_uint8(c, q)) return std::nullopt;
  return rejected("types.activation",
                  fmt::format("{} is quantized to {}, {} computes with int8 and int16 here", value.name,
                              name_of(q.dtype), c.target.name),
                  "quantize activations to int8");
}

bool works_on_quantized(const Candidate& c) {
  if (is_float(c.output().dtype)) return c.output().quantization.has_value();
  return std::ranges::any_of(c.node.inputs, [&](ValueId id) { return id.valid() && c.graph[id].quantization; });
}

Rejected check_mixture(const Candidate& c) {
  // Q/DQ nodes have both floats and integers by definition.
  if (traits_of(c.node.op.aten()).family == AtenFamily::kQuantization) return std::nullopt;
  const bool quantized = works_on_quantized(c);
  for (const ValueId id : c.node.inputs) {
    if (!id.valid() || !is_float(c.graph[id].dtype) || c.graph[id].constant) continue;
    if (c.graph[id].quantization.has_value() == quantized) continue;
    return rejected("types.mixed",
                    fmt::format("{} is {}quantized, the result is {}", c.graph[id].name, quantized ? "not " : "",
                                quantized ? "quantized" : "not"),
                    "quantize all inputs and outputs of the node, or none");
  }
  return std::nullopt;
}

Result<void> accepted(const Node& node, Rejected rejection) {
  if (!rejection) return {};
  Diagnostic diagnostic = normalize::about(node, std::move(rejection->reason));
  diagnostic.hint = std::move(rejection->hint);
  return fail(std::move(diagnostic));
}

namespace {

// A node of a target with the FP profile. Integer limits do not apply; the lowering reports unsupported types.
bool runs_as_float(const Candidate& c) {
  if (!c.target.takes_floats) return false;
  const auto& quantized = [&](ValueId id) { return id.valid() && c.graph[id].quantization; };
  return computes_in_float(c) ||
         (std::ranges::none_of(c.node.inputs, quantized) && std::ranges::none_of(c.node.outputs, quantized));
}

}  // namespace

std::vector<Rejected> rejections_of(const ir::Graph& annotated, const Target& target) {
  const std::string_view hint = quantization_hint(annotated);
  std::vector<Rejected> rejections;
  for (size_t n = 0; n < annotated.nodes.size(); ++n) {
    const Candidate c{.graph = annotated, .node = annotated.nodes[n], .target = target};
    Rejected rejection = rejection_of(c, hint);
    if (!rejection && !runs_as_float(c)) rejection = lowering_of(c.node.op)->legal(c);
    if (rejection) rejection->node = ir::NodeId(n);
    rejections.push_back(std::move(rejection));
  }
  return rejections;
}

}  // namespace carina::lower
