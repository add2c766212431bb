#include "driver/delegation.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "base/memory/mapped_pages.h"
#include "driver/split_cache.h"

namespace carina::driver {

namespace {

constexpr std::string_view kGeneralHint = "use another type, size or operator: docs/SUPPORTED_OPS.md";

// Nodes of the normalized graph that lowering or the backend rejects.
using Rejections = std::vector<ir::Rejection>;

std::string reason_of(Diagnostic error) {
  error.where.clear();
  error.hint.clear();
  return to_string(error);
}

// Adds the nodes of errors about the normalized graph. Returns false if an error is about something else or all nodes
// are known; then another attempt would change nothing.
bool add_rejections(const Diagnostics& errors, std::string_view rule, Rejections& rejected) {
  const size_t before = rejected.size();
  for (const Diagnostic& error : errors) {
    if (!error.node || error.fault != Fault::kInput) return false;
    const ir::NodeId node(*error.node);
    if (std::ranges::find(rejected, node, &ir::Rejection::node) != rejected.end()) continue;
    rejected.push_back({.node = node,
                        .rule = std::string(rule),
                        .reason = reason_of(error),
                        .hint = error.hint.empty() ? std::string(kGeneralHint) : error.hint});
  }
  return rejected.size() > before;
}

// The states that the program passes to a delegate and takes from it without a conversion.
std::vector<check::StateTie> ties_of(const ir::Graph& program, size_t delegate) {
  const auto is_call = [&](const ir::Node& node) {
    return node.op == ir::Op(AtenOp::executorch_call_delegate_default) &&
           node.attributes.integer("delegate") == static_cast<int64_t>(delegate);
  };
  std::vector<check::StateTie> ties;
  const auto call = std::ranges::find_if(program.nodes, is_call);
  if (call == program.nodes.end()) return ties;
  for (size_t i = 0; i < program.states.size(); ++i) {
    const auto input = std::ranges::find(call->inputs, program.state_input(i));
    const auto output = std::ranges::find(call->outputs, program.state_output(i));
    if (input == call->inputs.end() || output == call->outputs.end()) continue;
    ties.push_back({.input = static_cast<size_t>(input - call->inputs.begin()),
                    .output = static_cast<size_t>(output - call->outputs.begin()),
                    .initial = program.states[i].initial});
  }
  return ties;
}

// Compiles all delegates. Errors: those of the backend for all delegates, each with the node from which the TOSA node
// was made.
Result<std::vector<backends::Delegate>> compile_all(const Split& split, const backends::Backend& backend,
                                                    backends::DelegateOptions options, const Log& log) {
  const std::vector<ir::Graph>& graphs = split.tosa;
  std::vector<backends::Delegate> delegates;
  Diagnostics errors;
  for (size_t i = 0; i < graphs.size(); ++i) {
    log.progress("compile for the NPU", i, graphs.size());
    options.ties = ties_of(split.partitioned.program, i);
    auto delegate = backend.compile(graphs[i], options, log);
    if (delegate)
      delegates.push_back(*std::move(delegate));
    else
      std::ranges::move(about_origins(std::move(delegate).error(), graphs[i]), std::back_inserter(errors));
  }
  if (!errors.empty()) return fail(std::move(errors));
  return delegates;
}

// Frees the constants. Later stages use only the origins of the operators, unless files show the constants.
void drop_constants(Split& split, const backends::DelegateOptions& options) {
  if (options.artifacts == backends::Artifacts::kKeep) return;
  for (ir::Graph& graph : split.tosa) {
    for (ir::Value& value : graph.values) {
      if (value.constant) value.constant->data = {};
    }
  }
}

}  // namespace

void drop_weights(const ir::Graph& normalized) {
  for (const ir::Value& value : normalized.values) {
    if (value.constant) release_pages_around(value.constant->data.bytes());
  }
}

Result<Delegated> compile_delegates(Split split, const backends::Backend& backend,
                                    const backends::DelegateOptions& options, const Log& log) {
  CARINA_TRY(std::vector<backends::Delegate> delegates, compile_all(split, backend, options, log));
  drop_constants(split, options);
  return Delegated{.split = std::move(split), .delegates = std::move(delegates)};
}

Result<Delegated> delegate_graph(const ir::Graph& normalized, const backends::Backend& backend,
                                 const SplitOptions& choices, const backends::DelegateOptions& options,
                                 const Log& log) {
  Rejections rejected;
  for (;;) {
    auto split = choices.cache != nullptr && rejected.empty()
                     ? choices.cache->split(normalized, backend, choices, log)
                     : split_graph(normalized, backend, choices, rejected, log);
    if (!split) {
      if (!add_rejections(split.error(), "lower", rejected)) return std::unexpected(std::move(split).error());
      continue;
    }
    drop_weights(normalized);
    auto delegates = compile_all(*split, backend, options, log);
    if (delegates) {
      drop_constants(*split, options);
      return Delegated{.split = *std::move(split), .delegates = *std::move(delegates)};
    }
    if (!add_rejections(delegates.error(), "npu", rejected)) return std::unexpected(std::move(delegates).error());
  }
}

}  // namespace carina::driver
