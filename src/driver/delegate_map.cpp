#include "driver/delegate_map.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "driver/delegation.h"
#include "driver/import.h"
#include "driver/quantize.h"
#include "facts/aten_quantization.h"
#include "pt2/reader.h"

namespace carina::driver {

namespace {

using partition::Decision;

constexpr int kCpu = -1;

// Per node of the user's graph the decisions about what it became.
using Parts = std::vector<std::vector<const Decision*>>;

Parts parts_of(const Model& model, const std::vector<Decision>& decisions) {
  Parts parts(model.nodes.size());
  for (const Decision& decision : decisions) {
    const ir::NodeId origin = model.graph[decision.node].origin;
    if (origin.valid() && origin.index() < parts.size()) parts[origin.index()].push_back(&decision);
  }
  return parts;
}

bool lies_in_one_place(const std::vector<const Decision*>& parts) {
  return std::ranges::all_of(parts, [&](const Decision* part) { return part->delegate == parts.front()->delegate; });
}

// A node that would be cut in two stays on the CPU, and then the rest may be cut otherwise.
Result<Delegated> delegate_whole_nodes(const Model& model, const Backend& backend, const SplitOptions& split,
                                       const DelegateOptions& options, const Log& log) {
  std::set<size_t> kept;
  for (;;) {
    SplitOptions choices = split;
    choices.keep = [&](const ir::Node& node) -> std::optional<ir::Refusal> {
      if (split.keep) {
        if (auto wish = split.keep(node)) return wish;
      }
      if (!node.origin.valid() || !kept.contains(node.origin.index())) return std::nullopt;
      return ir::Refusal{
          .node = {}, .rule = "whole node", .reason = "only a part of it could be delegated", .hint = {}};
    };
    CARINA_TRY(Delegated delegated, delegate_graph(model.graph, backend, choices, options, log));
    const size_t before = kept.size();
    const Parts parts = parts_of(model, delegated.split.partitioned.decisions);
    for (size_t n = 0; n < parts.size(); ++n) {
      if (!parts[n].empty() && !lies_in_one_place(parts[n])) kept.insert(n);
    }
    if (kept.size() == before) return delegated;
  }
}

// The user's graph as it was read, coloured by delegates.
class Colouring {
 public:
  Colouring(const ir::Graph& graph, std::vector<std::optional<int>> of_node)
      : graph_(graph),
        producers_(ir::producers(graph)),
        users_(ir::users(graph)),
        is_output_(ir::is_output(graph)),
        place_(std::move(of_node)) {}

  std::vector<std::optional<int>> run() && {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_open(n) && step_of(n) != QuantizationStep::kDequantize) place(n) = of_makers(n);
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (is_open(n) && step_of(n) != QuantizationStep::kQuantize) place(n) = of_readers(n);
    }
    return std::move(place_);
  }

 private:
  std::optional<int>& place(size_t node) { return place_[graph_.nodes[node].origin.index()]; }
  [[nodiscard]] std::optional<int> place(size_t node) const { return place_[graph_.nodes[node].origin.index()]; }
  [[nodiscard]] bool is_open(size_t node) const { return graph_.nodes[node].origin.valid() && !place(node); }
  [[nodiscard]] std::optional<QuantizationStep> step_of(size_t node) const {
    return quantization_step_of(graph_.nodes[node].op.aten());
  }

  // The delegate that makes all of its operands but constants; none where there is no such.
  [[nodiscard]] std::optional<int> of_makers(size_t node) const {
    std::optional<int> found;
    for (const ir::ValueId operand : graph_.nodes[node].inputs) {
      if (!operand.valid() || graph_[operand].constant) continue;
      const ir::NodeId maker = producers_[operand.index()];
      if (!maker.valid() || !agrees(found, maker)) return std::nullopt;
    }
    return found;
  }

  // The delegate that reads all of its results.
  [[nodiscard]] std::optional<int> of_readers(size_t node) const {
    std::optional<int> found;
    for (const ir::ValueId result : graph_.nodes[node].outputs) {
      if (!result.valid()) continue;
      if (is_output_[result.index()]) return std::nullopt;
      for (const ir::NodeId reader : users_[result.index()]) {
        if (!agrees(found, reader)) return std::nullopt;
      }
    }
    return found;
  }

  // Whether a neighbour lies in a delegate, and in that of the neighbours so far.
  bool agrees(std::optional<int>& found, ir::NodeId neighbour) const {
    if (!graph_[neighbour].origin.valid()) return false;
    const std::optional<int> its = place(neighbour.index());
    if (!its || *its == kCpu || (found && *found != *its)) return false;
    found = its;
    return true;
  }

  const ir::Graph& graph_;
  std::vector<ir::NodeId> producers_;
  std::vector<std::vector<ir::NodeId>> users_;
  std::vector<bool> is_output_;
  std::vector<std::optional<int>> place_;  // per node of the user's model; none: open
};

std::vector<std::optional<int>> places_of(const Parts& parts) {
  std::vector<std::optional<int>> places(parts.size());
  for (size_t n = 0; n < parts.size(); ++n) {
    if (!parts[n].empty()) places[n] = parts[n].front()->runs_on_npu ? parts[n].front()->delegate : kCpu;
  }
  return places;
}

NodePlace described(const pt2::ModelNode& node, std::optional<int> place, const std::vector<const Decision*>& parts) {
  NodePlace described{.name = node.name,
                      .op = node.op,
                      .source = node.source,
                      .delegate = place.value_or(kCpu),
                      .reason = {},
                      .hint = {}};
  if (described.delegate == kCpu && !parts.empty()) {
    described.reason = parts.front()->reason;
    described.hint = parts.front()->hint;
  }
  return described;
}

}  // namespace

Result<std::vector<NodePlace>> map_delegates(const Buffer& pt2, const std::string& where, const Backend& backend,
                                             const SplitOptions& split, const DelegateOptions& options,
                                             const Log& log) {
  CARINA_TRY(const ir::Graph graph, pt2::read_pt2(pt2, where, Log{}));
  CARINA_TRY(Model model, import_pt2(pt2, where, log));
  CARINA_CHECKED(quantize_model(model, {.mode = QuantizeMode::kAuto, .samples = {}}, log));
  CARINA_TRY(const Delegated delegated, delegate_whole_nodes(model, backend, split, options, log));
  const Parts parts = parts_of(model, delegated.split.partitioned.decisions);
  const auto places = Colouring(graph, places_of(parts)).run();
  std::vector<NodePlace> described_nodes;
  for (size_t n = 0; n < model.nodes.size(); ++n)
    described_nodes.push_back(described(model.nodes[n], places[n], parts[n]));
  return described_nodes;
}

}  // namespace carina::driver
