#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "build_graph.h"
#include "networks.h"
#include "npu/weights/weight_codec.h"
#include "plan/compile.h"
#include "plan/cost/timeline.h"
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
    weights.factors.resize(40);
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
  const Scaling odd{{.multiplier = 0x6000'0001, .shift = 33}}, other{{.multiplier = 3, .shift = 1}};
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

// A convolution with these weights [channels, kernel, kernel, inputs].
ir::Graph convolution_of(const std::vector<int8_t>& weights, const Shape& shape, int64_t size) {
  GraphBuilder b;
  const int64_t channels = shape[0], kernel = shape[1], pad = kernel / 2;
  const auto x = b.input("x", DType::kInt8, {1, size, size, shape[3]});
  const auto sum = b.op(TosaOp::CONV2D,
                        {x, b.constant<int8_t>(DType::kInt8, shape, weights), b.scalar<int32_t>(DType::kInt32, 0),
                         b.scalar<int8_t>(DType::kInt8, 0), b.scalar<int8_t>(DType::kInt8, 0)},
                        DType::kInt32, {1, size, size, channels},
                        {{"pad", std::vector<int64_t>{pad, pad, pad, pad}},
                         {"stride", std::vector<int64_t>{1, 1}},
                         {"dilation", std::vector<int64_t>{1, 1}},
                         {"local_bound", false},
                         {"acc_type", DType::kInt32}});
  b.graph.outputs = {b.rescale(sum, DType::kInt8, 1 << 30, 40)};
  return std::move(b.graph);
}

std::vector<int8_t> random_weights(const Shape& shape) {
  std::mt19937 random(3);
  std::vector<int8_t> weights(static_cast<size_t>(shape.elements()));
  for (int8_t& weight : weights) weight = static_cast<int8_t>(1 + random() % 120);
  return weights;
}

std::vector<int16_t> widened(const std::vector<int8_t>& values) {
  return {values.begin(), values.end()};
}

TEST(U85Family, two_of_four_weights_take_half_the_time) {
  const Shape shape{128, 3, 3, 128};
  const std::vector<int8_t> dense = random_weights(shape);
  std::vector<int8_t> sparse = dense;
  for (size_t i = 0; i < sparse.size(); ++i) sparse[i] = i % 4 < 2 ? sparse[i] : int8_t{0};
  for (const char* npu : kU85s) {
    const Target target = *find_target(npu, "", "Sram_Only");
    const Family& family = **find_family(target);
    const Schedule slow = schedule_of(convolution_of(dense, shape, 24), target),
                   fast = schedule_of(convolution_of(sparse, shape, 24), target);
    EXPECT_EQ(fast.stripes[0].block.sparsity, npu::WeightSparsity::SPARSE_2_4) << npu;
    // The largest NPU waits for its decoders.
    const double share = target.accelerator.macs_per_cycle > 1024 ? 0.8 : 0.6;
    EXPECT_LT(cost_of(fast, family, target), share * cost_of(slow, family, target)) << npu;
    // One group with three weights is enough.
    sparse[2] = 1;
    EXPECT_EQ(schedule_of(convolution_of(sparse, shape, 24), target).stripes[0].block.sparsity,
              npu::WeightSparsity::NONE);
    sparse[2] = 0;
  }
}

// Of a group of four channels, an input of one or two channels has no more than two. So the first layer of a network
// may take half the multiplications, whatever its weights are.
TEST(U85Family, weights_of_one_or_two_input_channels_are_two_of_four) {
  for (const int64_t channels : {1, 2, 3}) {
    const Shape shape{16, 10, 8, channels};
    const TwoOfFour found = two_of_four({.out_channels = 16,
                                         .height = 10,
                                         .width = 8,
                                         .in_channels = channels,
                                         .values = widened(random_weights(shape))});
    EXPECT_EQ(found.holds(), channels < 3) << channels;
  }
}

// Nearly all weights of such a layer are the order's padding, so the decoders are not the limit.
TEST(U85Family, first_layers_of_one_channel_take_two_of_four_weights) {
  const Shape shape{16, 5, 5, 1};
  const Target target = *find_target("ethos-u85-1024", "Ethos_U85_SYS_DRAM_Mid", "Shared_Sram");
  const Schedule schedule = schedule_of(convolution_of(random_weights(shape), shape, 88), target);
  EXPECT_EQ(schedule.stripes[0].block.sparsity, npu::WeightSparsity::SPARSE_2_4);
  EXPECT_GT(schedule.slices[0].zeros_per_million, 700'000);
}

// A layer that multiplies each weight once waits for the decoder. The fast format decodes three times as many weights.
TEST(U85Family, layers_that_wait_for_the_decoder_take_the_fast_format) {
  const Shape shape{1024, 1, 1, 512};
  const ir::Graph graph = convolution_of(random_weights(shape), shape, 1);
  const Target target = *find_target("ethos-u85-256", "", "Sram_Only");
  EXPECT_EQ(schedule_of(graph, target).stripes[0].block.format, npu::WeightFormat::FWD);
  Options small;
  small.optimize = Optimize::kSize;
  EXPECT_EQ(schedule_of(graph, target, small).stripes[0].block.format, npu::WeightFormat::SWD);
  const Shape image{64, 3, 3, 64};
  EXPECT_EQ(schedule_of(convolution_of(random_weights(image), image, 32), target).stripes[0].block.format,
            npu::WeightFormat::SWD);
}

// Weights that cannot be compressed take as many bytes in both formats. A layer that waits for its memory loses nothing
// with the fast one.
TEST(U85Family, weights_of_equal_size_take_the_fast_format) {
  const Shape shape{512, 1, 1, 512};
  const Target slow = *find_target("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Shared_Sram");
  const auto format_of = [&](std::vector<int8_t> weights) {
    return schedule_of(convolution_of(std::move(weights), shape, 1), slow).stripes[0].block.format;
  };
  std::mt19937 random(3);
  std::vector<int8_t> any(static_cast<size_t>(shape.elements()));
  for (int8_t& weight : any) weight = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
  EXPECT_EQ(format_of(any), npu::WeightFormat::FWD);
  EXPECT_EQ(format_of(random_weights(shape)), npu::WeightFormat::SWD);  // of 120 values
}

// Two taps are padded to four if they come first. The standard format decodes these zeros fast, the fast one does not.
TEST(U85Family, fast_format_takes_the_order_without_padding) {
  const Shape shape{10, 1, 2, 640};
  const Target target = *find_target("ethos-u85-256", "", "Sram_Only");
  const Schedule schedule = schedule_of(convolution_of(random_weights(shape), shape, 3), target);
  EXPECT_EQ(schedule.stripes[0].block.format, npu::WeightFormat::FWD);
  EXPECT_EQ(schedule.stripes[0].block.order, npu::WeightOrder::DEPTH_FIRST);
}

}  // namespace
}  // namespace carina::plan
