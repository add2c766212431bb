#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "facts/aten_composites.h"
#include "observe/segments_internal.h"

// Divides a graph between two engines. The level of a node is the number of changes between the engines on the way to
// it, the largest over its operands. Nodes of one level and engine do not wait for each other through the other engine,
// so each level is one segment, and segments run in the order of levels.
//
//   Example: conv (TOSA) -> argmax (kernel) -> embedding (kernel) -> add (TOSA), where add also reads conv. The levels
//   are 0, 1, 1 and 2: three segments. TOSA's levels are even, so a graph that begins with a kernel begins with level
//   1.
//
// Which nodes need kernels is not known before: the lowering reports the nodes that it rejects, they move to the
// kernels, and the division is repeated, since the lowering may reject nodes after them. Each round moves at least one
// node. Time: one lowering of the graph for each round. Why not kernels for everything: docs/adr/0074.
namespace carina::observe {

namespace {

using ir::NodeId;
using ir::ValueId;

// Returns the level of each node. A level has the nodes of one engine with the same number of engine changes before
// them, and becomes a segment. TOSA's levels are even.
std::vector<size_t> levels_of(const ir::Graph& graph, const std::vector<bool>& on_kernels) {
  const std::vector<NodeId> producers = ir::producers(graph);
  std::vector<size_t> levels(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    levels[n] = on_kernels[n] ? 1 : 0;
    for (const ValueId input : graph.nodes[n].inputs) {
      if (!input.valid() || !producers[input.index()].valid()) continue;
      const size_t before = producers[input.index()].index();
      levels[n] = std::max(levels[n], levels[before] + (on_kernels[before] == on_kernels[n] ? 0 : 1));
    }
  }
  return levels;
}

// The idioms of the default target, which most models use. The idioms determine which values can be observed.
const lower::Target kLowering{.limits = kDefaultLowering.limits, .idioms = kDefaultLowering.idioms};

// Returns whether the node computes with int64: all of its tensors are plain integers (or it converts between these and
// floats), and one that is not a constant is int64. Constants do not count, because they are converted only once.
bool computes_with_int64(const ir::Graph& graph, const ir::Node& node) {
  const bool converts = node.op == ir::Op(AtenOp::_to_copy_default);
  bool is_wide = false, is_plain = true;
  const auto look = [&](ValueId id) {
    if (!id.valid()) return;
    is_wide = is_wide || (graph[id].dtype == DType::kInt64 && !graph[id].constant);
    is_plain = is_plain && !graph[id].quantization && (converts || !is_float(graph[id].dtype));
  };
  std::ranges::for_each(node.inputs, look);
  std::ranges::for_each(node.outputs, look);
  return is_wide && is_plain;
}

class Cutter {
 public:
  Cutter(const ir::Graph& graph, const ir::Evaluator* evaluator, const ir::PassOptions& passes, const Log& log)
      : graph_(graph),
        evaluator_(evaluator),
        passes_(passes),
        log_(log),
        users_(ir::users(graph)),
        outputs_(ir::is_output(graph)),
        on_kernels_(graph.nodes.size(), false),
        rejections_(graph.nodes.size()) {
    result_.on_kernels = on_kernels_;
  }

