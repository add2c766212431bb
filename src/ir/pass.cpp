#include "ir/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace carina::ir {

namespace {

Result<void> check_names(std::span<const Pass> pipeline, const PassOptions& options) {
  const auto known = [&](std::string_view name) {
    return std::ranges::find(pipeline, name, &Pass::name) != pipeline.end();
  };
  std::vector<std::string> asked = options.disabled;
  if (!options.stop_after.empty()) asked.push_back(options.stop_after);
  for (const std::string& name : asked) {
    if (known(name)) continue;
    std::string names;
    for (const Pass& pass : pipeline) names += (names.empty() ? "" : ", ") + std::string(pass.name);
    return fail({.where = "passes",
                 .what = "unknown pass",
                 .expected = "one of " + names,
                 .got = name,
                 .fault = Fault::kUsage});
  }
  return {};
}

bool is_disabled(const Pass& pass, const PassOptions& options) {
  return std::ranges::find(options.disabled, pass.name) != options.disabled.end();
}

// Checks that each pass finds the property that it needs.
Result<void> check_needs(std::span<const Pass> pipeline, const PassOptions& options) {
  std::unordered_set<std::string_view> given;
  for (const Pass& pass : pipeline) {
    if (is_disabled(pass, options)) continue;
    if (!pass.needs.empty() && !given.contains(pass.needs)) {
      return fail({.where = "passes",
                   .what = fmt::format("{} needs {}, which a pass gives that is left out", pass.name, pass.needs),
                   .hint = fmt::format("leave {} out too", pass.name),
                   .fault = Fault::kUsage});
    }
    given.insert(pass.gives);
    if (pass.name == options.stop_after) break;
  }
  return {};
}

std::unexpected<Diagnostics> broken(const Graph& graph, std::string what) {
  return fail({.where = "graph " + graph.name, .what = std::move(what), .fault = Fault::kInternal});
}

}  // namespace

Result<void> run_passes(Graph& graph, std::span<const Pass> pipeline, const PassOptions& options, const Log& log) {
  CARINA_CHECKED(check_names(pipeline, options));
  CARINA_CHECKED(check_needs(pipeline, options));
  for (size_t i = 0; i < pipeline.size(); ++i) {
    const Pass& pass = pipeline[i];
    if (is_disabled(pass, options)) continue;
    if (pass.evaluate != nullptr && options.evaluator == nullptr) continue;
    log.progress(pass.name, i, pipeline.size());
    CARINA_CHECKED(pass.evaluate != nullptr ? pass.evaluate(graph, *options.evaluator, log) : pass.run(graph, log));
    if (options.verify_each) CARINA_CHECKED(verify_structure(graph));
    options.after(pass.name, graph);
    if (pass.name == options.stop_after) break;
  }
  return {};
}

Result<void> verify_structure(const Graph& graph) {
  const auto in_range = [&](ValueId id) { return id.index() < graph.values.size(); };
  std::vector<bool> defined(graph.values.size(), false);
  std::unordered_set<std::string_view> names;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const Value& value = graph.values[v];
    if (!names.insert(value.name).second) return broken(graph, fmt::format("two values are called {}", value.name));
    if (!value.constant) continue;
    defined[v] = true;
    if (value.constant->shape != value.shape ||
        value.constant->data.size() < tensor_bytes(value.constant->dtype, value.shape)) {
      return broken(graph, fmt::format("the constant {} does not match its type", value.name));
    }
  }
  for (const ValueId input : graph.inputs) {
    if (!in_range(input)) return broken(graph, "a graph input is out of range");
    defined[input.index()] = true;
  }
  for (const Node& node : graph.nodes) {
    for (const ValueId input : node.inputs) {
      if (!input.valid()) continue;
      if (!in_range(input) || !defined[input.index()])
        return broken(graph, fmt::format("{} reads a value before it is made", node.name));
    }
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      if (!in_range(output) || defined[output.index()])
        return broken(graph, fmt::format("{} makes a value that is already made", node.name));
      defined[output.index()] = true;
    }
  }
  for (const ValueId output : graph.outputs) {
    if (output.valid() && (!in_range(output) || !defined[output.index()]))
      return broken(graph, "a graph output is never made");
  }
  if (graph.states.size() > std::min(graph.inputs.size(), graph.outputs.size()))
    return broken(graph, "a state without an input and an output");
  for (size_t i = 0; i < graph.states.size(); ++i) {
    const ValueId before = graph.state_input(i), after = graph.state_output(i);
    const Tensor& initial = graph.states[i].initial;
    if (!after.valid() || graph[before].dtype != graph[after].dtype || graph[before].shape != graph[after].shape ||
        initial.dtype != graph[before].dtype || initial.shape != graph[before].shape)
      return broken(graph, fmt::format("the state {} changes its type or shape", graph.states[i].name));
  }
  return {};
}

}  // namespace carina::ir
