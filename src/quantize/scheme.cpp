#include "quantize/scheme.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>

#include "base/text/nearest.h"
#include "ir/operator_name.h"

namespace carina::quantize {

namespace {

std::string name_of(const Override& override) {
  switch (override.of) {
    case Override::Of::kNode:
      return "the node " + override.name;
    case Override::Of::kOperator:
      return "the operator " + override.name;
    case Override::Of::kModule:
      return "the module " + override.name;
    case Override::Of::kModuleType:
      return "a module of the type " + override.name;
    case Override::Of::kInputs:
      return "the inputs";
    case Override::Of::kOutputs:
      return "the outputs";
    case Override::Of::kState:
      return "the state " + override.name;
  }
  CARINA_UNREACHABLE("override", override.of);
}

// Whether it sets the scheme of values, not of nodes.
bool is_of_edges(const Override& override) {
  return override.of == Override::Of::kInputs || override.of == Override::Of::kOutputs ||
         override.of == Override::Of::kState;
}

bool names_node(const Override& override, const UserNode& node) {
  switch (override.of) {
    case Override::Of::kNode:
      return override.name == node.name;
    case Override::Of::kOperator:
      return ir::is_called(node.op, override.name);
    case Override::Of::kModule:
      return std::ranges::any_of(node.modules,
                                 [&](const ir::UserModule& module) { return is_inside(module, override.name); });
    case Override::Of::kModuleType:
      return std::ranges::any_of(node.modules,
                                 [&](const ir::UserModule& module) { return is_of_type(module, override.name); });
    case Override::Of::kInputs:
    case Override::Of::kOutputs:
    case Override::Of::kState:
      return false;
  }
  CARINA_UNREACHABLE("override", override.of);
}

// What an override of this kind may name in a node.
std::vector<std::string> names_in(const UserNode& node, Override::Of of) {
  if (of == Override::Of::kNode) return {node.name};
  if (of == Override::Of::kOperator) return {std::string(ir::short_name(node.op))};
  std::vector<std::string> names;
  for (const ir::UserModule& module : node.modules)
    names.push_back(of == Override::Of::kModule ? module.path : module.type);
  return names;
}

// "did you mean conv1d?", and how to find all names.
std::string hint_for(const Override& override, const ir::Graph& graph, std::span<const UserNode> user_nodes) {
  std::set<std::string> names;
  if (override.of == Override::Of::kState) {
    for (const ir::State& state : graph.states) names.insert(state.name);
    if (names.empty()) return "the model keeps no state";
    return with_nearest(override.name, {names.begin(), names.end()}, "`carina explain` says which state it keeps");
  }
  for (const UserNode& node : user_nodes)
    std::ranges::move(names_in(node, override.of), std::inserter(names, names.end()));
  for (const ir::Node& node : graph.nodes)
    std::ranges::move(names_in({.name = node.name, .op = std::string(node.op.name()), .modules = {}}, override.of),
                      std::inserter(names, names.end()));
  return with_nearest(override.name, {names.begin(), names.end()},
                      "`carina explain` lists the nodes; what is folded away there is so before quantization");
}

bool applies(const Override& override, const ir::Node& node, std::span<const UserNode> user_nodes) {
  if (names_node(override, {.name = node.name, .op = std::string(node.op.name()), .modules = {}})) return true;
  return node.origin.valid() && node.origin.index() < user_nodes.size() &&
         names_node(override, user_nodes[node.origin.index()]);
}

// Operators whose image coordinates do not fit 8 bits. They stay float unless an override quantizes them.
constexpr std::array<std::string_view, 2> kSamplesCoordinates = {"aten.grid_sampler.default",
                                                                 "aten.grid_sampler_2d.default"};

bool samples_coordinates(const ir::Node& node, std::span<const UserNode> user_nodes) {
  return std::ranges::any_of(kSamplesCoordinates, [&](std::string_view op) {
    return applies({.of = Override::Of::kOperator, .name = std::string(op), .scheme = {}}, node, user_nodes);
  });
}

// Checks that a lowering supports the types.
void check_types(const NodeScheme& scheme, const std::string& of, Diagnostics& errors) {
  const auto want = [&](bool known, DType got, const char* expected, const char* what) {
    if (known) return;
    errors.push_back({.where = "quantization scheme",
                      .what = fmt::format("{} of {} cannot be quantized to this type", what, of),
                      .expected = expected,
                      .got = std::string(carina::name_of(got))});
  };
  const DType activations = scheme.activations.dtype, weights = scheme.weights.dtype;
  want(activations == DType::kInt8 || activations == DType::kInt16, activations, "i8 or i16", "activations");
  want(weights == DType::kInt8 || weights == DType::kInt4 || weights == DType::kInt16, weights, "i4, i8 or i16",
       "weights");
  if (weights == DType::kInt16 && (scheme.weights.clusters > 0 || scheme.weights.rounding == Rounding::kForInputs))
    errors.push_back({.where = "quantization scheme",
                      .what = "the 16-bit weights of " + of + " are clustered, or rounded for their inputs",
                      .expected = "weights of 8 or 4 bits: a second layer adds what those lose",
                      .got = {}});
  if (activations != DType::kInt16 || scheme.activations.symmetry == Symmetry::kSymmetric) return;
  errors.push_back({.where = "quantization scheme",
                    .what = "int16 activations of " + of + " have zero points",
                    .expected = "a symmetric scheme: TOSA has int16 without zero points",
                    .got = {}});
}

void check_range(int64_t qmin, int64_t qmax, DType type, const std::string& of, Diagnostics& errors) {
  const IntegerRange whole = range_of(type);
  if (qmin >= whole.min && qmin < 0 && qmax > 0 && qmax <= whole.max) return;
  errors.push_back({.where = "quantization scheme",
                    .what = "the integers of " + of + " do not fit their type, or lack 0",
                    .expected = fmt::format("a part of {} to {} around 0", whole.min, whole.max),
                    .got = fmt::format("{} to {}", qmin, qmax)});
}

void check(const NodeScheme& scheme, const std::string& of, Diagnostics& errors) {
  const size_t before = errors.size();
  check_types(scheme, of, errors);
  if (errors.size() > before) return;
  check_range(scheme.activations.qmin, scheme.activations.qmax, scheme.activations.dtype, of, errors);
  check_range(scheme.weights.qmin, scheme.weights.qmax, scheme.weights.dtype, of, errors);
}

void check_edges(const Override& override, Diagnostics& errors) {
  if (override.scheme) return;
  errors.push_back({.where = "quantization scheme",
                    .what = name_of(override) + " cannot be left float: programs take and give floats already",
                    .fault = Fault::kUsage});
}

}  // namespace

std::map<size_t, std::string> left_float_by(const Scheme& scheme, const ir::Graph& graph,
                                            std::span<const UserNode> user_nodes) {
  std::map<size_t, std::string> reasons;
  for (const ir::Node& node : graph.nodes) {
    if (!node.origin.valid() || node.origin.index() >= user_nodes.size()) continue;
    const size_t origin = node.origin.index();
    if (samples_coordinates(node, user_nodes)) {
      reasons[origin] = fmt::format(
          "it stays float, because 8 bits do not resolve its coordinates; --quantize-at node:{}=int16x8 quantizes it",
          user_nodes[origin].name);
    }
    for (const Override& override : scheme.overrides) {
      if (is_of_edges(override) || !applies(override, node, user_nodes)) continue;
      reasons.erase(origin);
      if (!override.scheme) reasons[origin] = fmt::format("--quantize-at {}=float keeps it float", spec_of(override));
    }
  }
  return reasons;
}

Result<SchemeOf> SchemeOf::create(const ir::Graph& graph, const Scheme& scheme, std::span<const UserNode> user_nodes) {
  Diagnostics errors;
  check(scheme.general, "the model", errors);
  SchemeOf result;
  result.general_ = result.inputs_ = result.outputs_ = {.scheme = scheme.general, .rank = 0};
  result.nodes_.assign(graph.nodes.size(), result.general_);
  result.states_.assign(graph.states.size(), result.general_);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (samples_coordinates(graph.nodes[n], user_nodes)) result.leave_float(n);
  }
  for (size_t i = 0; i < scheme.overrides.size(); ++i) {
    const Override& override = scheme.overrides[i];
    const Ranked ranked{.scheme = override.scheme, .rank = i + 1};
    if (override.scheme) check(*override.scheme, name_of(override), errors);
    if (is_of_edges(override)) {
      check_edges(override, errors);
      if (override.of == Override::Of::kState) {
        const auto state = std::ranges::find(graph.states, override.name, &ir::State::name);
        if (state == graph.states.end()) {
          errors.push_back({.where = "quantization scheme",
                            .what = "the model does not have " + name_of(override),
                            .hint = hint_for(override, graph, user_nodes),
                            .fault = Fault::kUsage});
        } else {
          result.states_[static_cast<size_t>(state - graph.states.begin())] = ranked;
        }
        continue;
      }
      (override.of == Override::Of::kInputs ? result.inputs_ : result.outputs_) = ranked;
      continue;
    }
    bool is_found = false;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (!applies(override, graph.nodes[n], user_nodes)) continue;
      result.nodes_[n] = ranked;
      is_found = true;
    }
    if (!is_found)
      errors.push_back({.where = "quantization scheme",
                        .what = "the model does not have " + name_of(override),
                        .hint = hint_for(override, graph, user_nodes),
                        .fault = Fault::kUsage});
  }
  if (!errors.empty()) return fail(std::move(errors));
  return result;
}

}  // namespace carina::quantize
