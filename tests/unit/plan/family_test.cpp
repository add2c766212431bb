#include "plan/family/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "plan/compile.h"
#include "plan/cost/kernel_cost.h"
#include "plan/family/rules/rules.h"

namespace carina::plan {
namespace {

using testing::HasSubstr;

constexpr std::array kNpus{"ethos-u55-32",  "ethos-u55-64",  "ethos-u55-128",
                           "ethos-u55-256", "ethos-u65-256", "ethos-u65-512"};

Step random_step(uint32_t seed) {
  const auto pick = [&](uint32_t below) {
    seed = seed * 1664525U + 1013904223U;
    return static_cast<int64_t>((seed >> 8) % below);
  };
  const ElementType type = pick(3) == 0 ? kSigned16 : kSigned8;
  Step op{.kind = static_cast<StepKind>(pick(4))};
  const bool windowed = op.kind != StepKind::kElementwise;
  if (windowed) {
    op.kernel = {.height = 1 + pick(64),
                 .width = 1 + pick(64),
                 .stride_y = 1 + pick(3),
                 .stride_x = 1 + pick(3),
                 .dilation_y = 1 + pick(2),
                 .dilation_x = 1 + pick(2)};
  } else {
    op.second = pick(2) == 0 ? SecondOperand::kScalar : SecondOperand::kFeatureMap;
  }
  op.ofm = {.height = 1 + pick(300), .width = 1 + pick(300), .depth = 1 + pick(600), .type = type};
  op.ifm = {.height = op.ofm.height,
            .width = op.ofm.width,
            .depth = op.kind == StepKind::kConv ? 1 + pick(600) : op.ofm.depth,
            .type = windowed || pick(2) == 0 ? type : kSigned32};
  op.acc = op.is_convolution() && type.bits == 16 ? AccWidth::kWide : AccWidth::kNarrow;
  if (pick(4) == 0) op.activation.table = TensorId(0);
  return op;
}

TEST(Family, every_step_has_a_legal_block) {
  for (const char* npu : kNpus) {
    const Target target = *find_target(npu, "", "");
    const Family& family = **find_family(target);
    const npu::Block3& u = target.accelerator.ofm_ublocks[0].block;
    for (uint32_t seed = 0; seed < 150; ++seed) {
      const Step op = random_step(seed);
      const auto blocks = family.legal_blocks(op, target);
      ASSERT_FALSE(blocks.empty()) << npu << " " << seed;
      for (const BlockConfig& block : blocks) {
        EXPECT_EQ(block.height % u.height, 0);
        EXPECT_EQ(block.width % u.width, 0);
        EXPECT_EQ(block.depth % u.depth, 0);
        EXPECT_LE(block.height, 32);
        EXPECT_LE(block.width, 64);
        EXPECT_LE(block.depth, 128);
        EXPECT_TRUE(block.depth % 16 == 0 || block.depth >= op.ofm.depth);
      }
    }
  }
}

// The input, accumulator and table buffers of a block do not overlap in the registers.
TEST(Family, buffers_of_legal_block_do_not_overlap) {
  for (const char* npu : kNpus) {
    const Target target = *find_target(npu, "", "");
    const Family& family = **find_family(target);
    const npu::Shram& shram = target.accelerator.shram;
    for (uint32_t seed = 0; seed < 150; ++seed) {
      const Step op = random_step(seed);
      if (op.kind == StepKind::kElementwise) continue;
      for (const BlockConfig& block : family.legal_blocks(op, target)) {
        const npu::Block3 ifm = family.input_block(op, block, target);
        const int64_t ifm_bytes = int64_t{ifm.height} * ifm.width * ifm.depth * op.ifm.type.bytes();
        const int64_t acc_bytes = block.height * block.width * block.depth * (op.acc == AccWidth::kWide ? 5 : 4);
        const int64_t tables = op.uses_table() ? npu::kShramLutBanks : shram.reserved_end_banks;
        EXPECT_LE(2 * (ifm_bytes + acc_bytes), (shram.banks - npu::kShramOutputBanks - tables) * npu::kShramBankBytes);
      }
    }
  }
}

// What OperationCost keeps from block to block makes no difference, in whatever order they come.
TEST(KernelCost, cost_of_block_does_not_depend_on_blocks_before_it) {
  for (const char* npu : {"ethos-u55-32", "ethos-u65-512", "ethos-u85-256"}) {
    const Target target = *find_target(npu, "", "");
    const Family& family = **find_family(target);
    Schedule schedule;
    schedule.storages.push_back({.space = working_space(target, family)});
    schedule.tensors.push_back({.storage = StorageId(0)});
    const KernelCost cost(schedule, family, target);
    for (uint32_t seed = 0; seed < 60; ++seed) {
      Step op = random_step(seed);
      for (FeatureMap* map : {&op.ofm, &op.ifm, &op.ifm2}) map->tensor = TensorId(0);
      std::vector<BlockConfig> blocks = family.legal_blocks(op, target);
      std::shuffle(blocks.begin(), blocks.end(), std::mt19937(seed));
      blocks.resize(std::min<size_t>(blocks.size(), 100));
      OperationCost operation(cost, op);
      const Feed feed{.weight_bytes = 1000.0 * (seed % 3), .scale_bytes = op.is_convolution() ? 160.0 : 0};
      for (const BlockConfig& block : blocks) {
        const KernelCycles alone = cost.of(op, block, feed), after = operation.of(block, feed);
        EXPECT_EQ(alone.total, after.total) << npu << " " << seed;
        EXPECT_EQ(alone.port_busy, after.port_busy) << npu << " " << seed;
        EXPECT_EQ(operation.of(block, feed, alone.total).total, alone.total) << npu << " " << seed;
      }
    }
  }
}

TEST(Family, unsupported_memory_mode_is_an_error) {
  const auto slow_arena = find_family(*find_target("ethos-u55-128", "", "Dedicated_Sram"));
  ASSERT_FALSE(slow_arena.has_value());
  EXPECT_THAT(to_string(slow_arena.error()),
              HasSubstr("memory mode Dedicated_Sram puts the arena behind AXI port 1, which ethos-u55 only reads"));
}

TEST(Family, slow_arena_keeps_a_cache) {
  const auto fast = static_cast<size_t>(Space::kFastScratch), arena = static_cast<size_t>(Space::kArena);
  const auto spaces_in = [](const char* mode) {
    const Target target = *find_target("ethos-u65-512", "", mode);
    return *(*find_family(target))->spaces(target);
  };
  EXPECT_FALSE(spaces_in("Sram_Only")[fast].has_value());
  EXPECT_FALSE(spaces_in("Shared_Sram")[fast].has_value());
  EXPECT_EQ(spaces_in("Shared_Sram")[arena]->port, 0U);
  const Spaces dedicated = spaces_in("Dedicated_Sram_384KB");
  EXPECT_EQ(dedicated[arena]->port, 1U);
  EXPECT_EQ(dedicated[fast]->port, 0U);
  EXPECT_EQ(dedicated[fast]->limit_bytes, 393216);
  EXPECT_EQ(spaces_in("Dedicated_Sram")[fast]->limit_bytes, dedicated[arena]->limit_bytes);
}

TEST(Family, channels_are_divided_among_cores) {
  const Target target = *find_target("ethos-u65-512", "", "");
  const Family& family = **find_family(target);
  const Weights weights{
      .out_channels = 3, .in_channels = 1, .values = {1, 2, 3}, .biases = {10, 20, 30}, .factors = {{}, {}, {}}};
  Step subop{.kind = StepKind::kConv};
  const auto cores_of = [&](int64_t channels) {
    subop.ofm.depth = channels;
    const auto traversal = family.traversal(subop, {.height = 2, .width = 2, .depth = 16}, weights, target);
    return family.encode(traversal, weights, 0, nullptr);
  };
  const EncodedSlice all = cores_of(3);
  ASSERT_EQ(all.cores.size(), 2U);
  EXPECT_EQ(all.cores[0].scale_bytes, 32);  // two entries of 10 bytes
  EXPECT_EQ(all.cores[1].scale_bytes, 16);
  EXPECT_EQ(static_cast<int>(all.scales[static_cast<size_t>(all.cores[1].scale_offset)]), 20);
  EXPECT_EQ(cores_of(1).cores.size(), 1U);  // no weights for the second core
}

TEST(Family, operands_are_scaled_only_where_exact) {
  const Family& family = **find_family(*find_target("ethos-u55-128", "", ""));
  using Precise = OperandScaling::Precise;
  const Scaling one{}, half{{.multiplier = 1, .shift = 1}}, fixed{{.multiplier = 1U << 19}},
      odd{{.multiplier = 3, .shift = 1}};
  EXPECT_EQ(family.operand_scaling(one, {{.multiplier = 3}}, kSigned8)->precise, Precise::kBothAlike);
  EXPECT_EQ(family.operand_scaling(odd, fixed, kSigned8)->precise, Precise::kFirst);
  EXPECT_EQ(family.operand_scaling(fixed, odd, kSigned8)->precise, Precise::kSecond);
  EXPECT_FALSE(family.operand_scaling(odd, half, kSigned8).has_value());
  EXPECT_FALSE(family.operand_scaling(odd, fixed, kSigned16).has_value());  // 16-bit operands are shifted by 14
}

TEST(Family, unsupported_operator_has_reason) {
  EXPECT_EQ(why_not(TosaOp::INTDIV, npu::Product::kU55), "the NPU cannot divide");
  EXPECT_FALSE(why_not(TosaOp::CONV2D, npu::Product::kU55).has_value());
  for (const TosaOp op : {TosaOp::VARIABLE, TosaOp::VARIABLE_READ, TosaOp::VARIABLE_WRITE})
    EXPECT_EQ(why_not(op, npu::Product::kU65), "the NPU keeps no state between runs");
}

}  // namespace
}  // namespace carina::plan
