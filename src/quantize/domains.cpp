#include "quantize/domains.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace carina::quantize {

namespace {

using ir::Node;
using ir::ValueId;

// The domain is [-end, end]; the ends of atanh are infinite. Source: docs/facts/arm_backend.md 4.
struct Domain {
  AtenOp op;
  double end_int8;
  double end_int16;
};
constexpr std::array kDomains{
    Domain{.op = AtenOp::asin_default, .end_int8 = 1, .end_int16 = 1},
    Domain{.op = AtenOp::acos_default, .end_int8 = 1, .end_int16 = 1},
    Domain{.op = AtenOp::atanh_default, .end_int8 = 0.999, .end_int16 = 0.99999},
};

// The parameters of the node's domain, if its operand exceeds the domain.
std::optional<Quantization> domain_of(const ir::Graph& graph, const Node& node) {
  if (!domain_end(node.op.aten(), DType::kInt8) || !graph[node.outputs.front()].quantization) return std::nullopt;
  const auto& given = graph[node.inputs.front()].quantization;
  if (!given || given->per_channel() || graph[node.inputs.front()].constant) return std::nullopt;
  const double end = *domain_end(node.op.aten(), given->dtype);
  const double low = static_cast<double>(given->qmin - given->zero_point()) * given->scale();
  const double high = static_cast<double>(given->qmax - given->zero_point()) * given->scale();
  if (low >= -end && high <= end) return std::nullopt;
  Quantization fixed = *given;
  fixed.scales = {end / std::ldexp(1.0, given->dtype == DType::kInt8 ? 7 : 15)};
  fixed.zero_points = {0};
  return fixed;
}

}  // namespace

std::optional<double> domain_end(AtenOp op, DType dtype) {
  const auto* domain = std::ranges::find(kDomains, op, &Domain::op);
  if (domain == kDomains.end()) return std::nullopt;
  return dtype == DType::kInt8 ? domain->end_int8 : domain->end_int16;
}

void limit_domains(ir::Graph& graph) {
  const auto readers = ir::users(graph);
  const auto is_output = ir::is_output(graph);
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    if (const auto fixed = domain_of(graph, node)) {
      ValueId& operand = node.inputs.front();
      if (readers[operand.index()].size() == 1 && !is_output[operand.index()]) {
        graph[operand].quantization = fixed;
      } else {
        ir::Value limited = graph[operand];
        limited.name += "_limited";
        limited.quantization = fixed;
        const ValueId clone = graph.add_value(std::move(limited));
        nodes.push_back({.op = AtenOp::clone_default,
                         .name = node.name,
                         .inputs = {operand},
                         .outputs = {clone},
                         .attributes = {{"memory_format", std::monostate()}},
                         .source = node.source});
        operand = clone;
      }
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace carina::quantize
