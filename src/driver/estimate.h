#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/diagnostic.h"
#include "npu/compiled_network.h"
#include "plan/target.h"
#include "report/run_report.h"
#include "simulate/report.h"

namespace carina::driver {

// Runs a compiled network once on the timed simulator with zeros as inputs: what it costs does not depend on the data.
Result<simulate::Report> time_network(const npu::CompiledNetwork& network, const plan::Target& target);

// The simulator's report as users read it: layers are named by the network's notes where it has them.
report::NpuReport npu_report(const simulate::Report& simulated, const npu::CompiledNetwork& network,
                             const plan::Target& target);

// Cycles by the name of the TOSA node that an operation computes; an operation of several nodes counts for its first.
std::map<std::string, int64_t> cycles_by_node(const simulate::Report& simulated, const npu::CompiledNetwork& network);

}  // namespace carina::driver
