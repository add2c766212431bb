#include "backends/checked_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "carina/check.h"

namespace carina::backends {
namespace {

using plan::Optimization;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

bool leaves_out(const LeftOut& left_out, Optimization optimization) {
  return left_out[static_cast<size_t>(optimization)];
}

const Diagnostic kWrong{.where = "conv (model.py:4)", .what = "other values", .fault = Fault::kInternal};

// A planner that is right if `is_right` says so. The size of the weights tells how many optimizations it has left out.
PlanWithout planner(const std::function<bool(const LeftOut&)>& is_right) {
  return [=](const LeftOut& left_out, const Log& log) -> Result<CheckedPlan> {
    log.note({.where = "planner", .what = "a note", .severity = Severity::kNote});
    if (!is_right(left_out)) return fail(kWrong);
    CheckedPlan plan{.check = results::CheckReport{.operators = 3, .samples = 2}};
    plan.network.weights.resize(left_out.count());
    return plan;
  };
}

struct Outcome {
  Result<CheckedPlan> plan;
  std::vector<std::string> warnings = {};
  int notes = 0;
};
Outcome outcome_of(const PlanWithout& planner) {
  Outcome outcome{.plan = CheckedPlan{}};
  const Log log{.note = [&](const Diagnostic& note) {
    if (note.severity == Severity::kWarning) outcome.warnings.push_back(to_string(note));
    if (note.severity == Severity::kNote) ++outcome.notes;
  }};
  outcome.plan = right_plan(planner, log);
  return outcome;
}

TEST(RightPlan, right_plan_has_all_optimizations) {
  const Outcome outcome = outcome_of(planner([](const LeftOut&) { return true; }));
  ASSERT_TRUE(outcome.plan);
  EXPECT_EQ(outcome.plan->network.weights.size(), 0);
  EXPECT_EQ(outcome.plan->check->left_out, "");
  EXPECT_TRUE(outcome.warnings.empty());
}

TEST(RightPlan, each_wrong_optimization_is_left_out_and_named) {
  for (size_t i = 0; i < plan::kOptimizations; ++i) {
    const Outcome outcome = outcome_of(planner([i](const LeftOut& left_out) { return left_out[i]; }));
    ASSERT_TRUE(outcome.plan);
    const std::string name(plan::name_of(static_cast<Optimization>(i)));
    EXPECT_EQ(outcome.plan->network.weights.size(), 1) << name;
    EXPECT_EQ(outcome.plan->check->left_out, name);
    EXPECT_THAT(outcome.warnings,
                ElementsAre(AllOf(HasSubstr("conv (model.py:4)"), HasSubstr("without " + name + ": other values"))));
    EXPECT_EQ(outcome.notes, 1) << "only the first plan's notes are the user's";
  }
}

TEST(RightPlan, two_wrong_optimizations_leave_all_out) {
  const Outcome outcome = outcome_of(planner([](const LeftOut& left_out) {
    return leaves_out(left_out, Optimization::kBricks) && leaves_out(left_out, Optimization::kCascades);
  }));
  ASSERT_TRUE(outcome.plan);
  EXPECT_EQ(outcome.plan->network.weights.size(), plan::kOptimizations);
  EXPECT_EQ(outcome.plan->check->left_out, "optimizations");
}

TEST(RightPlan, plan_that_is_always_wrong_is_the_first_error) {
  const Outcome outcome = outcome_of(planner([](const LeftOut&) { return false; }));
  ASSERT_FALSE(outcome.plan);
  EXPECT_EQ(outcome.plan.error().front().what, kWrong.what);
  EXPECT_TRUE(outcome.warnings.empty());
}

TEST(RightPlan, assertion_in_an_optimization_is_a_mistake_like_others) {
  const Outcome outcome = outcome_of([](const LeftOut& left_out, const Log&) -> Result<CheckedPlan> {
    CARINA_CHECK(leaves_out(left_out, Optimization::kDepthSlices), "a bad slice");
    return CheckedPlan{};
  });
  ASSERT_TRUE(outcome.plan);
  EXPECT_THAT(outcome.warnings, ElementsAre(AllOf(HasSubstr("depth slices"), HasSubstr("a bad slice"))));
}

TEST(RightPlan, model_that_the_npu_does_not_take_is_planned_once) {
  int calls = 0;
  const Outcome outcome = outcome_of([&](const LeftOut&, const Log&) -> Result<CheckedPlan> {
    ++calls;
    return fail(Diagnostic{.where = "conv", .what = "stride 5"});
  });
  EXPECT_FALSE(outcome.plan);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace carina::backends
