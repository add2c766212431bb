#include "quantize/annotate/expansion.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "facts/aten_traits.h"
#include "ir/subgraph.h"
#include "normalize/normalize.h"
#include "quantize/sharing.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

// Returns whether a float value inside of the graph has parameters that no input or output shares.
bool has_values_of_its_own(const ir::Graph& graph) {
  const Sharing sharing = sharing_of(graph, std::vector<bool>(graph.nodes.size(), false), Extrema::kShare);
  std::set<size_t> outside;
  for (const std::vector<ValueId>* ids : {&graph.inputs, &graph.outputs}) {
    for (const ValueId id : *ids) {
      if (id.valid()) outside.insert(sharing.group[id.index()]);
    }
  }
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return std::ranges::any_of(node.outputs, [&](ValueId id) {
      return id.valid() && graph[id].dtype == DType::kFp32 && sharing.is_observed[id.index()] &&
             !outside.contains(sharing.group[id.index()]);
    });
  });
}

// Returns whether the node is fused with its producer: a batch norm after a convolution.
bool belongs_to_its_producer(const ir::Graph& graph, const Node& node, const std::vector<NodeId>& producers) {
  if (node.op != ir::Op(AtenOp::batch_norm_default)) return false;
  const NodeId producer = producers[node.inputs.front().index()];
  return producer.valid() && traits_of(graph[producer].op.aten()).family == AtenFamily::kConvolution;
}

bool is_composite(const Node& node) {
  return node.op.is_aten() && traits_of(node.op.aten()).lowering.kind == AtenLowering::Kind::kBecomes;
}

bool gives_floats(const ir::Graph& graph, const Node& node) {
  return std::ranges::any_of(node.outputs, [&](ValueId id) { return id.valid() && graph[id].dtype == DType::kFp32; });
}

// Its further operands are no activations: a slope becomes a number of leaky_relu; scale and offset of a batch norm
// become weights and bias of a convolution.
bool has_parameters(const Node& node) {
  return node.op == ir::Op(AtenOp::prelu_default) || node.op == ir::Op(AtenOp::batch_norm_default);
}

std::optional<ir::Graph> parts_of(const ir::Graph& graph, NodeId node) {
  std::vector<ValueId> results;
  std::ranges::copy_if(graph[node].outputs, std::back_inserter(results), [](ValueId id) { return id.valid(); });
  ir::Graph parts = ir::subgraph_of(graph, std::span(&node, 1), results).graph;
  if (!normalize::normalize(parts, Log{})) return std::nullopt;
  if (!has_values_of_its_own(parts) && !has_parameters(graph[node])) return std::nullopt;
  return parts;
}

}  // namespace

std::vector<Expansion> expansions(const ir::Graph& graph, const NodeSchemes& schemes) {
  const auto producers = ir::producers(graph);
  std::vector<Expansion> found;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const auto own = schemes.of_node.find(node.name);
    const int scheme = own == schemes.of_node.end() ? schemes.general : own->second;
    if (scheme == kLeftFloat || !is_composite(node) || !gives_floats(graph, node)) continue;
    if (belongs_to_its_producer(graph, node, producers)) continue;
    if (auto parts = parts_of(graph, NodeId(n))) found.push_back({.node = node.name, .graph = *std::move(parts)});
  }
  return found;
}

}  // namespace carina::quantize
