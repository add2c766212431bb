// What:   nodes that read constants only become constants.
// Before: %m = aten.view.default(%mean, size=[1,3,1,1]); %y = aten.sub.Tensor(%x, %m)
// After:  %y = aten.sub.Tensor(%x, %m), where %m is a constant
// Needs:  canonicalize; an ir::Evaluator; without one nothing is folded.
// Gives:  every node has an input that is computed at run time. Exceptions are results that are larger than
//         kMaxGrownBytes and than the constants from which they are made (they would enlarge the file), operators
//         without a kernel, and nodes of values with quantization (their integers are given by the model).
// Legal:  the same kernels would compute the node in the program.

#include <algorithm>

#include "base/checked_math.h"
#include "ir/subgraph.h"
#include "normalize/passes_internal.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

constexpr int64_t kMaxGrownBytes = int64_t{1} << 20;

// The size of a value. No value if it is not static or too large to count.
std::optional<int64_t> bytes_of(const ir::Value& value) {
  const auto dims = value.shape.dims();
  const auto elements = checked_product(dims);
  if (!elements || std::ranges::any_of(dims, [](int64_t n) { return n < 0; })) return std::nullopt;
  return checked_mul(*elements, static_cast<int64_t>(element_bytes(value.dtype)));
}

bool is_plain_constant(const ir::Graph& graph, ValueId id) {
  return !id.valid() || (graph[id].constant && !graph[id].quantization);
}

bool is_foldable(const ir::Graph& graph, const Node& node) {
  if (!node.op.is_aten() || !node.op.name().starts_with("aten.") || node.outputs.empty()) return false;
  if (!std::ranges::all_of(node.inputs, [&](ValueId id) { return is_plain_constant(graph, id); })) return false;
  int64_t given = 0;
  for (const ValueId input : node.inputs) given += input.valid() ? bytes_of(graph[input]).value_or(0) : 0;
  return std::ranges::all_of(node.outputs, [&](ValueId id) {
    if (!id.valid() || graph[id].quantization) return false;
    const std::optional<int64_t> bytes = bytes_of(graph[id]);
    return bytes && *bytes <= std::max(given, kMaxGrownBytes);
  });
}

// Folds a node. Returns whether its results are constants now. If a kernel rejects the operands, the node stays, and
// later stages report the reason.
bool fold(ir::Graph& graph, ir::NodeId id, const ir::Evaluator& evaluator) {
  std::vector<ValueId> wanted;
  std::ranges::copy_if(graph[id].outputs, std::back_inserter(wanted), &ValueId::valid);
  const ir::Subgraph part = ir::subgraph_of(graph, {&id, 1}, wanted);
  const auto evaluation = evaluator.load(part.graph);
  if (!evaluation) return false;
  const auto results = (*evaluation)->run({});
  if (!results || results->size() != part.outputs.size()) return false;
  for (size_t i = 0; i < results->size(); ++i) {
    const ir::Value& value = graph[part.outputs[i]];
    if ((*results)[i].dtype != value.dtype || (*results)[i].shape != value.shape) return false;
  }
  for (size_t i = 0; i < results->size(); ++i) graph[part.outputs[i]].constant = (*results)[i];
  return true;
}

}  // namespace

Result<void> fold_constants(ir::Graph& graph, const ir::Evaluator& evaluator, const Log&) {
  std::vector<Node> kept;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!is_foldable(graph, graph.nodes[n]) || !fold(graph, ir::NodeId(n), evaluator)) kept.push_back(graph.nodes[n]);
  }
  graph.nodes = std::move(kept);
  ir::remove_dead(graph);
  return {};
}

}  // namespace carina::normalize
