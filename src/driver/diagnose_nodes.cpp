#include "driver/diagnose_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "evaluate/kernel_evaluator.h"
#include "facts/aten_composites.h"
#include "lower/lower.h"
#include "normalize/core_aten.h"
#include "normalize/normalize.h"
#include "pte/emit.h"
#include "quantize/import.h"

namespace carina::driver {

namespace {

// Returns the graph without the nodes made from these nodes of the user's model. Their results become inputs, and their
// operands become outputs.
ir::Graph without(ir::Graph graph, const std::set<size_t>& origins) {
  graph.states.clear();  // plain inputs and outputs, among others
  std::erase_if(graph.nodes, [&](const ir::Node& node) {
    if (!node.origin.valid() || !origins.contains(node.origin.index())) return false;
    const auto is_there = [](ir::ValueId id) { return id.valid(); };
    std::ranges::copy_if(node.outputs, std::back_inserter(graph.inputs), is_there);
    std::ranges::copy_if(node.inputs, std::back_inserter(graph.outputs), is_there);
    return true;
  });
  return graph;
}

// Normalizes the nodes that can be normalized. Errors are about nodes of the user's model.
ir::Graph normalized_part(ir::Graph graph, Diagnostics& errors) {
  for (;;) {
    ir::Graph tried = graph;
    const auto normalized = normalize::normalize(tried, evaluate::KernelEvaluator{}, Log{});
    if (normalized) return tried;
    std::set<size_t> rejected;
    for (const Diagnostic& error : normalized.error()) {
      if (error.node) rejected.insert(*error.node);
      errors.push_back(error);
    }
    const size_t before = graph.nodes.size();
    graph = without(std::move(graph), rejected);
    if (graph.nodes.size() == before) return graph;
  }
}

// Returns a quantized model without its quantize and dequantize nodes, where they can be folded.
ir::Graph folded(ir::Graph graph) {
  ir::Graph tried = graph;
  return quantize::fold_imported(tried, Log{}) ? tried : graph;
}

// Returns for each node whether ExecuTorch has kernels for all operators that it becomes on the CPU.
std::vector<bool> has_kernels(const ir::Graph& normalized) {
  ir::Graph program = normalized;
  for (size_t n = 0; n < program.nodes.size(); ++n) program.nodes[n].origin = ir::NodeId(n);
  std::vector<bool> all(normalized.nodes.size(), true);
  if (!normalize::to_core_aten(program, Log{})) return all;
  for (const ir::Node& node : program.nodes) {
    if (node.origin.valid() && !pte::has_kernel(node.op)) all[node.origin.index()] = false;
  }
  return all;
}

Diagnostic no_home(const ir::Node& node) {
  return {.where = node.source.empty() ? node.name : fmt::format("{} ({})", node.name, node.source),
          .what = fmt::format("{} is supported neither on the NPU nor on the CPU", node.op.name()),
          .hint = std::string(remedy_without(node.op.name())),
          .node = node.origin.index()};
}

}  // namespace

NodeDiagnosis diagnose_nodes(ir::Graph graph, size_t nodes) {
  NodeDiagnosis result{.dispositions = std::vector<Disposition>(nodes, Disposition::kFolded), .errors = {}};
  const ir::Graph normalized = folded(normalized_part(std::move(graph), result.errors));
  const std::vector<bool> on_cpu = has_kernels(normalized);
  for (size_t n = 0; n < normalized.nodes.size(); ++n) {
    const ir::Node& node = normalized.nodes[n];
    if (!node.origin.valid() || node.origin.index() >= nodes) continue;
    Disposition& disposition = result.dispositions[node.origin.index()];
    const bool is_first = disposition != Disposition::kNowhere;
    const Disposition own = lower::has_lowering(node.op) ? Disposition::kNpu
                            : on_cpu[n]                  ? Disposition::kCpu
                                                         : Disposition::kNowhere;
    if (own == Disposition::kNowhere && is_first) result.errors.push_back(no_home(node));
    disposition = std::max(disposition, own);
  }
  return result;
}

}  // namespace carina::driver
