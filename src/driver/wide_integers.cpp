#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "driver/wide_integers_internal.h"
#include "tensor/wide_integers.h"

namespace carina::driver {

namespace {

// Returns the first value of the node that exceeds int32.
std::optional<ir::ValueId> wide_value(const ir::Graph& graph, const ir::Node& node,
                                      const std::set<std::string>& beyond_int32) {
  const auto is_wide = [&](ir::ValueId id) {
    if (!id.valid() || graph[id].dtype != DType::kInt64) return false;
    const std::optional<Tensor>& constant = graph[id].constant;
    if (constant && constant->dtype == DType::kInt64) return has_beyond_int32(*constant);
    return beyond_int32.contains(graph[id].name);
  };
  for (const auto* ids : {&node.outputs, &node.inputs}) {
    const auto found = std::ranges::find_if(*ids, is_wide);
    if (found != ids->end()) return *found;
  }
  return std::nullopt;
}

}  // namespace

void warn_of_wide_integers(const models::Model& model, const Split& split, const Log& log) {
  const std::set<std::string> beyond(model.beyond_int32.begin(), model.beyond_int32.end());
  std::set<std::string> warned;  // a node of the model may have become several
  for (const partition::Decision& decision : split.partitioned.decisions) {
    if (!decision.runs_on_npu) continue;
    const auto value = wide_value(model.graph, model.graph[decision.node], beyond);
    if (!value || !warned.insert(decision.name).second) continue;
    const bool is_constant = model.graph[*value].constant.has_value();
    log.note({.where = decision.source.empty() ? decision.name : fmt::format("{} ({})", decision.name, decision.source),
              .what = fmt::format("{} has integers beyond int32{}: the NPU computes with int32, and they wrap",
                                  model.graph[*value].name, is_constant ? "" : " in the samples"),
              .hint = fmt::format("--cpu-node {} computes it with int64 on the CPU", decision.name),
              .severity = Severity::kWarning});
  }
}

}  // namespace carina::driver
