#include "driver/whole_delegate.h"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace carina::driver {

namespace {

// Returns whether a delegate takes and gives values of the model's type with this type of TOSA, which has no uint8.
bool is_passed_as(DType model, DType tosa) {
  return tosa == model || (model == DType::kInt64 && tosa == DType::kInt32) ||
         (model == DType::kUInt8 && tosa == DType::kInt8);
}

Diagnostic other_type(const ir::Value& value, DType made, std::optional<size_t> node) {
  return {.where = value.name,
          .what = "an input or output of the delegate would have another type than in the model",
          .expected = std::string(name_of(value.dtype)),
          .got = std::string(name_of(made)),
          .hint = "quantize and dequantize nodes at the model's boundaries stay outside of a delegate",
          .node = node};
}

// Checks the inputs or outputs of a model against those of the TOSA graph made from it. Each error names a node of the
// model at that boundary: the producer of an output, or a reader of an input.
Result<void> check_boundary(const ir::Graph& model, std::span<const ir::ValueId> given, const ir::Graph& tosa,
                            std::span<const ir::ValueId> made) {
  const std::vector<ir::NodeId> producers = ir::producers(model);
  const std::vector<std::vector<ir::NodeId>> users = ir::users(model);
  Diagnostics errors;
  for (size_t i = 0; i < given.size(); ++i) {
    const ir::Value& value = model[given[i]];
    const DType dtype = tosa[made[i]].dtype;
    if (is_passed_as(value.dtype, dtype)) continue;
    const ir::NodeId producer = producers[given[i].index()];
    if (producer.valid()) errors.push_back(other_type(value, dtype, producer.index()));
    if (producer.valid()) continue;
    for (const ir::NodeId reader : users[given[i].index()]) errors.push_back(other_type(value, dtype, reader.index()));
    if (users[given[i].index()].empty()) errors.push_back(other_type(value, dtype, std::nullopt));
  }
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return {};
}

// Adds a float value next to a quantized one, and the Q/DQ node between them. Returns the float value.
ir::ValueId add_qdq(ir::Graph& graph, ir::ValueId of, AtenOp op, std::vector<ir::Node>& nodes) {
  const ir::ValueId made = graph.add_value(graph[of].name + "_float", graph[of].dtype, Shape(graph[of].shape));
  const bool reads_float = op == AtenOp::quantize_per_tensor_default;
  nodes.push_back({.op = op,
                   .name = graph[made].name,
                   .inputs = {reads_float ? made : of},
                   .outputs = {reads_float ? of : made},
                   .attributes = {},
                   .source = {}});
  return made;
}

bool is_quantized_float(const ir::Graph& graph, ir::ValueId id) {
  return graph[id].quantization && is_float(graph[id].dtype) && !graph[id].constant;
}

// A graph with nodes added before and after those of another graph.
struct Extended {
  ir::Graph graph;
  size_t before = 0;
  size_t nodes = 0;  // number of nodes of the other graph

  // Returns the index of a node in the other graph; no value for an added node.
  [[nodiscard]] std::optional<size_t> original(size_t node) const {
    return node >= before && node < before + nodes ? std::optional(node - before) : std::nullopt;
  }
};

// A caller that cuts a graph out passes floats where the user's graph has floats. Therefore the delegate quantizes its
// inputs and dequantizes its outputs.
Extended with_float_ends(ir::Graph graph) {
  const size_t nodes = graph.nodes.size();
  std::vector<ir::Node> before, after;
  for (ir::ValueId& input : graph.inputs) {
    if (is_quantized_float(graph, input)) input = add_qdq(graph, input, AtenOp::quantize_per_tensor_default, before);
  }
  for (ir::ValueId& output : graph.outputs) {
    if (is_quantized_float(graph, output))
      output = add_qdq(graph, output, AtenOp::dequantize_per_tensor_default, after);
  }
  graph.nodes.insert(graph.nodes.begin(), before.begin(), before.end());
  graph.nodes.insert(graph.nodes.end(), after.begin(), after.end());
  return {.graph = std::move(graph), .before = before.size(), .nodes = nodes};
}

Result<lower::Lowered> lower_with_float_ends(const ir::Graph& normalized, const lower::Target& target, const Log& log) {
  const Extended extended = with_float_ends(normalized);
  auto lowered = lower::to_tosa(extended.graph, target, log);
  if (!lowered) {
    for (Diagnostic& error : lowered.error()) {
      if (error.node) error.node = extended.original(*error.node);
    }
    return lowered;
  }
  for (ir::Node& node : lowered->graph.nodes) {
    if (!node.origin.valid()) continue;
    const auto original = extended.original(node.origin.index());
    node.origin = original ? ir::NodeId(*original) : ir::NodeId();
  }
  return lowered;
}

}  // namespace

Result<lower::Lowered> lower_whole(const ir::Graph& normalized, const lower::Target& target, const Log& log) {
  CARINA_TRY(lower::Lowered lowered, target.takes_floats ? lower_with_float_ends(normalized, target, log)
                                                         : lower::to_tosa(normalized, target, log));
  CARINA_CHECKED(check_boundary(normalized, normalized.inputs, lowered.graph, lowered.graph.inputs));
  CARINA_CHECKED(check_boundary(normalized, normalized.outputs, lowered.graph, lowered.graph.outputs));
  return lowered;
}

}  // namespace carina::driver
