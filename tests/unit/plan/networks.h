#pragma once

#include <functional>
#include <string>
#include <vector>

#include "build_graph.h"
#include "plan/compile.h"
#include "plan/schedule/schedule.h"

// Small networks that together use every part of a schedule, and the schedules that the planner makes of them.
namespace carina::plan {

struct NamedNetwork {
  std::string name;
  std::string npu = "ethos-u55-128";
  std::function<ir::Graph()> build;
};
std::vector<NamedNetwork> small_networks();

// Four convolutions, one after the other.
ir::Graph four_convolutions();

// A ring of 49 rows that a new row enters, and a layer that reads it: two results.
ir::Graph ring_of_rows();

// The schedule after a transformation. "finished" names the last one.
Schedule schedule_of(const ir::Graph& graph, const Target& target, const Options& options = {},
                     const std::string& after = "finished");

}  // namespace carina::plan
