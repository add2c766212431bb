#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks.h"
#include "plan/cost/timeline.h"
#include "plan/family/family.h"
#include "plan/verify/verify.h"

namespace carina::plan {
namespace {

using testing::HasSubstr;

struct Case {
  Target target;
  Schedule schedule;
  [[nodiscard]] const Family& family() const { return **find_family(target); }
  [[nodiscard]] std::string broken() const { return to_string(verify(schedule, family(), target)); }
};

Case case_of(const std::string& name, const Options& options = {}) {
  for (const NamedNetwork& network : small_networks()) {
    if (network.name != name) continue;
    const Target target = *find_target(network.npu, "", "");
    return {.target = target, .schedule = schedule_of(network.build(), target, options)};
  }
  CARINA_CHECK(false, "no network {}", name);
}

// The network in cascades with stripes of two rows and rolling buffers.
Case cascaded(const std::string& name) {
  Options options;
  options.variation.cascade_rows = 2;
  return case_of(name, options);
}

// The first tensor with a rolling buffer.
TensorId rolling_tensor(const Schedule& schedule) {
  for (size_t i = 0; i < schedule.tensors.size(); ++i) {
    const StorageId storage = schedule.tensors[i].storage;
    if (storage.valid() && schedule[storage].rolling_rows > 0) return TensorId(i);
  }
  CARINA_CHECK(false, "nothing rolls");
}

size_t first_of(const Schedule& schedule, Command::Kind kind) {
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    if (schedule.order[i].kind == kind) return i;
  }
  CARINA_CHECK(false, "no such command");
}

TEST(Verify, transformed_graphs_are_valid) {
  for (const NamedNetwork& network : small_networks()) {
    const Target target = *find_target(network.npu, "", "");
    for (const char* after : {"selection", "formats", "cascades", "blocks", "slices", "order", "staging", "finished"}) {
      const Schedule schedule = schedule_of(network.build(), target, {}, after);
      EXPECT_EQ(to_string(verify(schedule, **find_family(target), target)), "") << network.name << " after " << after;
    }
  }
}

TEST(Verify, rule_1_ids_are_in_range) {
  Case c = case_of("residual_add");
  c.schedule.steps.own()[0].ifm.tensor = TensorId(999);
  EXPECT_THAT(c.broken(), HasSubstr("rule 1"));
  c = case_of("residual_add");
  c.schedule.stripes[0].step = StepId();
  EXPECT_THAT(c.broken(), HasSubstr("rule 1"));
  c = case_of("residual_add");
  c.schedule.tensors[0].storage = StorageId(c.schedule.storages.size());
  EXPECT_THAT(c.broken(), HasSubstr("rule 1"));
}

TEST(Verify, rule_2_stripes_cover_their_step) {
  Case c = case_of("one_conv");
  c.schedule.stripes[0].ofm.height -= 1;
  EXPECT_THAT(c.broken(), HasSubstr("rule 2: stripes cover"));
  c = case_of("one_conv");
  c.schedule.stripes[0].ofm.y = 1;
  EXPECT_THAT(c.broken(), HasSubstr("rule 2: the stripe leaves"));
  c = case_of("one_conv");
  c.schedule.stripes.push_back(c.schedule.stripes[0]);
  EXPECT_THAT(c.broken(), HasSubstr("rule 2: computes what p0 does"));
}

TEST(Verify, rule_3_order_respects_dependencies) {
  Case c = case_of("three_convs");
  std::swap(c.schedule.order[first_of(c.schedule, Command::Kind::kStripe)], c.schedule.order.back());
  EXPECT_THAT(c.broken(), HasSubstr("rule 3: reads t3 before s1 has written it"));
  c = case_of("three_convs");
  c.schedule.order.pop_back();
  EXPECT_THAT(c.broken(), HasSubstr("rule 3: is never done"));
  c = case_of("three_convs");
  c.schedule.order.push_back(c.schedule.order.back());
  EXPECT_THAT(c.broken(), HasSubstr("rule 3: is done twice"));
}

TEST(Verify, rule_4_slices_fit_their_stripes) {
  Case c = case_of("one_conv");
  c.schedule.slices[0].channels -= 1;
  EXPECT_THAT(c.broken(), HasSubstr("rule 4: its slice has channels"));
  c = case_of("one_conv");
  c.schedule.slices[0].weights = WeightsId(7);
  EXPECT_THAT(c.broken(), HasSubstr("rule 4: its slice is of other weights"));
  c = case_of("one_conv");
  c.schedule.slices[0].cores[0].weight_bytes += 16;
  EXPECT_THAT(c.broken(), HasSubstr("rule 4: a stream of its slice leaves"));
}

TEST(Verify, rule_5_copies_precede_readers) {
  Case c = case_of("staged_weights");
  const auto load = [&] {
    return c.schedule.order.begin() + static_cast<std::ptrdiff_t>(first_of(c.schedule, Command::Kind::kLoadWeights));
  };
  c.schedule.order.erase(load());
  EXPECT_THAT(c.broken(), HasSubstr("rule 5: reads m"));
  c = case_of("looked_up");
  c.schedule.order.erase(c.schedule.order.begin() +
                         static_cast<std::ptrdiff_t>(first_of(c.schedule, Command::Kind::kLoadTable)));
  EXPECT_THAT(c.broken(), HasSubstr("rule 5: its table is not in slot"));
  c = case_of("looked_up");
  c.schedule.order[first_of(c.schedule, Command::Kind::kLoadTable)].slot = 99;
  EXPECT_THAT(c.broken(), HasSubstr("rule 5: a table cannot be loaded to slot 99"));
  c = case_of("staged_tables");
  c.schedule.order.erase(c.schedule.order.begin() +
                         static_cast<std::ptrdiff_t>(first_of(c.schedule, Command::Kind::kStageTable)));
  EXPECT_THAT(c.broken(), HasSubstr("rule 5: reads m"));
}

TEST(Verify, rule_6_blocks_are_legal) {
  Case c = case_of("one_conv");
  c.schedule.stripes[0].block.depth += 1;
  EXPECT_THAT(c.broken(), HasSubstr("rule 6: a block of"));
  c = case_of("one_conv");
  c.schedule.stripes[0].block.width = 128;
  EXPECT_THAT(c.broken(), HasSubstr("rule 6: a block of"));
}

TEST(Verify, rule_7_allocations_are_disjoint) {
  Case c = case_of("three_convs");
  for (Storage& storage : c.schedule.storages) storage.address = 0;
  EXPECT_THAT(c.broken(), HasSubstr("while both live"));
  c = case_of("three_convs");
  c.schedule.storages[0].space = Space::kFastScratch;
  EXPECT_THAT(c.broken(), HasSubstr("rule 7: the target has no space of its kind"));
}

TEST(Verify, rule_8_tensors_fit_allocation_and_format) {
  Case c = case_of("three_convs");
  c.schedule.storages[c.schedule[c.schedule.inputs[0]].storage.index()].bytes -= 1;
  EXPECT_THAT(c.broken(), HasSubstr("has too few bytes"));
  c = case_of("transposed");
  for (PlanTensor& tensor : c.schedule.tensors) tensor.format = Format::kNhcwb16;
  EXPECT_THAT(c.broken(), HasSubstr("as bricks cannot be"));
}

TEST(Verify, rule_9_cascades_are_valid) {
  Case c = case_of("three_convs");
  c.schedule.cascades.push_back({.first = StepId(1), .last = StepId(2), .stripe_rows = 4});
  EXPECT_EQ(c.broken(), "");
  c.schedule.cascades.push_back({.first = StepId(0), .last = StepId(1), .stripe_rows = 4});
  EXPECT_THAT(c.broken(), HasSubstr("shares a step"));
  c = case_of("three_convs");
  const TensorId output = c.schedule.outputs[0];
  c.schedule.storages[c.schedule[output].storage.index()].rolling_rows = 2;
  EXPECT_THAT(c.broken(), HasSubstr("rolling rows outside a cascade"));
}

TEST(Verify, cascade_rows_exist_when_read) {
  EXPECT_EQ(cascaded("three_convs").broken(), "");
  // A stripe runs before the stripe that writes its input rows.
  Case c = cascaded("three_convs");
  std::vector<size_t> stripes;
  for (size_t i = 0; i < c.schedule.order.size(); ++i) {
    if (c.schedule.order[i].kind == Command::Kind::kStripe) stripes.push_back(i);
  }
  std::swap(c.schedule.order[stripes[stripes.size() - 2]], c.schedule.order[stripes[stripes.size() - 1]]);
  EXPECT_THAT(c.broken(), HasSubstr("rule 3: reads"));
  // The rolling buffer has one row too few: its last row overwrites one that a later stripe reads.
  c = cascaded("three_convs");
  c.schedule.storages[c.schedule[rolling_tensor(c.schedule)].storage.index()].rolling_rows -= 1;
  EXPECT_THAT(c.broken(), HasSubstr("that are overwritten"));
  // The width of the rolling tensor no longer matches the addresses of its maps.
  c = cascaded("three_convs");
  c.schedule.tensors[rolling_tensor(c.schedule).index()].extent.width += 1;
  EXPECT_THAT(c.broken(), HasSubstr("rule 8: addresses rolling"));
  c = cascaded("three_convs");
  c.schedule.cascades.clear();
  EXPECT_THAT(c.broken(), HasSubstr("rule 9: has rolling rows outside a cascade"));
}

TEST(Verify, rule_10_only_elementwise_runs_in_place) {
  // The sum overwrites its first operand, so the convolution that also reads the operand must run first.
  Case c = case_of("residual_add");
  const auto storage_of = [&](TensorId id) { return c.schedule.tensors[id.index()].storage; };
  EXPECT_EQ(storage_of(c.schedule.steps[1].ofm.tensor), storage_of(c.schedule.steps[1].ifm.tensor));
  EXPECT_EQ(c.broken(), "");
  c.schedule.steps.own()[1].ifm.stride_x = 8;  // it reads other elements than it writes
  EXPECT_THAT(c.broken(), HasSubstr("rule 10"));
  c = case_of("residual_add");
  c.schedule.tensors[c.schedule.steps[1].ofm.tensor.index()].format = Format::kNhcwb16;
  EXPECT_THAT(c.broken(), HasSubstr("rule 10"));
  // A convolution cannot overwrite its input.
  c = case_of("three_convs");
  c.schedule.tensors[c.schedule.steps[1].ofm.tensor.index()].storage = storage_of(c.schedule.steps[1].ifm.tensor);
  EXPECT_THAT(c.broken(), HasSubstr("rule 10: takes the place of"));
}

// ---- What a stripe reads ----

// The input positions along one axis that an output position reads, from the definition of the whole step.
std::vector<int64_t> read_by(int64_t out, int64_t stride, int64_t before, int64_t extent, int64_t inputs) {
  std::vector<int64_t> read;
  for (int64_t i = out * stride - before; i < out * stride - before + extent; ++i) {
    if (i >= 0 && i < inputs) read.push_back(i);
  }
  return read;
}

TEST(Subop, inputs_follow_its_outputs) {
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t pad : {0, 1, 2}) {
      Schedule schedule;
      const int64_t inputs = 17, kernel = 5, outputs = (inputs + 2 * pad - kernel) / stride + 1;
      schedule.steps.own().push_back(
          {.kind = StepKind::kConv,
           .ofm = {.height = outputs, .width = 4, .depth = 8, .stride_y = 100, .stride_x = 8},
           .ifm = {.height = inputs, .width = 4, .depth = 3, .stride_y = 12, .stride_x = 3},
           .kernel = {.height = kernel, .stride_y = stride},
           .padding = {.top = pad, .bottom = pad},
           .name = {}});
      for (int64_t y = 0; y < outputs; ++y) {
        for (int64_t rows = 1; y + rows <= outputs; ++rows) {
          const Step subop =
              subop_of(schedule, {.step = StepId(0), .ofm = {.y = y, .height = rows, .width = 4, .depth = 8}});
          EXPECT_EQ(subop.ofm.offset, y * 100);
          const int64_t first = subop.ifm.offset / 12;
          for (int64_t out = 0; out < rows; ++out) {
            std::vector<int64_t> read = read_by(out, stride, subop.padding.top, kernel, subop.ifm.height);
            for (int64_t& row : read) row += first;
            EXPECT_EQ(read, read_by(y + out, stride, pad, kernel, inputs)) << stride << pad << y << rows << out;
          }
        }
      }
    }
  }
}

