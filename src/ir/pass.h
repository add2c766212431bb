// Declares passes, pipelines of passes, and the pass runner.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dev_checks.h"
#include "carina/log.h"
#include "carina/result.h"
#include "ir/evaluator.h"
#include "ir/graph.h"

namespace carina::ir {

// One rewrite of a graph. The header comment of its file says What / Before -> After / Needs / Gives / Why it is legal.
struct Pass {
  std::string_view name;
  std::string_view needs = {};  // a property of the graph that an earlier pass establishes
  std::string_view gives = {};  // a property that holds after it
  Result<void> (*run)(Graph& graph, const Log& log) = nullptr;
  // Set instead of the other function if the pass evaluates nodes. The pass is skipped without a
  // PassOptions::evaluator.
  Result<void> (*evaluate)(Graph& graph, const Evaluator& evaluator, const Log& log) = nullptr;
};

// Options of the runner, common to all pipelines.
struct PassOptions {
  std::string stop_after = {};              // name of a pass; empty: run all
  std::vector<std::string> disabled = {};   // names of passes to skip
  bool verify_each = dev_checks_enabled();  // verify_structure() after each pass
  const Evaluator* evaluator = nullptr;
  std::function<void(std::string_view pass, const Graph& graph)> after = [](std::string_view, const Graph&) {};
};

// Returns whether an earlier pass gives what each pass needs.
constexpr bool is_in_order(std::span<const Pass> pipeline) {
  for (size_t i = 0; i < pipeline.size(); ++i) {
    bool given = pipeline[i].needs.empty();
    for (size_t before = 0; before < i && !given; ++before) given = pipeline[before].gives == pipeline[i].needs;
    if (!given) return false;
  }
  return true;
}

// Runs the passes in order. Errors: a pass fails; the options name an unknown pass or disable one that a later pass
// needs (usage); the graph does not verify.
Result<void> run_passes(Graph& graph, std::span<const Pass> pipeline, const PassOptions& options, const Log& log);

// Checks the invariants of every graph: ids in range, one producer per value, producers before users, no producer for
// inputs and constants, unique names, constants whose bytes match their type. Returns the first violation.
Result<void> verify_structure(const Graph& graph);

}  // namespace carina::ir
