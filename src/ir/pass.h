#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dev_checks.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "ir/evaluator.h"
#include "ir/graph.h"

namespace carina::ir {

// One rewriting of a graph; its file's header comment says What / Before -> After / Needs / Gives / Why it is legal.
struct Pass {
  std::string_view name;
  std::string_view needs = {};  // a property of the graph that an earlier pass of the pipeline gives
  std::string_view gives = {};  // a property that holds behind it
  Result<void> (*run)(Graph& graph, const Log& log) = nullptr;
  // Set instead where the pass computes; it is left out when nobody is there who can (PassOptions::evaluator).
  Result<void> (*evaluate)(Graph& graph, const Evaluator& evaluator, const Log& log) = nullptr;
};

// What the runner does besides running; the same for every pipeline.
struct PassOptions {
  std::string stop_after = {};             // name of a pass; empty: run all
  std::vector<std::string> disabled = {};  // names of passes to leave out
  bool verify_each = dev_checks_enabled();  // verify_structure() after each pass
  const Evaluator* evaluator = nullptr;
  std::function<void(std::string_view pass, const Graph& graph)> after = [](std::string_view, const Graph&) {};
};

// Whether each pass's needs are given before it.
constexpr bool is_in_order(std::span<const Pass> pipeline) {
  for (size_t i = 0; i < pipeline.size(); ++i) {
    bool given = pipeline[i].needs.empty();
    for (size_t before = 0; before < i && !given; ++before) given = pipeline[before].gives == pipeline[i].needs;
    if (!given) return false;
  }
  return true;
}

// Runs the passes in order. Errors: a pass fails; the options name an unknown pass, or leave out what a later one needs
// (usage); a graph that does not verify.
Result<void> run_passes(Graph& graph, std::span<const Pass> pipeline, const PassOptions& options, const Log& log);

// What holds for every graph of every stage: ids in range, one producer per value, producers before users, no producer
// for inputs and constants, unique names, constants whose bytes match their type. Returns the first violation.
Result<void> verify_structure(const Graph& graph);

}  // namespace carina::ir
