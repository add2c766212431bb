#include "frontend/pt2/scope_internal.h"

namespace carina::pt2 {

namespace {

// Calls visit(name) for each tensor that an Argument mentions.
template <typename Visit>
void each_tensor(JsonView argument, Visit visit) {
  const auto [kind, value] = argument.alternative();
  if (kind == "as_tensor") return visit(value["name"].text());
  if (kind == "as_optional_tensor") return each_tensor(value, visit);
  if (kind == "as_tensors") {
    for (size_t i = 0; i < value.size(); ++i) visit(value[i]["name"].text());
  }
  if (kind == "as_optional_tensors") {
    for (size_t i = 0; i < value.size(); ++i) {
      const auto [element_kind, element] = value[i].alternative();
      if (element_kind == "as_tensor") visit(element["name"].text());
    }
  }
}

}  // namespace

std::vector<ir::ValueId> Scope::tensors_of(JsonView argument) const {
  std::vector<ir::ValueId> found;
  each_tensor(argument, [&](std::string_view name) {
    if (const auto id = find(name); id && id->valid()) found.push_back(*id);
  });
  return found;
}

std::optional<int64_t> Scope::symbolic_integer(std::string_view name, Symbols& symbols) const {
  return symbols.integer(graph_["sym_int_values"][name]);
}

std::optional<double> Scope::symbolic_float(std::string_view name) const {
  const auto [kind, value] = graph_["sym_float_values"][name].alternative();
  if (kind == "as_float") return value.number();
  const JsonView hint = value.optional("hint");
  return hint ? std::optional(hint["as_float"].number()) : std::nullopt;
}

std::optional<bool> Scope::symbolic_bool(std::string_view name) const {
  const auto [kind, value] = graph_["sym_bool_values"][name].alternative();
  if (kind == "as_bool") return value.boolean();
  const JsonView hint = value.optional("hint");
  return hint ? std::optional(hint["as_bool"].boolean()) : std::nullopt;
}

void Scope::find_last_uses() {
  const JsonView nodes = graph_["nodes"];
  const JsonView outputs = graph_["outputs"];
  for (size_t n = 0; n < nodes.size(); ++n) {
    const JsonView inputs = nodes[n]["inputs"];
    for (size_t i = 0; i < inputs.size(); ++i) {
      each_tensor(inputs[i]["arg"], [&](std::string_view name) { last_uses_[name] = n; });
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    each_tensor(outputs[i], [&](std::string_view name) { last_uses_[name] = nodes.size(); });
  }
}

bool Scope::used_later(std::string_view name) {
  if (kept_.contains(name)) return true;
  if (last_uses_.empty()) find_last_uses();
  const auto found = last_uses_.find(name);
  return found != last_uses_.end() && found->second > position_;
}

}  // namespace carina::pt2