  // Assigns nodes that compute with int64 to the kernels.
  void keep_int64() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!computes_with_int64(graph_, graph_.nodes[n]) || !has_kernel(NodeId(n))) continue;
      on_kernels_[n] = true;
    }
  }

  // Divides the graph. Nodes that the lowering rejects are moved to the kernels. The lowering may then reject nodes
  // after them, so it is repeated.
  Result<Segments> run() && {
    for (;;) {
      cut();
      CARINA_TRY(const bool all_lowered, lower_segments());
      if (all_lowered) break;
    }
    CARINA_CHECKED(load_kernels());
    return std::move(result_);
  }

 private:
  void cut() {
    std::map<size_t, std::vector<NodeId>> members;
    level_of_ = levels_of(graph_, on_kernels_);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) members[level_of_[n]].emplace_back(n);
    members_.clear();
    result_.segments.clear();
    for (auto& [level, nodes] : members) {
      result_.segments.push_back(
          {.part = ir::subgraph_of(graph_, nodes, outputs_of(nodes)), .lowered = {}, .kernels = {}});
      members_.push_back(std::move(nodes));
    }
  }

  // Returns the outputs of a segment. For segments that kernels run these are all of their values, because kernels have
  // no observer.
  std::vector<ValueId> outputs_of(const std::vector<NodeId>& members) const {
    std::vector<ValueId> outputs;
    for (const NodeId member : members) {
      for (const ValueId id : graph_[member].outputs) {
        if (id.valid() && (on_kernels_[member.index()] || leaves(id, level_of_[member.index()]))) outputs.push_back(id);
      }
    }
    return outputs;
  }
  bool leaves(ValueId id, size_t level) const {
    return outputs_[id.index()] ||
           std::ranges::any_of(users_[id.index()], [&](NodeId user) { return level_of_[user.index()] != level; });
  }

  [[nodiscard]] bool is_on_kernels(size_t segment) const { return on_kernels_[members_[segment].front().index()]; }

  Result<bool> lower_segments() {
    bool all = true;
    for (size_t s = 0; s < result_.segments.size(); ++s) {
      if (is_on_kernels(s)) continue;
      auto lowered = lower::to_tosa(result_.segments[s].part.graph, kLowering, passes_, log_);
      if (lowered) {
        result_.segments[s].lowered = *std::move(lowered);
        continue;
      }
      CARINA_CHECKED(give_to_kernels(members_[s], std::move(lowered).error()));
      all = false;
    }
    return all;
  }

  Result<void> give_to_kernels(const std::vector<NodeId>& members, Diagnostics errors) {
    const bool about_nodes =
        std::ranges::all_of(errors, [](const Diagnostic& error) { return error.node && error.fault == Fault::kInput; });
    if (!about_nodes || evaluator_ == nullptr) return fail(std::move(errors));
    for (Diagnostic& error : errors) {
      const size_t node = members[*error.node].index();
      result_.on_kernels[node] = on_kernels_[node] = true;
      rejections_[node] = std::move(error);
    }
    return {};
  }

  Result<void> load_kernels() {
    CARINA_CHECKED(check_kernels());
    for (size_t s = 0; s < result_.segments.size(); ++s) {
      if (!is_on_kernels(s)) continue;
      // Kernels compute in float, even if a value is quantized elsewhere.
      for (ir::Value& value : result_.segments[s].part.graph.values) value.quantization.reset();
      CARINA_TRY(result_.segments[s].kernels, evaluator_->load(result_.segments[s].part.graph));
    }
    return {};
  }

  [[nodiscard]] bool has_kernel(NodeId id) const {
    std::vector<ValueId> results;
    std::ranges::copy_if(graph_[id].outputs, std::back_inserter(results), &ValueId::valid);
    return evaluator_->load(ir::subgraph_of(graph_, {&id, 1}, results).graph).has_value();
  }

  // Checks that kernels support their nodes. Nodes are checked one by one, so that each unsupported node is reported
  // with the error of its lowering.
  Result<void> check_kernels() const {
    Diagnostics errors;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!result_.on_kernels[n]) continue;
      if (has_kernel(NodeId(n))) continue;
      Diagnostic error = *rejections_[n];
      error.what += ", and there is no CPU kernel for it";
      error.hint = remedy_without(graph_[NodeId(n)].op.name());
      error.node = n;
      errors.push_back(std::move(error));
    }
    if (!errors.empty()) return fail(std::move(errors));
    return {};
  }

  const ir::Graph& graph_;
  const ir::Evaluator* evaluator_;
  const ir::PassOptions& passes_;
  const Log& log_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> outputs_;
  std::vector<size_t> level_of_;
  std::vector<std::vector<NodeId>> members_;           // per segment
  std::vector<bool> on_kernels_;                       // per node: TOSA cannot express it, or it must keep int64
  std::vector<std::optional<Diagnostic>> rejections_;  // per node: the error of its lowering
  Segments result_;
};

}  // namespace

Result<Segments> cut_into_segments(const ir::Graph& aten, const ir::Evaluator* evaluator, const ir::PassOptions& passes,
                                   Int64 int64, const Log& log) {
  Cutter cutter(aten, evaluator, passes, log);
  if (int64 == Int64::kKept && evaluator != nullptr) cutter.keep_int64();
  return std::move(cutter).run();
}

}  // namespace carina::observe
