#include "driver/delegation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace carina::driver {

namespace {

// Nodes that the backend would not take, with its reasons.
using Refusals = std::map<std::string, std::string>;

// The nodes of the user's graph that errors are about: their place is "name" or "name (source)". Nothing when an error
// is about something else.
std::optional<Refusals> refusals_of(const Diagnostics& errors, const ir::Graph& graph) {
  Refusals refused;
  for (const Diagnostic& error : errors) {
    const std::string name = error.where.substr(0, error.where.find(" ("));
    if (error.fault != Fault::kInput || std::ranges::find(graph.nodes, name, &ir::Node::name) == graph.nodes.end())
      return std::nullopt;
    refused.emplace(name, error.what);
  }
  return refused;
}

Result<std::vector<Delegate>> compile_all(const std::vector<ir::Graph>& graphs, const Backend& backend,
                                          const DelegateOptions& options, const Log& log) {
  std::vector<Delegate> delegates;
  for (size_t i = 0; i < graphs.size(); ++i) {
    log.progress("compile for the NPU", i, graphs.size());
    CARINA_TRY(Delegate delegate, backend.compile(graphs[i], options, log));
    delegates.push_back(std::move(delegate));
  }
  return delegates;
}

}  // namespace

Result<Delegated> compile_delegates(Split split, const Backend& backend, const DelegateOptions& options,
                                    const Log& log) {
  CARINA_TRY(std::vector<Delegate> delegates, compile_all(split.tosa, backend, options, log));
  return Delegated{.split = std::move(split), .delegates = std::move(delegates)};
}

Result<Delegated> delegate_graph(const ir::Graph& prepared, const Backend& backend, const SplitOptions& choices,
                                 const DelegateOptions& options, const Log& log) {
  Refusals refused;
  for (;;) {
    CARINA_TRY(Split split, split_graph(prepared, backend, choices, refused, log));
    auto delegates = compile_all(split.tosa, backend, options, log);
    if (delegates) return Delegated{.split = std::move(split), .delegates = *std::move(delegates)};
    auto more = refusals_of(delegates.error(), prepared);
    const size_t before = refused.size();
    if (more) refused.merge(*more);
    if (refused.size() == before) return std::unexpected(std::move(delegates).error());
  }
}

}  // namespace carina::driver
