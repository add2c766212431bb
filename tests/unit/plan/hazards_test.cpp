#include "plan/cost/hazards.h"

#include <gtest/gtest.h>

#include "networks.h"

// Tests how many jobs of an operation may start before the previous operation has finished.
namespace carina::plan {
namespace {

// A convolution reads 32 of 96 input channels in a pass. The last blocks of the previous one write channels 80 to 95,
// 64 to 79, and so on. The first two passes need none of them; the third does.
TEST(BlockDependency, passes_over_input_channels_are_jobs) {
  const Target target = *find_target("ethos-u55-128", "", "Sram_Only");
  GraphBuilder b;
  b.graph.outputs = {b.conv(b.conv(b.input("x", DType::kInt8, {1, 8, 8, 16}), 96, 1, 0), 32, 1, 0)};
  Schedule schedule = schedule_of(b.graph, target);
  ASSERT_EQ(schedule.stripes.size(), 2U);
  for (Stripe& stripe : schedule.stripes) stripe.block = {.height = 8, .width = 8, .depth = 16};
  const auto dependency = [&] {
    return block_dependency(schedule, StripeId(0), StripeId(1), **find_family(target), target);
  };
  EXPECT_EQ(dependency(), 2);
  schedule.stripes[0].block.depth = 96;
  EXPECT_EQ(dependency(), 0);
}

// One block that covers the result would be as fast, but the next convolution would have to wait for all of it.
TEST(BlockDependency, result_of_several_blocks_lets_next_operation_start) {
  const Target target = *find_target("ethos-u55-128", "Ethos_U55_High_End_Embedded", "Shared_Sram");
  GraphBuilder b;
  b.graph.outputs = {b.conv(b.conv(b.input("x", DType::kInt8, {1, 16, 1, 64}), 128, 1, 0), 64, 1, 0)};
  Options options;
  options.arena_budget_bytes = 16 * (128 + 64);  // without memory for copies of weights
  const Schedule schedule = schedule_of(b.graph, target, options);
  ASSERT_EQ(schedule.stripes.size(), 2U);
  EXPECT_GT(block_dependency(schedule, StripeId(0), StripeId(1), **find_family(target), target), 0);
}

}  // namespace
}  // namespace carina::plan
