// VARIABLE, VARIABLE_READ, VARIABLE_WRITE and CUSTOM. CONST and CONST_SHAPE are constants of values and never nodes.

#include <cstring>

#include "interpret/checks_internal.h"

namespace carina::interpret {

namespace {

const std::string& variable_name(const NodePlan& plan) {
  return plan.node.attributes.get<std::string>("name");
}

}  // namespace

// Declares a variable. The optional operand is its initial value, a constant. Attributes: name, var_shape, type.
Result<Kernel> prepare_VARIABLE(const NodePlan& plan) {
  Checks checks(plan);
  checks.require(plan.in.size() <= 1 && plan.out.empty(), "VARIABLE has at most a first value");
  CARINA_CHECKED(checks.done());
  if (plan.in.empty()) {
    const Shape shape(plan.node.attributes.integers("var_shape"));
    const Operand like{.name = variable_name(plan),
                       .dtype = plan.node.attributes.get<DType>("type"),
                       .shape = &shape,
                       .constant = nullptr};
    CARINA_CHECKED(plan.linker.variable(variable_name(plan), like, plan.where));
    return Kernel{.run = [](const Call&) -> Result<void> { return {}; }};
  }
  CARINA_CHECKED(
      checks.require(plan.in[0].constant != nullptr, "the first value of a variable must be a constant").done());
  CARINA_TRY(Variable * variable, plan.linker.variable(variable_name(plan), plan.in[0], plan.where));
  const std::span<const std::byte> data = plan.in[0].constant->data.bytes();
  variable->initial.assign(data.begin(), data.end());
  variable->bytes = variable->initial;
  variable->written = true;
  return Kernel{.run = [](const Call&) -> Result<void> { return {}; }};
}

Result<Kernel> prepare_VARIABLE_READ(const NodePlan& plan) {
  CARINA_CHECKED(Checks(plan).operands(0, 1).done());
  CARINA_TRY(Variable * variable, plan.linker.variable(variable_name(plan), plan.out[0], plan.where));
  return Kernel{.run = [variable](const Call& call) -> Result<void> {
    if (!variable->written)
      return fail({.where = std::string(call.where), .what = "the variable is read before it has a value"});
    if (!variable->bytes.empty()) std::memcpy(call.out[0], variable->bytes.data(), variable->bytes.size());
    return {};
  }};
}

Result<Kernel> prepare_VARIABLE_WRITE(const NodePlan& plan) {
  CARINA_CHECKED(Checks(plan).operands(1, 0).done());
  CARINA_TRY(Variable * variable, plan.linker.variable(variable_name(plan), plan.in[0], plan.where));
  return Kernel{.run = [variable](const Call& call) -> Result<void> {
    if (!variable->bytes.empty()) std::memcpy(variable->bytes.data(), call.in[0], variable->bytes.size());
    variable->written = true;
    return {};
  }};
}

Result<Kernel> prepare_CONST(const NodePlan& plan) {
  return fail(plan.diagnostic("CONST must be a constant of a value, not a node"));
}
Result<Kernel> prepare_CONST_SHAPE(const NodePlan& plan) {
  return fail(plan.diagnostic("CONST_SHAPE must be a constant of a value, not a node"));
}

Result<Kernel> prepare_CUSTOM(const NodePlan& plan) {
  return fail(plan.diagnostic("custom operators cannot be interpreted", {},
                              plan.node.attributes.get<std::string>("operator_name")));
}

}  // namespace carina::interpret
