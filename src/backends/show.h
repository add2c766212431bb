#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "npu/compiled_network.h"
#include "plan/network/target.h"
#include "plan/schedule/schedule.h"
#include "results/run_report.h"

namespace carina::backends {

// What can be shown of how a delegate was compiled: what Vela's --verbose-... options name.
enum class Show : uint8_t {
  kConfig,       // the values of the system configuration and the memory mode
  kGraph,        // the TOSA graph, with types, zero points and scales
  kSchedule,     // every decision of the schedule: formats, blocks, order
  kAllocation,   // where tensors and copied weights stand, and from when to when
  kOperations,   // the operations of the NPU, with their cycles
  kCommands,     // the command stream
  kWeights,      // bytes of weights, as they were and encoded
  kPerformance,  // the layers, with their cycles
};
inline constexpr std::array<std::string_view, 8> kShowNames{"config",     "graph",    "schedule", "allocation",
                                                            "operations", "commands", "weights",  "performance"};
constexpr std::string_view name_of(Show what) {
  return kShowNames[static_cast<size_t>(what)];
}

struct Shown {
  const ir::Graph& tosa;
  const plan::Target& target;
  const plan::Schedule& schedule;  // the finished one
  const npu::CompiledNetwork& network;
  const results::NpuReport* timing;  // nullptr: could not be estimated
};
std::string show(Show what, const Shown& of);

}  // namespace carina::backends
