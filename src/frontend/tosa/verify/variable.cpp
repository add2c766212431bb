#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/tosa/verify/rule.h"

namespace carina::tosa {

namespace {

// Rules of section 2.17. A variable belongs to the whole module; a VARIABLE node declares it.
const Declaration* declaration(const RuleContext& at) {
  const auto found = at.index.variables.find(at.node.attributes.get<std::string>("name"));
  return found == at.index.variables.end() ? nullptr : &found->second;
}

bool is_alike(const Declaration& a, const Declaration& b) {
  if (a.node->attributes != b.node->attributes || a.node->inputs.size() != b.node->inputs.size()) return false;
  if (a.node->inputs.empty()) return true;
  const auto &first = (*a.graph)[a.node->inputs.front()].constant,
             &second = (*b.graph)[b.node->inputs.front()].constant;
  return first && second && identical(*first, *second);
}

// The serializer of the official tools declares a variable in each graph of control flow that uses it.
Problem declared_twice(const RuleContext& at) {
  const Declaration& first = *declaration(at);
  if (first.node == &at.node) return std::nullopt;
  if (first.graph != &at.graph && is_alike(first, {.graph = &at.graph, .node = &at.node})) return std::nullopt;
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
  const ir::Node& variable = *declaration(at)->node;
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
