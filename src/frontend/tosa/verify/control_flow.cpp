#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/tosa/verify/rule.h"

namespace carina::tosa {

namespace {

// Rules of section 2.16 of the TOSA specification.
const ir::Graph* graph_of(const RuleContext& at, std::string_view attribute) {
  const auto found = at.index.graphs.find(at.node.attributes.get<std::string>(attribute));
  return found == at.index.graphs.end() ? nullptr : found->second;
}

Problem graphs_exist(const RuleContext& at) {
  for (const TosaAttribute& attribute : at.row.attributes) {
    if (graph_of(at, attribute.name) == nullptr)
      return fmt::format("no graph is called {}", at.node.attributes.get<std::string>(attribute.name));
  }
  return std::nullopt;
}

Problem nesting(const RuleContext& at) {
  if (at.index.depths.at(at.graph.name)) return std::nullopt;
  return fmt::format("a graph that runs itself, or deeper than level {} allows ({})", at.options.level.name,
                     at.options.level.max_nesting);
}

// Compares the types and shapes of two lists of values.
Problem lists_differ(const ir::Graph& a, std::span<const ir::ValueId> left, const ir::Graph& b,
                     std::span<const ir::ValueId> right) {
  if (left.size() != right.size()) return fmt::format("{} and {} values", left.size(), right.size());
  for (size_t i = 0; i < left.size(); ++i) {
    const ir::Value& x = a[left[i]];
    const ir::Value& y = b[right[i]];
    if (x.dtype == y.dtype && x.shape == y.shape) continue;
    return fmt::format("{} {}{} and {} {}{}", x.name, name_of(x.dtype), carina::to_string(x.shape), y.name,
                       name_of(y.dtype), carina::to_string(y.shape));
  }
  return std::nullopt;
}

std::span<const ir::ValueId> arguments(const RuleContext& at) {
  return std::span(at.node.inputs).subspan(at.row.op == TosaOp::COND_IF ? 1 : 0);
}

// Attributes that name a graph.
constexpr char kThen[] = "then_graph";
constexpr char kElse[] = "else_graph";
constexpr char kCond[] = "cond_graph";
constexpr char kBody[] = "body_graph";

template <const char* attribute>
Problem takes_inputs(const RuleContext& at) {
  const ir::Graph& graph = *graph_of(at, attribute);
  return lists_differ(at.graph, arguments(at), graph, graph.inputs);
}

template <const char* attribute>
Problem gives_outputs(const RuleContext& at) {
  const ir::Graph& graph = *graph_of(at, attribute);
  return lists_differ(at.graph, at.node.outputs, graph, graph.outputs);
}

Problem condition_size(const RuleContext& at) {
  return at.in_shape(0).elements() == 1 ? std::nullopt : Problem(carina::to_string(at.in_shape(0)));
}

Problem loop_values(const RuleContext& at) {
  return lists_differ(at.graph, at.node.inputs, at.graph, at.node.outputs);
}

Problem loop_condition(const RuleContext& at) {
  const ir::Graph& graph = *graph_of(at, kCond);
  if (graph.outputs.size() != 1) return fmt::format("{} outputs", graph.outputs.size());
  const ir::Value& value = graph[graph.outputs[0]];
  if (value.dtype == DType::kBool && value.shape.elements() == 1) return std::nullopt;
  return fmt::format("{}{}", name_of(value.dtype), carina::to_string(value.shape));
}

constexpr auto kCondIf = std::to_array<Rule>({
    {.id = "COND_IF.1", .must = "the graphs must exist", .broken = graphs_exist},
    {.id = "COND_IF.2", .must = "control flow must keep to the level's MAX_NESTING", .broken = nesting},
    {.id = "COND_IF.3", .must = "then_graph must take the operator's inputs", .broken = takes_inputs<kThen>},
    {.id = "COND_IF.4", .must = "else_graph must take the operator's inputs", .broken = takes_inputs<kElse>},
    {.id = "COND_IF.5", .must = "then_graph must give the operator's outputs", .broken = gives_outputs<kThen>},
    {.id = "COND_IF.6", .must = "else_graph must give the operator's outputs", .broken = gives_outputs<kElse>},
    {.id = "COND_IF.7", .must = "the condition must have one element", .broken = condition_size},
});
constexpr auto kWhileLoop = std::to_array<Rule>({
    {.id = "WHILE_LOOP.1", .must = "the graphs must exist", .broken = graphs_exist},
    {.id = "WHILE_LOOP.2", .must = "control flow must keep to the level's MAX_NESTING", .broken = nesting},
    {.id = "WHILE_LOOP.3", .must = "inputs and outputs must agree", .broken = loop_values},
    {.id = "WHILE_LOOP.4", .must = "cond_graph must take the operator's inputs", .broken = takes_inputs<kCond>},
    {.id = "WHILE_LOOP.5", .must = "body_graph must take the operator's inputs", .broken = takes_inputs<kBody>},
    {.id = "WHILE_LOOP.6", .must = "body_graph must give the operator's outputs", .broken = gives_outputs<kBody>},
    {.id = "WHILE_LOOP.7", .must = "cond_graph must give one bool", .broken = loop_condition},
});
constexpr auto kControlFlowFamily = std::to_array<OpRules>({
    {.op = TosaOp::COND_IF, .rules = kCondIf},
    {.op = TosaOp::WHILE_LOOP, .rules = kWhileLoop},
});

}  // namespace

std::span<const OpRules> control_flow_rules() {
  return kControlFlowFamily;
}

}  // namespace carina::tosa
