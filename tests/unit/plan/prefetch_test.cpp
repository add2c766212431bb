#include "plan/optimize/prefetch_internal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "plan/optimize/prefetch_sweep_internal.h"

namespace carina::plan {
namespace {

PrefetchKernel without_weights(double cycles, int64_t free_bytes) {
  PrefetchKernel kernel{.free_bytes = free_bytes};
  kernel.variants.fill({.cycles = cycles});
  return kernel;
}
// A kernel that reads one object. It takes `in_place` cycles with the object in slow memory, else `copied`.
PrefetchKernel reader(size_t object, double in_place, double copied, int64_t free_bytes) {
  PrefetchKernel kernel{.free_bytes = free_bytes, .reads = 1, .objects = {object}};
  kernel.variants[0] = {.cycles = in_place, .slow_port_cycles = in_place};
  kernel.variants[1] = {.cycles = copied};
  return kernel;
}

TEST(Prefetch, copies_start_as_late_as_possible) {
  const PrefetchProblem problem{
      .kernels = {without_weights(1000, 4096), without_weights(1000, 4096), reader(0, 900, 100, 4096)},
      .objects = {{.bytes = 800, .cycles = 800}}};
  const PrefetchPlan plan = plan_prefetch(problem);
  ASSERT_EQ(plan.commands.size(), 1u);
  EXPECT_EQ(plan.commands[0].during, 1u);
  EXPECT_EQ(plan.commands[0].bytes, 800);
  EXPECT_EQ(plan.cycles, 2100);
}

TEST(Prefetch, copy_is_spread_over_several_kernels) {
  const PrefetchProblem problem{
      .kernels = {without_weights(1000, 4096), without_weights(300, 4096), reader(0, 900, 100, 4096)},
      .objects = {{.bytes = 800, .cycles = 800}}};
  const PrefetchPlan plan = plan_prefetch(problem);
  EXPECT_EQ(plan.cycles, 1400);
  ASSERT_EQ(plan.commands.size(), 2u);
  EXPECT_EQ(plan.commands[0].during, 0u);
  EXPECT_EQ(plan.commands[1].during, 1u);
  EXPECT_EQ(plan.commands[0].bytes + plan.commands[1].bytes, 800);
}

TEST(Prefetch, values_are_read_in_place_without_free_memory) {
  const PrefetchProblem problem{.kernels = {without_weights(1000, 100), reader(0, 900, 100, 100)},
                                .objects = {{.bytes = 800, .cycles = 800}}};
  const PrefetchPlan plan = plan_prefetch(problem);
  EXPECT_TRUE(plan.copies.empty());
  EXPECT_EQ(plan.cycles, 1900);
}

TEST(Prefetch, memory_is_taken_only_for_copies) {
  // Kernel 0 leaves 600 bytes free, so at most 600 bytes are copied while it runs. The rest is copied beside kernel 1.
  const PrefetchProblem problem{
      .kernels = {without_weights(1000, 600), without_weights(300, 4096), reader(0, 900, 100, 4096)},
      .objects = {{.bytes = 800, .cycles = 800}}};
  const PrefetchPlan plan = plan_prefetch(problem);
  EXPECT_EQ(plan.cycles, 1400);
  EXPECT_EQ(plan.commands.at(0).bytes, 496);
}

TEST(Prefetch, only_copies_without_memory_wait) {
  // Kernel 1 has no time to copy 500 of the bytes. Kernel 0 has memory for 400 of them.
  const PrefetchProblem problem{
      .kernels = {without_weights(1000, 400), without_weights(300, 4096), reader(0, 900, 100, 4096)},
      .objects = {{.bytes = 800, .cycles = 800}}};
  const PrefetchPlan plan = plan_prefetch(problem);
  EXPECT_EQ(plan.copies.size(), 1u);
  EXPECT_GE(plan.cycles, 1500);
  EXPECT_LE(plan.cycles, 1532);
}

TEST(Prefetch, short_parts_are_joined_if_memory_allows) {
  PrefetchProblem problem{
      .kernels = {without_weights(1000, 4096), without_weights(300, 4096), reader(0, 900, 100, 4096)},
      .objects = {{.bytes = 800, .cycles = 800}},
      .command_cycles = 100};
  EXPECT_EQ(plan_prefetch(problem).commands.size(), 1u);
  problem.kernels[0].free_bytes = 600;
  EXPECT_EQ(plan_prefetch(problem).commands.size(), 2u);
}

TEST(Prefetch, values_others_wait_for_are_read_in_place) {
  // The first object is large and gains little. Its copy would take the memory and time that the second one needs.
  const PrefetchProblem problem{
      .kernels = {without_weights(1000, 1000), reader(0, 150, 100, 1000), reader(1, 900, 100, 1000)},
      .objects = {{.bytes = 900, .cycles = 900}, {.bytes = 800, .cycles = 800}}};
  const PrefetchPlan plan = plan_prefetch(problem);
  ASSERT_EQ(plan.copies.size(), 1u);
  EXPECT_EQ(plan.copies[0].object, 1u);
  EXPECT_EQ(plan.cycles, 1250);
}

TEST(Prefetch, copy_is_kept_for_next_reader) {
  const PrefetchProblem problem{.kernels = {without_weights(1000, 4096), reader(0, 900, 100, 4096),
                                            without_weights(50, 4096), reader(0, 900, 100, 4096)},
                                .objects = {{.bytes = 800, .cycles = 800}}};
  const PrefetchPlan plan = plan_prefetch(problem);
  ASSERT_EQ(plan.copies.size(), 1u);
  EXPECT_EQ(plan.copies[0].users, (std::vector<size_t>{1, 3}));
  EXPECT_EQ(plan.cycles, 1250);
}

TEST(Prefetch, fixed_copies_start_when_memory_is_free) {
  PrefetchProblem problem{.kernels = {without_weights(1000, 0), without_weights(1000, 0), without_weights(10, 0)},
                          .fixed = {{.kernel = 2, .not_before = 1, .cycles = 300}}};
  EXPECT_EQ(plan_prefetch(problem).cycles, 2010);
  problem.fixed[0].not_before = 2;
  const PrefetchPlan plan = plan_prefetch(problem);
  EXPECT_EQ(plan.cycles, 2310);  // the reader waits for the copy
  EXPECT_EQ(plan.commands.at(0).during, 2u);
}

// Three kernels for each of which a table of 2,000 bytes is loaded again, after the kernel before it.
PrefetchProblem reloaded_table(int64_t free_bytes) {
  PrefetchProblem problem{.objects = {{.bytes = 2000, .cycles = 2000}}};
  for (size_t k = 0; k < 4; ++k) problem.kernels.push_back(without_weights(1000, free_bytes));
  for (size_t k = 1; k < 4; ++k)
    problem.fixed.push_back({.kernel = k, .not_before = k, .cycles = 2000, .object = 0, .cycles_from_copy = 200});
  return problem;
}

TEST(Prefetch, fixed_copies_read_one_copy_of_their_source) {
  const PrefetchPlan plan = plan_prefetch(reloaded_table(4096));
  ASSERT_EQ(plan.copies.size(), 1u);
  EXPECT_EQ(plan.copies[0].users, (std::vector<size_t>{1, 2, 3}));
  EXPECT_EQ(plan.cycles, 4000 + 1000 + 3 * 200) << "the copy runs beside kernel 0 and for as long again";
  ASSERT_FALSE(plan.commands.empty());
  EXPECT_TRUE(plan.commands.front().copy) << "the copy comes before the first load";
}

TEST(Prefetch, fixed_copies_read_their_source_in_place_without_memory) {
  const PrefetchPlan plan = plan_prefetch(reloaded_table(1000));
  EXPECT_TRUE(plan.copies.empty());
  EXPECT_EQ(plan.cycles, 4000 + 3 * 2000);
}

TEST(Prefetch, source_of_fixed_copy_is_not_copied_if_no_kernel_waits) {
  PrefetchProblem problem = reloaded_table(4096);
  for (PrefetchKernel& kernel : problem.kernels) kernel.variants.fill({.cycles = 3000});
  for (FixedCopy& copy : problem.fixed) copy.not_before = copy.kernel - 1;
  const PrefetchPlan plan = plan_prefetch(problem);
  EXPECT_TRUE(plan.copies.empty());
  EXPECT_EQ(plan.cycles, 4 * 3000);
}

// Kernels with up to two objects, some of which several kernels read, and table loads between them, some from copies.
PrefetchProblem random_problem(std::mt19937& random) {
  PrefetchProblem problem;
  const auto number = [&](unsigned end) { return static_cast<int64_t>(random() % end); };
  constexpr size_t kWeights = 8, kTables = 3;
  for (size_t i = 0; i < kWeights + kTables; ++i)
    problem.objects.push_back({.bytes = 16 * (1 + number(100)), .cycles = static_cast<double>(100 + number(900))});
  for (size_t k = 0; k < 40; ++k) {
    PrefetchKernel kernel{.free_bytes = number(4000), .reads = random() % 3};
    kernel.objects[0] = random() % kWeights;
    kernel.objects[1] = (kernel.objects[0] + 1 + random() % 7) % kWeights;
    const auto cycles = static_cast<double>(200 + number(1500));
    for (size_t copied = 0; copied < kernel.variants.size(); ++copied)
      kernel.variants[copied] = {.cycles = cycles / static_cast<double>(1 + copied),
                                 .slow_port_cycles = copied == 0 ? cycles / 2 : 0};
    if (random() % 4 == 0) {
      FixedCopy copy{.kernel = k, .not_before = random() % (k + 1), .cycles = static_cast<double>(number(500))};
      if (random() % 2 == 0) {
        copy.object = kWeights + random() % kTables;
        copy.cycles_from_copy = copy.cycles / 8;
        if (random() % 8 == 0) problem.late.emplace(k, *copy.object);
      }
      problem.fixed.push_back(copy);
    }
    for (size_t r = 0; r < kernel.reads; ++r) {
      if (random() % 8 == 0) problem.late.emplace(k, kernel.objects[r]);
    }
    problem.kernels.push_back(kernel);
  }
  return problem;
}

TEST(Sweep, change_of_choice_gives_cycles_of_whole_pass) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const PrefetchProblem problem = random_problem(random);
    const PreviousReaders previous = previous_readers(problem);
    const Keeping keeping = round % 2 == 0 ? Keeping::kBold : Keeping::kCautious;
    Choice choice(problem.kernels.size());
    for (uint8_t& bits : choice) bits = static_cast<uint8_t>(random() % (1 << 2 * kAllReads));
    Sweep sweep(problem, previous, keeping), other(problem, previous, keeping);
    sweep.run(choice);
    const double before = sweep.cycles();
    for (int change = 0; change < 10; ++change) {
      const size_t k = random() % choice.size();
      Choice changed = choice;
      changed[k] ^= static_cast<uint8_t>(1 + random() % ((1 << 2 * kAllReads) - 1));
      Sweep::Changed where{.first = k, .last = k};
      for (size_t reader = k + 1; reader < choice.size(); ++reader) {
        if (std::ranges::find(previous[reader], k) != previous[reader].end()) where.last = reader;
      }
      other.run(changed);
      const double infinity = std::numeric_limits<double>::infinity();
      EXPECT_NEAR(sweep.cycles_with(changed, where, infinity), other.cycles(), 1e-6);
      EXPECT_NEAR(sweep.cycles_with(choice, where, infinity), before, 1e-6) << "a change leaves nothing behind";
    }
  }
}

}  // namespace
}  // namespace carina::plan