TEST(Subop, weights_and_operands_are_sliced_by_channel) {
  Schedule schedule;
  schedule.steps.own().push_back({.kind = StepKind::kDepthwise,
                                  .ofm = {.height = 2, .width = 2, .depth = 32, .stride_y = 64, .stride_x = 32},
                                  .ifm = {.height = 2, .width = 2, .depth = 32, .stride_y = 64, .stride_x = 32},
                                  .first_channel = 5,
                                  .name = {}});
  Stripe stripe{.step = StepId(0), .ofm = {.c = 16, .height = 2, .width = 2, .depth = 16}};
  EXPECT_EQ(subop_of(schedule, stripe).ifm.offset, 16);
  EXPECT_EQ(subop_of(schedule, stripe).ifm.depth, 16);
  EXPECT_EQ(subop_of(schedule, stripe).first_channel, 21);
  schedule.steps.own()[0].kind = StepKind::kConv;
  EXPECT_EQ(subop_of(schedule, stripe).ifm.depth, 32);
  schedule.steps.own()[0].kind = StepKind::kElementwise;
  schedule.steps.own()[0].second = SecondOperand::kFeatureMap;
  schedule.steps.own()[0].ifm2 = {.height = 2, .width = 2, .depth = 1, .stride_y = 2, .stride_x = 1};
  schedule.steps.own()[0].broadcast = {.depth = true};
  EXPECT_EQ(subop_of(schedule, stripe).ifm2, schedule.steps[0].ifm2);
}

