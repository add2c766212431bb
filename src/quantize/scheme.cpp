#include "quantize/scheme.h"

#include <fmt/format.h>

#include <algorithm>

namespace carina::quantize {

namespace {

std::string name_of(const Override& override) {
  switch (override.of) {
    case Override::Of::kNode:
      return "the node " + override.name;
    case Override::Of::kOperator:
      return override.name;
    case Override::Of::kInputs:
      return "the inputs";
  }
  CARINA_UNREACHABLE("override", override.of);
}

bool applies(const Override& override, const ir::Node& node) {
  return (override.of == Override::Of::kNode && override.name == node.name) ||
         (override.of == Override::Of::kOperator && override.name == node.op.name());
}

// What the lowering has for now.
void check_types(const NodeScheme& scheme, const std::string& of, Diagnostics& errors) {
  const auto want = [&](DType type, DType known, const char* what) {
    if (type == known) return;
    errors.push_back({.where = "quantization scheme",
                      .what = fmt::format("{} of {} cannot be quantized to this type yet", what, of),
                      .expected = std::string(carina::name_of(known)),
                      .got = std::string(carina::name_of(type))});
  };
  want(scheme.activations.dtype, DType::kInt8, "activations");
  want(scheme.weights.dtype, DType::kInt8, "weights");
  want(scheme.bias.dtype, DType::kInt32, "the bias");
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

void check_place(const ir::Graph& graph, const Override& override, Diagnostics& errors) {
  if (override.of == Override::Of::kInputs) {
    if (!override.scheme)
      errors.push_back({.where = "quantization scheme",
                        .what = "the inputs cannot be left float: programs take floats and quantize them where needed",
                        .fault = Fault::kUsage});
    return;
  }
  if (std::ranges::any_of(graph.nodes, [&](const ir::Node& node) { return applies(override, node); })) return;
  errors.push_back(
      {.where = "quantization scheme", .what = "the model does not have " + name_of(override), .fault = Fault::kUsage});
}

}  // namespace

Result<SchemeOf> SchemeOf::create(const ir::Graph& graph, const Scheme& scheme) {
  Diagnostics errors;
  check(scheme.general, "the model", errors);
  SchemeOf result;
  result.general_ = result.inputs_ = scheme.general;
  result.nodes_.assign(graph.nodes.size(), scheme.general);
  for (const Override& override : scheme.overrides) {
    check_place(graph, override, errors);
    if (override.scheme) check(*override.scheme, name_of(override), errors);
    if (override.of == Override::Of::kInputs && override.scheme) result.inputs_ = *override.scheme;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (applies(override, graph.nodes[n])) result.nodes_[n] = override.scheme;
    }
  }
  if (!errors.empty()) return fail(std::move(errors));
  return result;
}

}  // namespace carina::quantize
