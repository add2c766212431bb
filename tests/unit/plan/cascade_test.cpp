#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks.h"
#include "plan/family/family.h"
#include "plan/optimize/cascade_search_internal.h"
#include "plan/verify/verify.h"

// Tests which rows cascades keep and when cascades are chosen.
namespace carina::plan {
namespace {

using testing::HasSubstr;

// A 32x32 map of 8 channels, with many channels in the middle, and an addition around two of the convolutions.
ir::Graph wide_middle() {
  GraphBuilder b;
  const auto x = b.conv(b.input("x", DType::kInt8, {1, 32, 32, 8}), 16, 3, 1);
  const auto y = b.conv(b.conv(x, 64, 1, 0), 16, 3, 1);
  const auto wide = [&](ir::ValueId v) { return b.rescale(v, DType::kInt32, 1 << 30, 11); };
  const auto sum = b.op(TosaOp::ADD, {wide(x), wide(y)}, DType::kInt32, {1, 32, 32, 16});
  b.graph.outputs = {b.conv(b.rescale(sum, DType::kInt8, 1 << 30, 50), 4, 3, 1)};
  return std::move(b.graph);
}

const Target& target() {
  static const Target kTarget = *find_target("ethos-u55-128", "", "");
  return kTarget;
}

Schedule scheduled(const Options& options, const std::string& after = "finished") {
  Schedule schedule = schedule_of(wide_middle(), target(), options, after);
  EXPECT_EQ(to_string(verify(schedule, **find_family(target()), target())), "");
  return schedule;
}

int64_t rows_kept(const CascadePlan& plan, TensorId id) {
  const auto found = std::ranges::find(plan.rolling, id, &RollingTensor::tensor);
  return found == plan.rolling.end() ? 0 : found->rows;
}

TEST(Cascades, buffer_holds_rows_up_to_slowest_reader) {
  const Schedule schedule = scheduled({}, "formats");
  ASSERT_EQ(schedule.steps.size(), 5U);
  const auto plan =
      plan_cascade(schedule, users_of(schedule), {.first = StepId(0), .last = StepId(4), .stripe_rows = 2});
  ASSERT_TRUE(plan.has_value());
  // The addition reads two rows at a time. The last convolution reads one more row on each side.
  EXPECT_EQ(rows_kept(*plan, schedule.steps[1].ofm.tensor), 4);  // two rows through a window of three
  EXPECT_EQ(rows_kept(*plan, schedule.steps[2].ofm.tensor), 2);
  EXPECT_EQ(rows_kept(*plan, schedule.steps[3].ofm.tensor), 4);
  // The first operand of the addition is kept until the convolutions have computed the second.
  EXPECT_GE(rows_kept(*plan, schedule.steps[0].ofm.tensor), 3);
  EXPECT_LT(rows_kept(*plan, schedule.steps[0].ofm.tensor), 8);
  EXPECT_EQ(rows_kept(*plan, schedule.steps[4].ofm.tensor), 0);  // the output of the cascade is a whole tensor
}

TEST(Cascades, steps_without_row_order_are_not_cascaded) {
  Schedule schedule = scheduled({}, "formats");
  const TensorUsers users = users_of(schedule);
  const Cascade cascade{.first = StepId(0), .last = StepId(2), .stripe_rows = 2};
  EXPECT_TRUE(plan_cascade(schedule, users, cascade).has_value());
  Schedule strided = schedule;
  strided.steps.own()[1].ifm.stride_y *= 2;  // the view skips rows of the tensor
  EXPECT_FALSE(plan_cascade(strided, users, cascade).has_value());
  schedule.steps.own()[1].kind = StepKind::kDma;
  EXPECT_FALSE(plan_cascade(schedule, users, cascade).has_value());
}

TEST(Cascades, optimize_size_cascades_optimize_speed_does_not) {
  EXPECT_TRUE(scheduled({}).cascades.empty());
  const Schedule smallest = scheduled({{.optimize = Optimize::kSize}});
  EXPECT_FALSE(smallest.cascades.empty());
  EXPECT_LT(space_bytes(smallest, Space::kArena), 40 * 1024);  // 64 channels of 32x32 take 64 KiB
}

TEST(Cascades, network_that_does_not_fit_is_cascaded) {
  const int64_t whole = space_bytes(scheduled({}), Space::kArena);
  for (const int64_t limit : {whole * 3 / 4, whole / 2}) {
    const Schedule fitted = scheduled({{.arena_budget_bytes = limit}});
    EXPECT_FALSE(fitted.cascades.empty()) << limit;
    EXPECT_LE(space_bytes(fitted, Space::kArena), limit);
  }
}

TEST(Cascades, split_step_reads_one_slice) {
  const Schedule schedule = scheduled({{.optimize = Optimize::kSize}});
  std::vector<StorageId> weights(schedule.steps.size());
  for (const Stripe& stripe : schedule.stripes) {
    if (!stripe.slice.valid()) continue;
    StorageId& of_step = weights[stripe.step.index()];
    if (!of_step.valid()) of_step = schedule[stripe.slice].stored;
    EXPECT_EQ(schedule[stripe.slice].stored, of_step);
  }
}

TEST(Cascades, memory_shortage_lists_alternatives_with_sizes) {
  const auto rejected = compile(wide_middle(), target(), {{.arena_budget_bytes = 4096}}, {});
  ASSERT_FALSE(rejected.has_value());
  const std::string message = to_string(rejected.error());
  EXPECT_THAT(message, HasSubstr("does not fit the NPU's memory by"));
  EXPECT_THAT(message, HasSubstr("the most memory is in use in "));
  EXPECT_THAT(message, HasSubstr("without stripes of rows it would take"));
  EXPECT_THAT(message, HasSubstr("with -Os the network does not fit"));
  // If the arena may be in slow memory, the message suggests that memory mode.
  const auto other =
      compile(wide_middle(), *find_target("ethos-u65-256", "", "Shared_Sram"), {{.arena_budget_bytes = 4096}}, {});
  ASSERT_FALSE(other.has_value());
  EXPECT_THAT(to_string(other.error()), HasSubstr("memory mode Dedicated_Sram keeps"));
}

TEST(Placement, too_little_memory_names_required_values) {
  const auto compiled = compile(wide_middle(), target(), {}, {});
  ASSERT_TRUE(compiled.has_value());
  EXPECT_GT(compiled->working_bound_bytes, 64 * 1024);
  EXPECT_LE(compiled->working_bound_bytes, compiled->scratch_bytes);
}

}  // namespace
}  // namespace carina::plan
