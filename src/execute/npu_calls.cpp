#include "execute/npu_calls.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "backends/ethosu_specs.h"
#include "estimate/estimate.h"

namespace carina::execute {

namespace {

using Counts = std::vector<std::pair<std::string, int64_t>>;

void add_counts(Counts& sums, const Counts& more) {
  for (const auto& [name, count] : more) {
    const auto same = std::ranges::find(sums, name, &Counts::value_type::first);
    if (same == sums.end()) {
      sums.emplace_back(name, count);
    } else {
      same->second += count;
    }
  }
}

}  // namespace

NpuCalls::NpuCalls(const pte::Program& program, std::string_view method, const plan::Target& target) : target_(target) {
  const pte::Plan& plan = *std::ranges::find(program.plans, method, &pte::Plan::name);
  for (const pte::Instruction& instruction : plan.instructions) {
    const auto* call = std::get_if<pte::DelegateCall>(&instruction);
    if (call == nullptr) continue;
    calls_.emplace_back().layers =
        backends::read_specs(plan.delegates[static_cast<size_t>(call->delegate)].compile_specs).layers;
  }
}

results::NpuReport NpuCalls::report(const simulate::Report& simulated, size_t call) const {
  return estimate::npu_report(simulated, call < calls_.size() ? calls_[call] : npu::CompiledNetwork{}, target_,
                              simulate::Occupied::kOn);
}

results::NpuReport NpuCalls::joined(std::vector<results::NpuReport> calls) const {
  results::NpuReport all;
  for (results::NpuReport& one : calls) {
    if (all.target.empty()) {
      all = std::move(one);
      continue;
    }
    all.cycles += one.cycles;
    all.macs += one.macs;
    std::ranges::move(one.layers, std::back_inserter(all.layers));
    add_counts(all.pmu, one.pmu);
    add_counts(all.traffic_bytes, one.traffic_bytes);
  }
  if (all.cycles > 0)
    all.utilization =
        static_cast<double>(all.macs) / (static_cast<double>(all.cycles) * target_.accelerator.macs_per_cycle);
  return all;
}

}  // namespace carina::execute
