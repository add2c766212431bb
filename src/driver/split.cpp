#include "driver/split.h"

#include "lower/core_aten.h"
#include "lower/lower.h"

namespace carina::driver {

Result<Split> split_graph(const ir::Graph& prepared, const Backend& backend, const SplitOptions& options,
                          const std::map<std::string, std::string>& refused, const Log& log) {
  partition::PartitionOptions wanted{.family = backend.family,
                                     .target = backend.target,
                                     .cpu_nodes = options.cpu_nodes,
                                     .cpu_ops = {},
                                     .delegate_nothing = options.delegates == DelegateMode::kNothing};
  for (const auto& [node, reason] : refused) wanted.cpu_nodes.push_back(node);
  Split split;
  CARINA_TRY(split.partitioned, partition::partition(prepared, wanted, log));
  for (partition::Decision& decision : split.partitioned.decisions) {
    const auto reason = refused.find(decision.name);
    if (reason != refused.end()) decision.reason = reason->second;
  }
  CARINA_CHECKED(lower::to_core_aten(split.partitioned.program, log));
  for (const ir::Graph& delegate : split.partitioned.delegates) {
    CARINA_TRY(ir::Graph tosa, lower::to_tosa(delegate, log));
    split.tosa.push_back(std::move(tosa));
  }
  return split;
}

Split whole_graph_delegated(ir::Graph tosa) {
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
                                .reason = "TOSA input",
                                .hint = {}});
  }
  Split split{.partitioned = std::move(result), .tosa = {}};
  split.tosa.push_back(std::move(tosa));
  return split;
}

}  // namespace carina::driver
