#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/tosa/verify/rule.h"

namespace carina::tosa {

namespace {

// Rules of section 2.17. A variable belongs to the whole module; a VARIABLE node declares it.
const ir::Node* declaration(const RuleContext& at) {
  const auto found = at.index.variables.find(at.node.attributes.get<std::string>("name"));
  return found == at.index.variables.end() ? nullptr : found->second;
}

const ir::Graph& graph_of(const RuleContext& at, const ir::Node& node) {
  const auto has_node = [&](const auto& entry) {
    return !entry.second->nodes.empty() && &node >= &entry.second->nodes.front() &&
           &node <= &entry.second->nodes.back();
  };
  return *std::ranges::find_if(at.index.graphs, has_node)->second;
}

bool is_alike(const ir::Graph& one, const ir::Node& a, const ir::Graph& other, const ir::Node& b) {
  if (a.attributes != b.attributes || a.inputs.size() != b.inputs.size()) return false;
  if (a.inputs.empty()) return true;
  const auto &first = one[a.inputs.front()].constant, &second = other[b.inputs.front()].constant;
  return first && second && identical(*first, *second);
}

// The serializer of the official tools declares a variable in each graph of control flow that uses it.
Problem declared_twice(const RuleContext& at) {
  const ir::Node& first = *declaration(at);
  if (&first == &at.node) return std::nullopt;
  const ir::Graph& other = graph_of(at, first);
  if (&other != &at.graph && is_alike(other, first, at.graph, at.node)) return std::nullopt;
  return at.node.attributes.get<std::string>("name");
}

Problem initial_value(const RuleContext& at) {
  if (at.node.inputs.empty()) return std::nullopt;
  if (at.node.inputs.size() > 1) return fmt::format("{} values", at.node.inputs.size());
  const ir::Value& value = at.input(0);
  const bool same = value.dtype == at.node.attributes.get<DType>("type") &&
                    std::ranges::equal(value.shape.dims(), at.ints("var_shape"));
  return same && value.constant ? std::nullopt
                                : Problem(fmt::format("{}{}", name_of(value.dtype), carina::to_string(value.shape)));
}

Problem declared(const RuleContext& at) {
  return declaration(at) != nullptr ? std::nullopt : Problem(at.node.attributes.get<std::string>("name"));
}

Problem same_type(const RuleContext& at) {
  const ir::Node& variable = *declaration(at);
  const ir::Value& value = at.row.op == TosaOp::VARIABLE_READ ? at.output(0) : at.input(0);
  const auto& shape = variable.attributes.integers("var_shape");
  const auto dtype = variable.attributes.get<DType>("type");
  if (value.dtype == dtype && std::ranges::equal(value.shape.dims(), shape)) return std::nullopt;
  return fmt::format("{}{}, the variable is {}{}", name_of(value.dtype), carina::to_string(value.shape), name_of(dtype),
                     to_string(shape));
}

constexpr auto kDeclare = std::to_array<Rule>({
    {.id = "VARIABLE.1",
     .must = "a variable must be declared once, or alike in several graphs",
     .broken = declared_twice},
    {.id = "VARIABLE.2",
     .must = "the initial value must be one constant of the variable's type and shape",
     .broken = initial_value},
});
constexpr auto kAccess = std::to_array<Rule>({
    {.id = "VARIABLE.3", .must = "the variable must be declared", .broken = declared},
    {.id = "VARIABLE.4", .must = "the value must have the variable's type and shape", .broken = same_type},
});
constexpr auto kVariableFamily = std::to_array<OpRules>({
    {.op = TosaOp::VARIABLE, .rules = kDeclare},
    {.op = TosaOp::VARIABLE_WRITE, .rules = kAccess},
    {.op = TosaOp::VARIABLE_READ, .rules = kAccess},
});

}  // namespace

std::span<const OpRules> variable_rules() {
  return kVariableFamily;
}

}  // namespace carina::tosa
