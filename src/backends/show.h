// Declares the sections of a compile report that Vela's --verbose-... options name.
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

// A section that shows how a delegate was compiled. Vela's --verbose-... options name the same sections.
enum class Show : uint8_t {
  kConfig,       // the values of the system configuration and the memory mode
  kGraph,        // the TOSA graph, with types, zero points and scales
  kSchedule,     // every decision of the schedule: formats, blocks, order
  kAllocation,   // addresses and live ranges of tensors and copied weights
  kOperations,   // the operations of the NPU, with their cycles
  kCommands,     // the command stream
  kWeights,      // bytes of weights, original and encoded
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
  const results::NpuReport* timing;  // nullptr: no estimate
};
std::string show(Show what, const Shown& of);

}  // namespace carina::backends
