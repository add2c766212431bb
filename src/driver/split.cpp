#include "driver/split.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "lower/legality.h"
#include "lower/lower.h"
#include "models/passes.h"
#include "normalize/core_aten.h"

namespace carina::driver {

Diagnostics about_origins(Diagnostics errors, const ir::Graph& graph) {
  for (Diagnostic& error : errors) {
    if (!error.node) continue;
    const ir::NodeId origin = graph.nodes[*error.node].origin;
    error.node = origin.valid() ? std::optional(origin.index()) : std::nullopt;
  }
  return errors;
}

namespace {

// Lowers a delegate to TOSA. Origins of nodes, and Diagnostic::node of errors, are nodes of the normalized graph.
Result<ir::Graph> lower_delegate(const ir::Graph& delegate, const lower::Target& target, const ir::PassOptions& passes,
                                 const Log& log) {
  auto lowered = lower::to_tosa(delegate, target, passes, log);
  if (!lowered) return fail(about_origins(std::move(lowered).error(), delegate));
  for (ir::Node& node : lowered->graph.nodes) {
    if (node.origin.valid()) node.origin = delegate[node.origin].origin;
  }
  return std::move(lowered->graph);
}

// Gives nodes that are rejected because they are not quantized the reason why the scheme left them float, if it did.
std::vector<std::optional<ir::Rejection>> explained(std::vector<std::optional<ir::Rejection>> rejections,
                                                    const ir::Graph& graph,
                                                    const std::map<size_t, std::string>& left_float) {
  for (size_t n = 0; n < rejections.size(); ++n) {
    if (!rejections[n] || rejections[n]->rule != lower::kNotQuantized || !graph.nodes[n].origin.valid()) continue;
    const auto why = left_float.find(graph.nodes[n].origin.index());
    if (why == left_float.end()) continue;
    rejections[n]->reason = why->second;
    rejections[n]->hint.clear();
  }
  return rejections;
}

}  // namespace

Result<Split> split_graph(const ir::Graph& normalized, const backends::Backend& backend, const SplitOptions& options,
                          const std::vector<ir::Rejection>& rejected, const Log& log) {
  partition::PartitionOptions wanted{static_cast<const options::PartitionOptions&>(options)};
  wanted.cpu_ops = options.made_ops;
  wanted.keep = options.keep;
  wanted.floats = options.floats;
  wanted.arithmetic = options.arithmetic;
  wanted.rejected = rejected;
  Split split;
  const auto legality = [&](const ir::Graph& annotated) {
    return explained(lower::rejections_of(annotated, backend.lowering), annotated, options.left_float);
  };
  CARINA_TRY(split.partitioned, partition::partition(normalized, legality, wanted, log));
  CARINA_CHECKED(normalize::to_core_aten(split.partitioned.program, log));
  const ir::PassOptions passes = models::options_for(options.passes, lower::clean_up_pipeline());
  Diagnostics errors;
  for (const ir::Graph& delegate : split.partitioned.delegates) {
    auto tosa = lower_delegate(delegate, backend.lowering, passes, log);
    if (tosa)
      split.tosa.push_back(*std::move(tosa));
    else
      std::ranges::move(tosa.error(), std::back_inserter(errors));
  }
  if (!errors.empty()) return fail(std::move(errors));
  return split;
}

Split whole_graph_delegated(ir::Graph tosa, std::string_view reason) {
  partition::Partitioned result;
  ir::Node call{.op = AtenOp::executorch_call_delegate_default,
                .name = "delegate_0",
                .inputs = {},
                .outputs = {},
                .attributes = {{"delegate", int64_t{0}}},
                .source = {}};
  result.program.name = "forward";
  for (const ir::ValueId input : tosa.inputs)
    call.inputs.push_back(result.program.add_value(tosa[input].name, tosa[input].dtype, tosa[input].shape));
  for (const ir::ValueId output : tosa.outputs)
    call.outputs.push_back(result.program.add_value(tosa[output].name, tosa[output].dtype, tosa[output].shape));
  result.program.states = std::move(tosa.states);
  tosa.states.clear();
  result.program.inputs = call.inputs;
  result.program.outputs = call.outputs;
  result.program.add_node(std::move(call));
  for (size_t n = 0; n < tosa.nodes.size(); ++n) {
    const ir::Node& node = tosa.nodes[n];
    result.decisions.push_back({.node = ir::NodeId(n),
                                .name = node.name,
                                .op = std::string(node.op.name()),
                                .source = node.source,
                                .runs_on_npu = true,
                                .delegate = 0,
                                .reason = std::string(reason),
                                .hint = {}});
  }
  Split split{.partitioned = std::move(result), .tosa = {}};
  split.tosa.push_back(std::move(tosa));
  return split;
}

}  // namespace carina::driver
