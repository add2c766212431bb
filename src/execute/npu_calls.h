// Declares the conversion of the simulator's reports of a program's delegate calls.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/delegate_target.h"
#include "npu/compiled_network.h"
#include "pte/program.h"
#include "results/run_report.h"
#include "simulate/simulator.h"

namespace carina::execute {

// The delegate calls of a method, for reports with the names of layers.
class NpuCalls {
 public:
  NpuCalls() = default;
  NpuCalls(const pte::Program& program, std::string_view method, const plan::Target& target);
  // Calls of `count` streams whose layers have no names.
  NpuCalls(size_t count, plan::Target target) : calls_(count), target_(std::move(target)) {}

  [[nodiscard]] size_t size() const { return calls_.size(); }
  // Converts the report of call number `call` of an inference. The simulator counted with Occupied::kOn.
  [[nodiscard]] results::NpuReport report(const simulate::Report& simulated, size_t call) const;
  // Returns the sums and the layers of all calls of an inference.
  [[nodiscard]] results::NpuReport joined(std::vector<results::NpuReport> calls) const;

 private:
  std::vector<npu::CompiledNetwork> calls_;  // the layer notes of each call
  plan::Target target_;
};

}  // namespace carina::execute
