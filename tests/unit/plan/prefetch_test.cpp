#include "plan/schedule/prefetch.h"

#include <gtest/gtest.h>

namespace carina::plan {
namespace {

PrefetchKernel without_weights(double cycles, int64_t free_bytes) {
  PrefetchKernel kernel{.free_bytes = free_bytes};
  kernel.variants.fill({.cycles = cycles});
  return kernel;
}
// Reads one object: `in_place` cycles long from slow memory, else `copied`.
PrefetchKernel reader(size_t object, double in_place, double copied, int64_t free_bytes) {
  PrefetchKernel kernel{.free_bytes = free_bytes, .reads = 1, .objects = {object}};
  kernel.variants[0] = {.cycles = in_place, .slow_port_cycles = in_place};
  kernel.variants[1] = {.cycles = copied};
  return kernel;
}

TEST(Prefetch, CopiesAsLateAsTheTimeInFrontAllows) {
  const PrefetchProblem problem{
      .kernels = {without_weights(1000, 4096), without_weights(1000, 4096), reader(0, 900, 100, 4096)},
      .objects = {{.bytes = 800, .cycles = 800}}};
  const PrefetchPlan plan = plan_prefetch(problem);
  ASSERT_EQ(plan.commands.size(), 1u);
  EXPECT_EQ(plan.commands[0].before, 2u);  // it starts while kernel 1 runs
  EXPECT_EQ(plan.commands[0].bytes, 800);
  EXPECT_EQ(plan.cycles, 2100);
}

TEST(Prefetch, SpreadsACopyOverSeveralKernels) {
  const PrefetchProblem problem{
      .kernels = {without_weights(1000, 4096), without_weights(300, 4096), reader(0, 900, 100, 4096)},
      .objects = {{.bytes = 800, .cycles = 800}}};
  const PrefetchPlan plan = plan_prefetch(problem);
  EXPECT_EQ(plan.cycles, 1400);
  EXPECT_EQ(plan.commands.front().before, 1u);
}

TEST(Prefetch, ReadsInPlaceWhereNothingIsFree) {
  const PrefetchProblem problem{.kernels = {without_weights(1000, 100), reader(0, 900, 100, 100)},
                                .objects = {{.bytes = 800, .cycles = 800}}};
  const PrefetchPlan plan = plan_prefetch(problem);
  EXPECT_TRUE(plan.copies.empty());
  EXPECT_EQ(plan.cycles, 1900);
}

TEST(Prefetch, KeepsACopyForTheNextReader) {
  const PrefetchProblem problem{.kernels = {without_weights(1000, 4096), reader(0, 900, 100, 4096),
                                            without_weights(50, 4096), reader(0, 900, 100, 4096)},
                                .objects = {{.bytes = 800, .cycles = 800}}};
  const PrefetchPlan plan = plan_prefetch(problem);
  ASSERT_EQ(plan.copies.size(), 1u);
  EXPECT_EQ(plan.copies[0].users, (std::vector<size_t>{1, 3}));
  EXPECT_EQ(plan.cycles, 1250);
}

TEST(Prefetch, FixedCopiesStartOnceTheirPlaceIsFree) {
  PrefetchProblem problem{.kernels = {without_weights(1000, 0), without_weights(1000, 0), without_weights(10, 0)},
                          .fixed = {{.kernel = 2, .not_before = 1, .cycles = 300}}};
  EXPECT_EQ(plan_prefetch(problem).cycles, 2010);
  problem.fixed[0].not_before = 2;
  const PrefetchPlan plan = plan_prefetch(problem);
  EXPECT_EQ(plan.cycles, 2310);  // waited for
  EXPECT_EQ(plan.commands.at(0).before, 2u);
}

}  // namespace
}  // namespace carina::plan
