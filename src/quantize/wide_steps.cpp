// Which values of a recurrent or cached network may have 16 bits at next to no cost. A network that takes one step at a
// time multiplies each weight once or a few times, so the NPU waits for the weights, and activations are small.
// Products of 16 bits then cost few cycles. These keep 8 bits:
//   - operands of products of two computed matrices: some NPUs have none of 16 bits, and a cache of 16 bits takes twice
//     the memory;
//   - operands and results of functions that saturate, as the gates of a recurrent cell. A table of 16 bits has 2 KB
//     instead of 256 bytes, which come from flash like weights, and 8 bits tell the numbers from 0 to 1 apart well;
//   - operands of pools, comparisons and divisions, which have no cheap form in 16 bits.
// Other functions (rsqrt, SiLU, GELU, the exp of a softmax) have wide ranges. They get 16 bits if all their tables take
// at most a quarter of the bytes of the weights, or as many bytes as the start of an inference takes cycles: a small
// perceptron takes less time than its start. The last functions before an output are an exception, which wide_tail()
// weighs. Evidence: ADR 0108, 0111.
#include "quantize/wide_steps_internal.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>

#include "facts/aten_traits.h"
#include "facts/cpu_costs.h"
#include "quantize/headroom_internal.h"
#include "quantize/sharing.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::ValueId;

constexpr int64_t kMaxUsesOfWeights = 8, kTableBytes = 2048, kMinWeightsPerTable = 4;
// The CPU's call of the delegate, and of the kernels that quantize the inputs and dequantize the outputs. Flash gives
// about a byte in a cycle.
constexpr int64_t kCyclesOfStart = kCpuCostOfDelegateCall + 2 * kCpuCostOfCall;

bool has_wide_table(const Node& node) {
  return node.op.is_aten() && traits_of(node.op.aten()).family == AtenFamily::kFunction && !saturates(node.op.aten());
}

// What decides about the whole network.
struct Sums {
  int64_t multiplications = 0;
  int64_t weights = 0;
  int64_t tables = 0;  // of functions that do not saturate

  [[nodiscard]] bool waits_for_weights() const { return weights > 0 && multiplications <= kMaxUsesOfWeights * weights; }
  [[nodiscard]] bool tables_are_small() const {
    return kTableBytes * tables <= std::max(weights / kMinWeightsPerTable, kCyclesOfStart);
  }
};

// Weights that several nodes share, as the steps of an unrolled recurrence do, count once: they are used by all.
Sums sums_of(const ir::Graph& graph) {
  Sums sums;
  std::set<const std::byte*> counted;
  for (const Node& node : graph.nodes) {
    sums.multiplications += multiplications_of(graph, node);
    const int64_t weights = weights_of(graph, node);
    const std::optional<WeightRole> role = weights == 0 ? std::nullopt : weight_role_of(node);
    const ir::Value* value = role ? &graph[node.inputs[role->weight]] : nullptr;
    const bool is_counted = value != nullptr && value->constant && !counted.insert(value->constant->data.data()).second;
    sums.weights += is_counted ? 0 : weights;
    sums.tables += has_wide_table(node) ? 1 : 0;
  }
  return sums;
}

enum class Reads { kBoth, kNarrow, kNarrowAndWritesNarrow };

// What a node takes: both widths, or 8 bits only.
Reads reads_of(const Node& node, const Sums& sums) {
  if (!node.op.is_aten()) return Reads::kNarrowAndWritesNarrow;
  const AtenTraits& traits = traits_of(node.op.aten());
  if (weight_role_of(node) || (has_wide_table(node) && sums.tables_are_small())) return Reads::kBoth;
  if (traits.data != AtenData::kComputed) return Reads::kBoth;
  switch (traits.family) {
    case AtenFamily::kLimit:
    case AtenFamily::kArithmetic:
    case AtenFamily::kMovement:
    case AtenFamily::kIndexing:
      return Reads::kBoth;
    case AtenFamily::kReduction: {
      const AtenOp op = node.op.aten();
      return op == AtenOp::mean_dim || op == AtenOp::sum_dim_IntList || op == AtenOp::amax_default ? Reads::kBoth
                                                                                                   : Reads::kNarrow;
    }
    case AtenFamily::kProduct:
      return Reads::kNarrow;
    default:
      return Reads::kNarrowAndWritesNarrow;
  }
}

}  // namespace

bool waits_for_weights(const ir::Graph& graph) {
  return sums_of(graph).waits_for_weights();
}

std::vector<size_t> wide_steps(const ir::Graph& graph, const TailRequest& request) {
  const Sums sums = sums_of(graph);
  if (!request.weights_allow || !sums.waits_for_weights()) return {};
  std::vector<bool> is_narrow(graph.values.size(), false);
  const auto narrow = [&](ValueId id) {
    if (id.valid() && !graph[id].constant) is_narrow[request.groups[id.index()]] = true;
  };
  for (const Node& node : graph.nodes) {
    const Reads reads = reads_of(node, sums);
    if (reads != Reads::kBoth) std::ranges::for_each(node.inputs, narrow);
    if (reads == Reads::kNarrowAndWritesNarrow) std::ranges::for_each(node.outputs, narrow);
  }
  if (request.narrow_outputs) {
    for (size_t i = 0; i < graph.inputs_without_state(); ++i) narrow(graph.inputs[i]);
    for (size_t i = 0; i < graph.outputs_without_state(); ++i) narrow(graph.outputs[i]);
  }
  std::set<size_t> wide;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const size_t group = request.groups[v];
    if (!graph.values[v].constant && request.is_free[group] && !is_narrow[group]) wide.insert(group);
  }
  return {wide.begin(), wide.end()};
}

}  // namespace carina::quantize
