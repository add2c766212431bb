#include "partition/cost_internal.h"

#include <algorithm>
#include <limits>

#include "base/checked_math.h"
#include "facts/cpu_costs.h"

namespace carina::partition {

namespace {

constexpr int64_t kMaxCost = std::numeric_limits<int64_t>::max() / 4;

int64_t product(int64_t a, int64_t b) {
  return std::min(checked_mul<int64_t>(a, b).value_or(kMaxCost), kMaxCost);
}

int64_t elements_of(const ir::Graph& graph, ir::ValueId id) {
  return id.valid() ? std::max<int64_t>(graph[id].shape.elements(), 0) : 0;
}

// Returns the multiplications per element of the result: the weights of one output channel, or a row of the first
// matrix.
int64_t macs_of_element(const ir::Graph& graph, const ir::Node& node) {
  if (node.inputs.size() < 2 || !node.inputs[1].valid()) return 0;
  const Shape& weight = graph[node.inputs[1]].shape;
  if (traits_of(node.op.aten()).family == AtenFamily::kConvolution)
    return weight.rank() == 0 || weight[0] == 0 ? 0 : weight.elements() / weight[0];
  const Shape& rows = graph[node.inputs[0]].shape;
  return rows.rank() == 0 ? 0 : rows[rows.rank() - 1];
}

bool makes_int8(const ir::Graph& graph, const ir::Node& node) {
  const auto is_int8 = [&](ir::ValueId id) {
    const auto& quantization = graph[id].quantization;
    return quantization && quantization->dtype == DType::kInt8;
  };
  return !node.outputs.empty() && std::ranges::all_of(node.outputs, is_int8);
}

// Returns whether each filter of a convolution reads one of several channels.
bool is_depthwise(const ir::Graph& graph, const ir::Node& node) {
  if (traits_of(node.op.aten()).family != AtenFamily::kConvolution) return false;
  const Shape &in = graph[node.inputs[0]].shape, &weight = graph[node.inputs[1]].shape;
  return in.rank() >= 3 && weight.rank() == in.rank() && weight[1] == 1 && in[1] > 1;
}

CpuCost cost_of(const ir::Graph& graph, const ir::Node& node, CpuArithmetic arithmetic) {
  const AtenOp op = node.op.aten();
  const AtenFamily family = traits_of(op).family;
  if (arithmetic == CpuArithmetic::kFloats || !makes_int8(graph, node)) return cpu_cost_of(op, family);
  return is_depthwise(graph, node) ? kInt8CostOfDepthwise : int8_cpu_cost_of(op, family);
}

}  // namespace

int64_t cpu_cycles_of(const ir::Graph& graph, const ir::Node& node, CpuArithmetic arithmetic) {
  const AtenFamily family = traits_of(node.op.aten()).family;
  const CpuCost cost = cost_of(graph, node, arithmetic);
  int64_t made = 0;
  for (const ir::ValueId output : node.outputs) made = std::max(made, elements_of(graph, output));
  const bool reduces = family == AtenFamily::kReduction || family == AtenFamily::kPool;
  const int64_t elements = reduces && !node.inputs.empty() ? std::max(made, elements_of(graph, node.inputs[0])) : made;
  const int64_t macs = cost.per_1000_macs == 0 ? 0 : product(made, macs_of_element(graph, node));
  const int64_t of_macs = product(macs / 1000, cost.per_1000_macs) + macs % 1000 * cost.per_1000_macs / 1000;
  return std::min(kMaxCost, kCpuCostOfCall + product(elements, cost.per_element) + of_macs);
}

int64_t qdq_cycles_of(const ir::Value& value, AtenOp op) {
  return kCpuCostOfCall +
         product(std::max<int64_t>(value.shape.elements(), 0), cpu_cost_of(op, AtenFamily::kQuantization).per_element);
}

int64_t boundary_cycles_of(const ir::Graph& program) {
  const auto is_boundary = [&](const ir::Node& node) {
    if (node.op == ir::Op(AtenOp::quantize_per_tensor_default))
      return std::ranges::find(program.inputs, node.inputs[0]) != program.inputs.end();
    return node.op == ir::Op(AtenOp::dequantize_per_tensor_default) &&
           std::ranges::find(program.outputs, node.outputs[0]) != program.outputs.end();
  };
  int64_t cycles = 0;
  for (const ir::Node& node : program.nodes) {
    if (is_boundary(node)) cycles = std::min(kMaxCost, cycles + cpu_cycles_of(program, node));
  }
  return cycles;
}

}  // namespace carina::partition