// ---- Cost ----

TEST(Cost, staging_never_increases_cost) {
  bool cheaper = false;
  for (const NamedNetwork& network : small_networks()) {
    const Target target = *find_target(network.npu, "", "");
    const Family& family = **find_family(target);
    const Schedule before = schedule_of(network.build(), target, {}, "order");
    const Schedule after = schedule_of(network.build(), target);
    const double cost_before = cost_of(before, family, target), cost_after = cost_of(after, family, target);
    EXPECT_LE(cost_after, cost_before) << network.name;
    if (after.order.size() > before.order.size()) cheaper |= cost_after < cost_before;
  }
  EXPECT_TRUE(cheaper);
}

// Six loads of 2 kB each read one byte per cycle from flash, or eight from SRAM.
TEST(Cost, tables_loaded_from_one_copy_cost_less) {
  const Case c = case_of("staged_tables");
  Options options;
  options.left_out.set(static_cast<size_t>(Optimization::kStagedTables));
  const Schedule in_place = case_of("staged_tables", options).schedule;
  EXPECT_EQ(std::ranges::count(in_place.order, Command::Kind::kStageTable, &Command::kind), 0);
  EXPECT_EQ(std::ranges::count(c.schedule.order, Command::Kind::kStageTable, &Command::kind), 2);
  EXPECT_LT(cost_of(c.schedule, c.family(), c.target), 0.6 * cost_of(in_place, c.family(), c.target));
}

