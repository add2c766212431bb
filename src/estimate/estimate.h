#pragma once

#include <cstdint>
#include <vector>

#include "carina/result.h"
#include "ir/graph.h"
#include "npu/compiled_network.h"
#include "plan/network/target.h"
#include "results/run_report.h"
#include "simulate/interface/report.h"
#include "simulate/simulator.h"

namespace carina::estimate {

// Runs a compiled network once on the timed simulator. The inputs are zeros, since the cycles do not depend on the
// data.
Result<simulate::Report> time_network(const npu::CompiledNetwork& network, const plan::Target& target,
                                      simulate::Occupied occupied = simulate::Occupied::kOff);

// Converts the simulator's report to the report for users. Layers have the names of the network's notes. If `tosa` is
// given, it is the graph from which the network was compiled, and the layers also have its operators. `occupied` is the
// value with which the run was made. `other_weight_bytes` counts weights that `network` does not hold.
results::NpuReport npu_report(const simulate::Report& simulated, const npu::CompiledNetwork& network,
                              const plan::Target& target, simulate::Occupied occupied = simulate::Occupied::kOff,
                              const ir::Graph* tosa = nullptr, size_t other_weight_bytes = 0);

// Returns the cycles of a run in which the NPU waits for the memories of the second port: transfers, and operations
// that are limited by reads of weights or feature maps there.
int64_t memory_cycles(const simulate::Report& simulated);

// Returns the cycles of each TOSA node, by its index. An operation of several nodes counts for the first one. The last
// element counts the cycles of no node. The result has `nodes` + 1 elements, and their sum is the total of the network.
std::vector<int64_t> cycles_by_node(const simulate::Report& simulated, const npu::CompiledNetwork& network,
                                    size_t nodes);

}  // namespace carina::estimate
