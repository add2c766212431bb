#include <gtest/gtest.h>

#include "networks.h"
#include "plan/cost/timeline.h"
#include "plan/family/family.h"
#include "plan/memory/allocate.h"
#include "plan/optimize/staging_internal.h"
#include "plan/optimize/transformations.h"
#include "plan/verify/verify.h"

// Tests which values are in fast scratch if the arena is in slow memory.
namespace carina::plan {
namespace {

const Target& dedicated() {
  static const Target kTarget = *find_target("ethos-u65-256", "", "Dedicated_Sram_384KB");
  return kTarget;
}

Schedule scheduled(int64_t limit_bytes) {
  Schedule schedule = schedule_of(four_convolutions(), dedicated(), {{.arena_budget_bytes = limit_bytes}});
  EXPECT_EQ(to_string(verify(schedule, **find_family(dedicated()), dedicated())), "");
  return schedule;
}

TEST(Spaces, intermediates_and_staged_weights_use_fast_scratch) {
  const Schedule schedule = scheduled(0);
  for (size_t i = 0; i < schedule.tensors.size(); ++i) {
    const bool inside = schedule.tensors[i].kind == TensorKind::kIntermediate;
    EXPECT_EQ(schedule.space_of(TensorId(i)), inside ? Space::kFastScratch : Space::kArena) << i;
  }
  EXPECT_GT(space_bytes(schedule, Space::kFastScratch), 0);
  for (const WeightSlice& slice : schedule.slices) {
    if (slice.staged.valid()) {
      EXPECT_EQ(schedule[slice.staged].space, Space::kFastScratch);
    }
  }
}

TEST(Spaces, largest_loss_is_evicted_first) {
  // 32, 16 and 16 channels of 16x16: 8192, 4096 and 4096 bytes; two live together.
  const Schedule schedule = scheduled(8192);
  EXPECT_LE(space_bytes(schedule, Space::kFastScratch), 8192);
  EXPECT_GE(space_bytes(schedule, Space::kFastScratch), 4096);
  EXPECT_EQ(space_bytes(scheduled(64), Space::kFastScratch), 0);
}

// Like mobilenet_v2: more and more channels on smaller and smaller maps, with more weights than fast scratch holds.
ir::Graph narrowing() {
  GraphBuilder b;
  auto x = b.input("x", DType::kInt8, {1, 28, 28, 32});
  x = b.conv(b.conv(x, 192, 1, 0), 32, 1, 0);
  x = b.op(TosaOp::MAX_POOL2D, {x}, DType::kInt8, {1, 14, 14, 32},
           {{"kernel", std::vector<int64_t>{2, 2}},
            {"stride", std::vector<int64_t>{2, 2}},
            {"pad", std::vector<int64_t>{0, 0, 0, 0}}});
  for (int i = 0; i < 3; ++i) x = b.conv(b.conv(x, 384, 1, 0), 64, 1, 0);
  for (int i = 0; i < 3; ++i) x = b.conv(b.conv(x, 576, 1, 0), 160, 1, 0);
  b.graph.outputs = {b.conv(x, 640, 1, 0)};
  return std::move(b.graph);
}

TEST(Spaces, less_fast_scratch_costs_little_with_gradual_eviction) {
  const auto cycles = [](int64_t limit_bytes) {
    const Schedule schedule = schedule_of(narrowing(), dedicated(), {{.arena_budget_bytes = limit_bytes}});
    return cost_of(schedule, **find_family(dedicated()), dedicated());
  };
  // The ratio is 1.33. It would be 1.50 if buffers that do not fit fast memory were placed in the arena: then no
  // weights are copied.
  EXPECT_LT(cycles(128 * 1024), 1.4 * cycles(384 * 1024));
}

TEST(Spaces, without_size_fast_scratch_is_not_filled) {
  const auto budget = [](const char* mode) {
    const Target target = *find_target("ethos-u65-256", "", mode);
    const Schedule schedule = schedule_of(four_convolutions(), target, {}, "order");
    const Options options;
    const Log log;
    return staging_budget(schedule,
                          {.family = **find_family(target), .target = target, .options = options, .log = log});
  };
  EXPECT_EQ(budget("Dedicated_Sram_384KB"), 384 * 1024);
  EXPECT_LE(budget("Dedicated_Sram"), 1024 * 1024);  // a share on top of the need, as for an arena
}

// The layers of a network of 8x8 maps. Each layer is a convolution of a value to a number of channels, or the sum of
// two values. Value 0 is a convolution of the input to 16 channels. Each value without a reader is convolved to an
// output.
struct Layer {
  size_t from = 0;
  int64_t channels = 0;  // 0: an addition
  size_t other = 0;
};

ir::Graph layered(const std::vector<Layer>& layers) {
  GraphBuilder b;
  std::vector<ir::ValueId> values{b.conv(b.input("x", DType::kInt8, {1, 8, 8, 16}), 16, 1, 0)};
  const auto wide = [&](ir::ValueId v) { return b.rescale(v, DType::kInt32, 1 << 30, 11); };
  std::vector<bool> is_read(layers.size() + 1, false);
  for (const Layer& layer : layers) {
    is_read[layer.from] = true;
    if (layer.channels > 0) {
      values.push_back(b.conv(values[layer.from], layer.channels, 1, 0));
      continue;
    }
    is_read[layer.other] = true;
    const Shape shape = b.graph[values[layer.from]].shape;
    const ir::ValueId first = wide(values[layer.from]), second = wide(values[layer.other]);
    values.push_back(b.rescale(b.op(TosaOp::ADD, {first, second}, DType::kInt32, shape), DType::kInt8, 1 << 30, 50));
  }
  for (size_t v = 0; v < values.size(); ++v) {
    if (!is_read[v]) b.graph.outputs.push_back(b.conv(values[v], 8, 1, 0));
  }
  return std::move(b.graph);
}

// Like Swin V2, which was rejected for 6 KB. A sum that overwrites its operand has a longer live range than either
// value. The choice fits without such sums (20672 bytes) but not with them (21504). Found by search and reduced.
TEST(Spaces, chosen_values_fit_with_in_place_results) {
  const Options options{{.arena_budget_bytes = 20672}};
  const Log log;
  const Context context{.family = **find_family(dedicated()), .target = dedicated(), .options = options, .log = log};
  const Schedule blocked =
      schedule_of(layered({{.from = 0, .channels = 96},  {.from = 1, .channels = 16}, {.from = 0, .channels = 32},
                           {.from = 1, .other = 1},      {.from = 1, .channels = 48}, {.from = 2, .other = 0},
                           {.from = 1, .channels = 48},  {.from = 1, .other = 4},     {.from = 6, .channels = 16},
                           {.from = 8, .channels = 96},  {.from = 8, .channels = 32}, {.from = 10, .channels = 48},
                           {.from = 9, .channels = 16},  {.from = 11, .other = 3},    {.from = 11, .other = 3},
                           {.from = 11, .channels = 48}, {.from = 12, .other = 5},    {.from = 13, .channels = 64},
                           {.from = 14, .other = 3},     {.from = 0, .other = 2},     {.from = 14, .channels = 48},
                           {.from = 16, .channels = 16}, {.from = 21, .channels = 16}}),
                  dedicated(), {}, "blocks");
  const int64_t taken = allocated_bytes(choose_spaces(blocked, context), Space::kFastScratch, 0);
  EXPECT_LE(taken, options.arena_budget_bytes);
  EXPECT_GT(taken, options.arena_budget_bytes * 3 / 4);
}

// Every sum overwrites its operand, so all of them take the bytes of one in fast scratch.
TEST(Spaces, results_over_operands_count_once) {
  constexpr int64_t kBytes = 8 * 8 * 16;
  const ir::Graph graph = layered({{.from = 0, .other = 0}, {.from = 1, .other = 1}, {.from = 2, .other = 2}});
  const Schedule schedule = schedule_of(graph, dedicated(), {{.arena_budget_bytes = kBytes}});
  for (size_t i = 0; i < schedule.tensors.size(); ++i) {
    if (schedule.tensors[i].kind != TensorKind::kIntermediate) continue;
    EXPECT_EQ(schedule.space_of(TensorId(i)), Space::kFastScratch) << i;
  }
}

TEST(Spaces, u55_has_no_fast_scratch) {
  const auto family = find_family(*find_target("ethos-u55-128", "", "Dedicated_Sram"));
  ASSERT_FALSE(family.has_value());
  EXPECT_NE(to_string(family.error()).find("Dedicated_Sram"), std::string::npos);
}

}  // namespace
}  // namespace carina::plan