TEST(Cost, late_copy_costs_waiting_time) {
  const Case c = case_of("staged_weights");
  Schedule late = c.schedule;
  const double good = cost_of(late, c.family(), c.target);
  // Each copy runs directly before its reader, not beside an earlier stripe.
  std::vector<Command> order;
  for (const Command& command : c.schedule.order) {
    if (command.kind == Command::Kind::kLoadWeights) continue;
    for (const Command& load : c.schedule.order) {
      if (load.kind == Command::Kind::kLoadWeights && load.stripe == command.stripe) order.push_back(load);
    }
    order.push_back(command);
  }
  late.order = order;
  EXPECT_EQ(to_string(verify(late, c.family(), c.target)).find("rule 5"), std::string::npos);
  EXPECT_GT(cost_of(late, c.family(), c.target), good);
}

TEST(Verify, rule_11_results_do_not_overlap) {
  Case c = case_of("one_conv");
  c.schedule.steps.own()[0].ofm.stride_x = 1;
  EXPECT_THAT(c.broken(), HasSubstr("rule 11: elements of its OFM overlap"));
  c = case_of("one_conv");
  FeatureMap& ofm = c.schedule.steps.own()[0].ofm;
  ofm.stride_c = ofm.height * ofm.width;
  ofm.stride_y = ofm.width;
  ofm.stride_x = 1;
  EXPECT_THAT(c.broken(), HasSubstr("rule 11: its results cannot be transposed"));
}

}  // namespace
}  // namespace carina::plan
