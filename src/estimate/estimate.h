#pragma once

#include <cstdint>
#include <vector>

#include "carina/result.h"
#include "ir/graph.h"
#include "npu/compiled_network.h"
#include "plan/network/target.h"
#include "results/run_report.h"
#include "simulate/report.h"
#include "simulate/simulator.h"

namespace carina::estimate {

// Runs a compiled network once on the timed simulator with zeros as inputs: what it costs does not depend on the data.
Result<simulate::Report> time_network(const npu::CompiledNetwork& network, const plan::Target& target,
                                      simulate::Occupied occupied = simulate::Occupied::kOff);

// The simulator's report as users read it: layers are named by the network's notes where it has them, and by the
// operators of the graph that it was made from where that is given. `occupied`: as the run was asked for.
// `other_weight_bytes`: of weights that `network` does not hold.
results::NpuReport npu_report(const simulate::Report& simulated, const npu::CompiledNetwork& network,
                              const plan::Target& target, simulate::Occupied occupied = simulate::Occupied::kOff,
                              const ir::Graph* tosa = nullptr, size_t other_weight_bytes = 0);

// The part of a run's cycles that waits for memories behind the second port: transfers, and weights or feature maps that
// are read there.
int64_t memory_cycles(const simulate::Report& simulated);

// Cycles of the TOSA nodes, by their index; an operation of several nodes counts for its first. The last element is
// what belongs to no node: `nodes` + 1 in all, and their sum is the network's total.
std::vector<int64_t> cycles_by_node(const simulate::Report& simulated, const npu::CompiledNetwork& network,
                                    size_t nodes);

}  // namespace carina::estimate
