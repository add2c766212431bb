#include "plan/worst_ratio_internal.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "networks.h"
#include "plan/cost/assumed_targets.h"
#include "plan/cost/timeline.h"
#include "plan/family/family.h"

// Tests which of two schedules is better if the cycle model may be wrong.
namespace carina::plan {
namespace {

std::vector<double> cycles_by_assumption(const Schedule& schedule, const Context& context) {
  std::vector<double> cycles;
  for (const AssumedTarget& assumed : assumed_targets(context.target))
    cycles.push_back(cost_of(schedule, context.family, assumed.target, assumed.detail));
  return cycles;
}

double worst_ratio(const std::vector<double>& cycles, const std::vector<double>& others) {
  double worst = 1;
  for (size_t i = 0; i < cycles.size(); ++i) worst = std::max(worst, cycles[i] / others[i]);
  return worst;
}

TEST(WorstRatio, decides_between_schedules_of_nearly_same_nominal_cycles) {
  const Target target = *find_target("ethos-u85-1024", "Ethos_U85_SYS_DRAM_Mid", "Shared_Sram");
  const Options options;
  const Log log;
  const Context context{.family = **find_family(target), .target = target, .options = options, .log = log};
  const Schedule usual = schedule_of(four_convolutions(), target);
  EXPECT_FALSE(is_better_under_assumptions(usual, usual, context));
  const std::vector<double> cycles = cycles_by_assumption(usual, context);
  int slower = 0, better = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    Options arbitrary;
    arbitrary.variation = {.blocks = Variation::Blocks::kSeeded, .seed = seed};
    const Schedule other = schedule_of(four_convolutions(), target, arbitrary);
    const std::vector<double> others = cycles_by_assumption(other, context);
    const bool costs_too_much = others.front() > 1.01 * cycles.front();
    const bool expected = !costs_too_much && worst_ratio(others, cycles) < worst_ratio(cycles, others);
    EXPECT_EQ(is_better_under_assumptions(other, usual, context), expected) << seed;
    slower += costs_too_much ? 1 : 0;
    // Random blocks are seldom better than the planner's, and usually worse.
    better += is_better_under_assumptions(usual, other, context) ? 1 : 0;
  }
  EXPECT_GT(slower, 0);
  EXPECT_GT(better, 30);
}

TEST(AssumedTargets, start_with_nominal_model_and_scale_latencies_and_second_memory) {
  const Target target = *find_target("ethos-u55-128", "", "Shared_Sram");
  const std::vector<AssumedTarget> assumed = assumed_targets(target);
  const npu::MemoryPort& flash = target.system.ports[1];
  EXPECT_EQ(assumed.front().target.system.ports[1].read_latency_cycles, flash.read_latency_cycles);
  const auto has = [&](const auto& is) { return std::ranges::any_of(assumed, is); };
  EXPECT_TRUE(has([&](const AssumedTarget& a) {
    return a.target.system.ports[1].read_latency_cycles == 2 * flash.read_latency_cycles;
  }));
  EXPECT_TRUE(
      has([&](const AssumedTarget& a) { return a.target.system.ports[1].clock_scale == flash.clock_scale / 2; }));
  EXPECT_TRUE(has([](const AssumedTarget& a) { return a.detail.elementwise_channels == 16; }));
  EXPECT_TRUE(has([](const AssumedTarget& a) { return a.detail.ends_factor == 0; }));
}

}  // namespace
}  // namespace carina::plan
