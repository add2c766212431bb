#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "npu/weights/weight_codec.h"
#include "plan/compile.h"
#include "plan/family/family.h"
#include "plan/family/rules/rules.h"

namespace carina::plan {
namespace {

constexpr std::array kU85s{"ethos-u85-128", "ethos-u85-256", "ethos-u85-512", "ethos-u85-1024", "ethos-u85-2048"};

Step random_step(std::mt19937& random) {
  const auto pick = [&](int64_t below) { return static_cast<int64_t>(random() % static_cast<uint64_t>(below)); };
  const ElementType type = pick(3) == 0 ? kSigned16 : kSigned8;
  Step op{.kind = static_cast<StepKind>(pick(4))};
  if (op.kind == StepKind::kPool) {
    using enum npu::PoolingMode;
    constexpr std::array kModes{MAX, AVERAGE, REDUCE_SUM, SUM, NONE, MIN, ARGMAX_X};
    op.pool = kModes[static_cast<size_t>(pick(kModes.size()))];
  }
  if (op.kind == StepKind::kElementwise) {
    op.second = pick(2) == 0 ? SecondOperand::kScalar : SecondOperand::kFeatureMap;
    op.broadcast = {.height = pick(3) == 0, .width = pick(3) == 0, .depth = pick(3) == 0};
  } else if (op.kind != StepKind::kPool || op.pool != npu::PoolingMode::REDUCE_SUM) {
    op.kernel = {.height = 1 + pick(9), .width = 1 + pick(9), .stride_y = 1 + pick(3), .stride_x = 1 + pick(3)};
  }
  op.ofm = {.height = 1 + pick(90), .width = 1 + pick(90), .depth = 1 + pick(300), .type = type};
  const bool wide = op.kind == StepKind::kElementwise && pick(2) == 0;
  op.ifm = {.height = op.ofm.height,
            .width = op.ofm.width,
            .depth = op.sums_over_depth() ? 1 + pick(300) : op.ofm.depth,
            .type = wide ? kSigned32 : type};
  op.acc = op.is_convolution() && type.bits == 16 ? AccWidth::kWide : AccWidth::kNarrow;
  return op;
}

const npu::OfmUblock* ublock_of(const BlockConfig& block, const npu::AcceleratorConfig& npu) {
  for (int i = 0; i < npu.ofm_ublock_count; ++i) {
    if (npu.ofm_ublocks[static_cast<size_t>(i)].code == block.ublock) return &npu.ofm_ublocks[static_cast<size_t>(i)];
  }
  return nullptr;
}

TEST(U85Family, each_step_has_a_block_of_its_ublock) {
  for (const char* name : kU85s) {
    const Target target = *find_target(name, "", "");
    const Family& family = **find_family(target);
    std::mt19937 random(7);
    for (int i = 0; i < 60; ++i) {
      const Step op = random_step(random);
      const auto blocks = family.legal_blocks(op, target);
      ASSERT_FALSE(blocks.empty()) << name << " " << i;
      for (const BlockConfig& block : blocks) {
        const npu::OfmUblock* ublock = ublock_of(block, target.accelerator);
        ASSERT_NE(ublock, nullptr) << name << " " << i;
        EXPECT_EQ(block.height % ublock->block.height + block.width % ublock->block.width, 0);
        EXPECT_EQ(block.depth % ublock->block.depth + block.depth % npu::kBrickDepth, 0);
        EXPECT_LE(std::max(block.height, block.width), 128);
        EXPECT_LE(block.depth, 1024);
      }
    }
  }
}

// The input, accumulators and output of a block fit the internal memories, for every operation.
TEST(U85Family, blocks_fit_internal_memories) {
  for (const char* name : kU85s) {
    const Target target = *find_target(name, "", "");
    const Family& family = **find_family(target);
    const npu::U85Rams& rams = target.accelerator.u85;
    std::mt19937 random(8);
    for (int i = 0; i < 60; ++i) {
      const Step op = random_step(random);
      for (const BlockConfig& b : family.legal_blocks(op, target)) {
        const int64_t elements = b.height * b.width * b.depth;
        if (op.kind == StepKind::kElementwise) {
          EXPECT_LE(elements * op.ifm.type.bytes(), rams.output_buffer_bytes);
          continue;
        }
        const npu::Block3 in = family.input_block(op, b, target);
        const int64_t depth = op.kind == StepKind::kConv ? std::min<int64_t>(in.depth, op.ifm.depth) : in.depth;
        EXPECT_LE(elements * (op.acc == AccWidth::kWide ? 8 : 4), rams.accumulator_bytes);
        EXPECT_LE(in.height * in.width * depth * op.ifm.type.bytes(), rams.ifm_bytes) << name << " " << i;
      }
    }
  }
}

TEST(U85Family, one_scale_table_and_a_stream_per_decoder_are_stored) {
  for (const char* name : kU85s) {
    const Target target = *find_target(name, "", "");
    const Family& family = **find_family(target);
    Weights weights{.out_channels = 40, .in_channels = 3, .values = std::vector<int16_t>(120, 1)};
    weights.biases.assign(40, 0);
    weights.multipliers.assign(40, 1);
    weights.shifts.assign(40, 0);
    const Step op{.kind = StepKind::kConv,
                  .ofm = {.height = 4, .width = 4, .depth = 40},
                  .ifm = {.height = 4, .width = 4, .depth = 3}};
    const BlockConfig block = family.legal_blocks(op, target).front();
    const EncodedSlice slice = family.encode(family.traversal(op, block, weights, target), weights, 0, nullptr);
    ASSERT_EQ(slice.cores.size(), static_cast<size_t>(target.accelerator.weight_decoders));
    EXPECT_GE(slice.cores.front().scale_bytes, 400);
    for (const CoreStream& core : slice.cores) {
      EXPECT_EQ(core.weight_offset % npu::kBaseAlignmentBytes, 0);
      const auto stream = std::span(*slice.weights)
                              .subspan(static_cast<size_t>(core.weight_offset), static_cast<size_t>(core.weight_bytes));
      EXPECT_TRUE(npu::decode_swd(stream, 1 << 20, name).has_value());
    }
  }
}

TEST(U85Family, both_operands_scale_freely) {
  const Family& family = **find_family(*find_target("ethos-u85-256", "", ""));
  const Scaling odd{.multiplier = 0x6000'0001, .shift = 33}, other{.multiplier = 3, .shift = 1};
  const auto operands = family.operand_scaling(odd, other, kSigned16);
  ASSERT_TRUE(operands.has_value());
  EXPECT_EQ(operands->first, odd);
  EXPECT_EQ(operands->second, other);
}

TEST(U85Family, non_affine_operands_are_rejected) {
  for (const TosaOp op : {TosaOp::COND_IF, TosaOp::WHILE_LOOP})
    EXPECT_EQ(why_not(op, npu::Product::kU85), "the NPU has no control flow");
  for (const TosaOp op : {TosaOp::GATHER, TosaOp::INTDIV, TosaOp::SELECT, TosaOp::BITWISE_XOR, TosaOp::CONV3D})
    EXPECT_FALSE(why_not(op, npu::Product::kU85).has_value());
}

TEST(U85Family, memories_follow_the_mode) {
  const auto spaces_of = [](const char* mode) {
    const Target target = *find_target("ethos-u85-256", "", mode);
    return *(*find_family(target))->spaces(target);
  };
  EXPECT_FALSE(spaces_of("Sram_Only")[static_cast<size_t>(Space::kFastScratch)].has_value());
  const auto dedicated = spaces_of("Dedicated_Sram_384KB");
  const auto& fast = dedicated[static_cast<size_t>(Space::kFastScratch)];
  ASSERT_TRUE(fast.has_value());
  EXPECT_EQ(fast->region, 2);
  EXPECT_EQ(fast->port, 0U);
  EXPECT_EQ(fast->limit_bytes, 384 * 1024);
  EXPECT_EQ(dedicated[static_cast<size_t>(Space::kArena)]->port, 1U);
}

}  // namespace
}  // namespace carina::plan
