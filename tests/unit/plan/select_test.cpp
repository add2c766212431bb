#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks.h"
#include "plan/cost/timeline.h"
#include "plan/family/family.h"

// Tests operators that the NPU does not have: which operations replace them, and how many.
namespace carina::plan {
namespace {

std::vector<Step> finished_steps_of(const ir::Graph& graph, const char* npu = "ethos-u55-128") {
  return schedule_of(graph, *find_target(npu, "", "Sram_Only"), {}).steps.all();
}

ir::Graph dilated(int64_t size, int64_t dilation) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, size, size, 16});
  const std::vector<int8_t> weights(static_cast<size_t>(16 * 3 * 3 * 16), 1);
  const auto sum =
      b.op(TosaOp::CONV2D,
           {x, b.constant<int8_t>(DType::kInt8, {16, 3, 3, 16}, weights), b.scalar<int32_t>(DType::kInt32, 0),
            b.scalar<int8_t>(DType::kInt8, 0), b.scalar<int8_t>(DType::kInt8, 0)},
           DType::kInt32, {1, size, size, 16},
           {{"pad", std::vector<int64_t>{dilation, dilation, dilation, dilation}},
            {"stride", std::vector<int64_t>{1, 1}},
            {"dilation", std::vector<int64_t>{dilation, dilation}},
            {"local_bound", false},
            {"acc_type", DType::kInt32}});
  b.graph.outputs = {b.rescale(sum, DType::kInt8, 1 << 30, 38)};
  return std::move(b.graph);
}

TEST(Select, distant_taps_are_grouped_in_phases) {
  const auto phases = finished_steps_of(dilated(64, 12));
  EXPECT_EQ(phases.size(), 36U);  // 6 phases per axis; the NPU dilates by 2
  for (const Step& step : phases) EXPECT_EQ(step.kernel.taps(), 9);
}

TEST(Select, distant_taps_of_small_images_have_zeros_between) {
  const auto steps = finished_steps_of(dilated(6, 4));
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].kernel.taps(), 25);  // every second of 5x5 taps is used
}

TEST(Select, max_pool_with_distant_taps_compares_taps) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 100, 100, 8});
  b.graph.outputs = {b.op(TosaOp::MAX_POOL2D, {x}, DType::kInt8, {1, 20, 20, 8},
                          {{"kernel", std::vector<int64_t>{5, 5}},
                           {"stride", std::vector<int64_t>{5, 5}},
                           {"pad", std::vector<int64_t>{0, 0, 0, 0}}})};
  EXPECT_LE(finished_steps_of(b.graph).size(), 9U);  // two passes of maxima, not 400 windows
}

// A pool without stride and padding.
ir::Graph pooled(npu::PoolingMode mode, const Shape& shape, std::vector<int64_t> kernel, int64_t zero_point = 0) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, shape);
  std::vector<ir::ValueId> operands{x};
  ir::Attributes attributes{
      {"kernel", kernel}, {"stride", std::vector<int64_t>{1, 1}}, {"pad", std::vector<int64_t>{0, 0, 0, 0}}};
  const bool is_max = mode == npu::PoolingMode::MAX;
  if (!is_max) {
    const auto zero = b.scalar<int8_t>(DType::kInt8, static_cast<int8_t>(zero_point));
    operands = {x, zero, zero};
    attributes.set("acc_type", DType::kInt32);
  }
  b.graph.outputs = {b.op(is_max ? TosaOp::MAX_POOL2D : TosaOp::AVG_POOL2D, operands, DType::kInt8,
                          {shape[0], shape[1] - kernel[0] + 1, shape[2] - kernel[1] + 1, shape[3]}, attributes)};
  return std::move(b.graph);
}

TEST(Select, large_pools_are_one_of_rows_and_one_of_columns) {
  for (const auto mode : {npu::PoolingMode::MAX, npu::PoolingMode::AVERAGE}) {
    for (const char* npu : {"ethos-u55-128", "ethos-u65-256", "ethos-u85-256"}) {
      const auto steps = finished_steps_of(pooled(mode, {1, 42, 42, 16}, {42, 42}), npu);
      ASSERT_EQ(steps.size(), 2U) << npu;
      for (const Step& step : steps) EXPECT_EQ(step.kernel.taps(), 42) << npu;
    }
  }
  EXPECT_EQ(finished_steps_of(pooled(npu::PoolingMode::MAX, {1, 8, 8, 16}, {2, 2})).size(), 1U);
}

TEST(Select, mean_of_long_row_is_that_of_an_image) {
  const auto steps = finished_steps_of(pooled(npu::PoolingMode::AVERAGE, {1, 1, 196, 64}, {1, 196}));
  ASSERT_EQ(steps.size(), 2U);
  for (const Step& step : steps) EXPECT_EQ(step.kernel.taps(), 14);
}

TEST(Select, windows_side_by_side_are_pooled_in_two_operations) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 28, 28, 64});
  const auto zero = b.scalar<int8_t>(DType::kInt8, 0);
  b.graph.outputs = {b.op(TosaOp::AVG_POOL2D, {x, zero, zero}, DType::kInt8, {1, 4, 4, 64},
                          {{"kernel", std::vector<int64_t>{7, 7}},
                           {"stride", std::vector<int64_t>{7, 7}},
                           {"pad", std::vector<int64_t>{0, 0, 0, 0}},
                           {"acc_type", DType::kInt32}})};
  const auto steps = finished_steps_of(b.graph);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].ofm.width * steps[0].ofm.height, 28 * 4);
  EXPECT_EQ(steps[1].ofm.depth, 4 * 64);
}

// 100 values of up to 255, times two, are more than int16 holds.
TEST(Select, sums_of_parts_fit_16_bits) {
  const auto steps = finished_steps_of(pooled(npu::PoolingMode::AVERAGE, {1, 100, 100, 16}, {100, 100}, -128));
  ASSERT_GE(steps.size(), 1U);
  for (const Step& step : steps) {
    EXPECT_TRUE(step.ofm.type.bits < 16 || 2 * 255 * step.kernel.taps() <= kSigned16.max()) << step.kernel.taps();
  }
}

TEST(Select, sums_along_adjacent_axes_are_one_operation) {
  GraphBuilder b;
  auto sum = b.rescale(b.input("x", DType::kInt8, {4, 5, 6, 7}), DType::kInt32, 1 << 30, 30);
  Shape shape{4, 5, 6, 7};
  for (const int64_t axis : {2, 1, 3}) {
    shape[axis] = 1;
    sum = b.op(TosaOp::REDUCE_SUM, {sum}, DType::kInt32, shape, {{"axis", axis}});
  }
  b.graph.outputs = {b.rescale(sum, DType::kInt8, 1 << 30, 36)};
  EXPECT_EQ(finished_steps_of(b.graph).size(), 1U);
}

TEST(Select, narrow_tensors_compare_in_one_operation) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 4, 4, 8}), y = b.input("y", DType::kInt8, {1, 4, 4, 8});
  const auto wide_x = b.rescale(x, DType::kInt32, 1 << 30, 30), wide_y = b.rescale(y, DType::kInt32, 1 << 30, 30);
  b.graph.outputs = {b.op(TosaOp::GREATER_EQUAL, {wide_x, wide_y}, DType::kBool, {1, 4, 4, 8})};
  const auto steps = finished_steps_of(b.graph);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].ifm.type, kSigned8);
  EXPECT_EQ(steps[0].activation.min, 0);
  EXPECT_EQ(steps[0].activation.max, 1);
}

TEST(Select, maximum_of_narrow_tensors_is_one_operation) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 4, 4, 8}), y = b.input("y", DType::kInt8, {1, 4, 4, 8});
  const auto wide_x = b.rescale(x, DType::kInt32, 1 << 30, 30), wide_y = b.rescale(y, DType::kInt32, 1 << 30, 30);
  const auto larger = b.op(TosaOp::MAXIMUM, {wide_x, wide_y}, DType::kInt32, {1, 4, 4, 8});
  b.graph.outputs = {b.rescale(larger, DType::kInt8, 1 << 30, 30)};
  const auto steps = finished_steps_of(b.graph);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].elementwise, npu::ElementwiseMode::MAX);
  EXPECT_EQ(steps[0].ifm.type.bits, 8);
  EXPECT_EQ(steps[0].ofm.type.bits, 8);
}

TEST(Select, maximum_of_unequal_scales_is_32_bits) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 4, 4, 8}), y = b.input("y", DType::kInt8, {1, 4, 4, 8});
  const auto wide_x = b.rescale(x, DType::kInt32, 1 << 30, 30), wide_y = b.rescale(y, DType::kInt32, 3 << 28, 30);
  b.graph.outputs = {b.op(TosaOp::MAXIMUM, {wide_x, wide_y}, DType::kInt32, {1, 4, 4, 8})};
  const auto steps = finished_steps_of(b.graph);
  EXPECT_GT(steps.size(), 1U);
  EXPECT_EQ(steps.back().ifm.type.bits, 32);
}

TEST(Select, widening_uses_a_product) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 4, 4, 8});
  b.graph.outputs = {b.rescale(x, DType::kInt32, 1 << 30, 30)};
  const auto steps = finished_steps_of(b.graph);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].elementwise, npu::ElementwiseMode::MUL);
}

// The table of a small first operation would arrive later than the operation ends. Other operations look up themselves.
TEST(Select, first_operation_does_not_wait_for_a_table) {
  GraphBuilder b;
  const auto table = b.constant<int8_t>(DType::kInt8, {256}, std::vector<int8_t>(256, 5));
  auto x = b.input("x", DType::kInt8, {1, 4, 4, 32});
  for (int i = 0; i < 2; ++i) {
    x = b.conv(x, 32, 1, 0, 40, i);
    x = b.op(TosaOp::TABLE, {x, table}, DType::kInt8, {1, 4, 4, 32});
  }
  b.graph.outputs = {x};
  const Target target = *find_target("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Shared_Sram");
  const auto steps = schedule_of(b.graph, target, {}).steps.all();
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_FALSE(steps[0].uses_table());
  EXPECT_EQ(steps[1].kind, StepKind::kPool);
  EXPECT_TRUE(steps[2].uses_table());
}

// The constant is in the operation's registers, so it is not read from memory.
TEST(Select, constant_of_one_element_is_a_scalar) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 4, 4, 8});
  const auto factor = b.constant<int8_t>(DType::kInt8, {1, 1, 1, 1}, {-3});
  const auto zero = b.scalar<int8_t>(DType::kInt8, 0);
  for (const auto& operands : {std::vector{x, factor, zero}, std::vector{factor, x, zero}})
    b.graph.outputs.push_back(b.op(TosaOp::MUL, operands, DType::kInt32, {1, 4, 4, 8}));
  const auto steps = finished_steps_of(b.graph);
  ASSERT_EQ(steps.size(), 2U);
  for (const Step& step : steps) {
    EXPECT_EQ(step.second, SecondOperand::kScalar);
    EXPECT_EQ(step.scalar, -3);
  }
}

// The register of ethos-u85 has 32 bits, that of the others 16.
TEST(Select, wide_constant_of_one_element_is_a_scalar_if_the_register_holds_it) {
  constexpr int32_t kWide = -1010580540;
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt32, {1, 4, 4, 8});
  const auto wide = b.constant<int32_t>(DType::kInt32, {1, 1, 1, 1}, {kWide});
  b.graph.outputs = {b.op(TosaOp::SUB, {wide, x}, DType::kInt32, {1, 4, 4, 8})};
  const auto steps = finished_steps_of(b.graph, "ethos-u85-256");
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].second, SecondOperand::kScalar);
  EXPECT_EQ(steps[0].scalar, kWide);
  EXPECT_TRUE(steps[0].swapped) << "the constant is the first operand";
  for (const Step& step : finished_steps_of(b.graph)) EXPECT_NE(step.second, SecondOperand::kScalar);
}

TEST(Select, sums_over_planes_use_accumulators) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 4, 6, 6, 8});
  const std::vector<int8_t> weights(static_cast<size_t>(8 * 3 * 3 * 3 * 8), 1);
  const auto sum =
      b.op(TosaOp::CONV3D,
           {x, b.constant<int8_t>(DType::kInt8, {8, 3, 3, 3, 8}, weights), b.scalar<int32_t>(DType::kInt32, 0),
            b.scalar<int8_t>(DType::kInt8, 0), b.scalar<int8_t>(DType::kInt8, 0)},
           DType::kInt32, {1, 4, 6, 6, 8},
           {{"pad", std::vector<int64_t>{1, 1, 1, 1, 1, 1}},
            {"stride", std::vector<int64_t>{1, 1, 1}},
            {"dilation", std::vector<int64_t>{1, 1, 1}},
            {"local_bound", false},
            {"acc_type", DType::kInt32}});
  b.graph.outputs = {b.rescale(sum, DType::kInt8, 1 << 30, 38)};
  int64_t convolutions = 0;
  for (const Step& step : finished_steps_of(b.graph)) convolutions += step.kind == StepKind::kConv ? 1 : 0;
  EXPECT_EQ(convolutions, 4);  // one for each plane of the result
}

// Where only a TRANSPOSE to an output reads a convolution, ethos-u85 writes it in the order of the output.
TEST(Select, results_are_transposed_as_they_are_written) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 12, 10, 16});
  b.graph.outputs = {b.op(TosaOp::TRANSPOSE, {b.conv(x, 24, 3, 1)}, DType::kInt8, {1, 24, 12, 10},
                          {{"perms", std::vector<int64_t>{0, 3, 1, 2}}})};
  const auto steps = finished_steps_of(b.graph, "ethos-u85-256");
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].ofm.stride_c, 12 * 10);
  EXPECT_EQ(steps[0].ofm.stride_x, 1);
  EXPECT_GT(finished_steps_of(b.graph, "ethos-u55-256").size(), 1U);
}

// The product of two tensors in front of a TRANSPOSE: the NPU transposes it too, with a stride for each axis.
TEST(Select, products_are_transposed_as_they_are_written) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 12, 16}), y = b.input("y", DType::kInt8, {1, 16, 24});
  const auto zero = b.scalar<int8_t>(DType::kInt8, 0);
  const auto product =
      b.rescale(b.op(TosaOp::MATMUL, {x, y, zero, zero}, DType::kInt32, {1, 12, 24}), DType::kInt8, 1 << 30, 38);
  b.graph.outputs = {
      b.op(TosaOp::TRANSPOSE, {product}, DType::kInt8, {1, 24, 12}, {{"perms", std::vector<int64_t>{0, 2, 1}}})};
  const Step last = finished_steps_of(b.graph, "ethos-u85-256").back();
  EXPECT_TRUE(last.multiplies_second);
  EXPECT_EQ(last.ofm.stride_c, 12);
  EXPECT_EQ(last.ofm.stride_x, 1);
}

// A bilinear RESIZE writes its channels side by side, whatever the order of the output.
TEST(Select, resize_is_transposed_after_it) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 4, 4, 8});
  const auto scale = b.constant<int64_t>(DType::kShape, {4}, {4, 2, 4, 2}),
             offset = b.constant<int64_t>(DType::kShape, {2}, {-1, -1}),
             border = b.constant<int64_t>(DType::kShape, {2}, {1, 1});
  const auto resized =
      b.op(TosaOp::RESIZE, {x, scale, offset, border}, DType::kInt32, {1, 8, 8, 8}, {{"mode", int64_t{2}}});
  b.graph.outputs = {b.op(TosaOp::TRANSPOSE, {b.rescale(resized, DType::kInt8, 1 << 30, 34)}, DType::kInt8,
                          {1, 8, 8, 8}, {{"perms", std::vector<int64_t>{0, 3, 1, 2}}})};
  const auto steps = finished_steps_of(b.graph, "ethos-u85-256");
  ASSERT_EQ(steps.front().kind, StepKind::kResize);
  EXPECT_EQ(steps.front().ofm.stride_c, 1);
  EXPECT_GT(steps.size(), 1U);
}

// A RESIZE of 4x4 pixels to 8x8. `offset` and `border` are those of both axes; mode 1: the nearest neighbor.
ir::ValueId twice_the_size(GraphBuilder& b, ir::ValueId x, DType type, int64_t mode, int64_t offset, int64_t border) {
  const auto scale = b.constant<int64_t>(DType::kShape, {4}, {4, 2, 4, 2});
  const auto offsets = b.constant<int64_t>(DType::kShape, {2}, {offset, offset});
  const auto borders = b.constant<int64_t>(DType::kShape, {2}, {border, border});
  return b.op(TosaOp::RESIZE, {x, scale, offsets, borders}, type, {1, 8, 8, 8}, {{"mode", mode}});
}

TEST(Select, nearest_neighbors_of_twice_the_size_are_one_pool) {
  GraphBuilder b;
  b.graph.outputs = {twice_the_size(b, b.input("x", DType::kInt8, {1, 4, 4, 8}), DType::kInt8, 1, -1, 1)};
  const auto steps = finished_steps_of(b.graph);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].kind, StepKind::kPool);
  EXPECT_EQ(steps[0].upscale, 2);
}

// The last windows reach beyond the input. The NPU's average rounds halves away from zero.
TEST(Select, bilinear_of_twice_the_size_is_one_average_if_halves_are_rounded_away_from_zero) {
  for (const int32_t multiplier : {(1 << 30) + 1, 1 << 30}) {
    GraphBuilder b;
    const auto sums = twice_the_size(b, b.input("x", DType::kInt8, {1, 4, 4, 8}), DType::kInt32, 2, 0, 2);
    b.graph.outputs = {b.rescale(sums, DType::kInt8, multiplier, 34)};
    const auto steps = finished_steps_of(b.graph);
    EXPECT_EQ(steps.size() == 1, multiplier != 1 << 30);
    if (steps.size() != 1) continue;
    EXPECT_EQ(steps[0].upscale, 2);
    EXPECT_EQ(steps[0].kernel.height, 2);
    EXPECT_EQ(steps[0].padding, (Padding{.bottom = 1, .right = 1}));
    const auto u85 = finished_steps_of(b.graph, "ethos-u85-256");
    ASSERT_EQ(u85.size(), 1U);
    EXPECT_TRUE(u85[0].resize.rounds_away);
  }
}

ir::Graph transposed_convolution(int64_t size, int64_t stride) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, size, size, 16});
  const std::vector<int8_t> weights(static_cast<size_t>(8 * 3 * 3 * 16), 1);
  const int64_t out = (size - 1) * stride + 3;
  const auto sum =
      b.op(TosaOp::TRANSPOSE_CONV2D,
           {x, b.constant<int8_t>(DType::kInt8, {8, 3, 3, 16}, weights), b.scalar<int32_t>(DType::kInt32, 0),
            b.scalar<int8_t>(DType::kInt8, 0), b.scalar<int8_t>(DType::kInt8, 0)},
           DType::kInt32, {1, out, out, 8},
           {{"out_pad", std::vector<int64_t>{0, 0, 0, 0}}, {"stride", std::vector<int64_t>{stride, stride}}});
  b.graph.outputs = {b.rescale(sum, DType::kInt8, 1 << 30, 38)};
  return std::move(b.graph);
}

TEST(Select, transposed_convolution_of_a_small_map_inserts_zeros) {
  const auto small = finished_steps_of(transposed_convolution(4, 2));
  ASSERT_EQ(small.size(), 1U);
  EXPECT_TRUE(small[0].inserts_zeros);
  EXPECT_EQ(small[0].padding, (Padding{.top = 2, .bottom = 1, .left = 2, .right = 1}));
  EXPECT_EQ(finished_steps_of(transposed_convolution(64, 2)).size(), 4U);  // phases
  EXPECT_EQ(finished_steps_of(transposed_convolution(4, 3)).size(), 9U);
  EXPECT_EQ(finished_steps_of(transposed_convolution(4, 2), "ethos-u85-256").size(), 4U);
}

// Sums of int16 that fit 32 bits, which a first RESCALE shifts by 2 and a second one scales with 31 bits. With larger
// weights they might not fit.
TEST(Select, sums_that_fit_32_bits_are_scaled_by_31_bits) {
  for (const int8_t weight : {int8_t{3}, int8_t{127}}) {
    GraphBuilder b;
    const std::vector<int8_t> weights(16 * 600, weight);
    const auto x = b.input("x", DType::kInt16, {1, 1, 1, 600});
    const auto sum =
        b.op(TosaOp::CONV2D,
             {x, b.constant<int8_t>(DType::kInt8, {16, 1, 1, 600}, weights),
              b.graph.add_constant(
                  "bias", {.dtype = DType::kInt48, .shape = {1}, .data = Buffer::copy_of(std::vector<std::byte>(8))}),
              b.scalar<int16_t>(DType::kInt16, 0), b.scalar<int8_t>(DType::kInt8, 0)},
             DType::kInt48, {1, 1, 1, 16},
             {{"pad", std::vector<int64_t>{0, 0, 0, 0}},
              {"stride", std::vector<int64_t>{1, 1}},
              {"dilation", std::vector<int64_t>{1, 1}},
              {"local_bound", false},
              {"acc_type", DType::kInt48}});
    const auto narrow = b.op(TosaOp::RESCALE,
                             {sum, b.scalar<int16_t>(DType::kInt16, 1 << 14), b.scalar<int8_t>(DType::kInt8, 12),
                              b.scalar<int64_t>(DType::kInt48, 0), b.scalar<int32_t>(DType::kInt32, 0)},
                             DType::kInt32, {1, 1, 1, 16},
                             {{"scale32", false},
                              {"rounding_mode", int64_t{1}},
                              {"per_channel", false},
                              {"input_unsigned", false},
                              {"output_unsigned", false}});
    b.graph.outputs = {b.rescale(narrow, DType::kInt16, 1234567891, 45)};
    const auto steps = finished_steps_of(b.graph);
    EXPECT_EQ(steps.size() == 1, weight == 3);
    EXPECT_EQ(steps[0].acc == AccWidth::kNarrow, weight == 3);
  }
}

// 32-bit constants of additions, which the NPU has no register for. ethos-u65 has its constants in DRAM by default.
TEST(Select, small_constants_are_copied_once_from_slow_memory) {
  GraphBuilder b;
  auto x = b.input("x", DType::kInt32, {1, 4, 8});
  for (int32_t i = 0; i < 8; ++i)
    x = b.op(TosaOp::ADD, {x, b.constant<int32_t>(DType::kInt32, {1, 1, 1}, {1'000'000 + i})}, DType::kInt32,
             {1, 4, 8});
  b.graph.outputs = {x};
  const auto steps = schedule_of(b.graph, *find_target("ethos-u65-256", "", ""), {}).steps.all();
  ASSERT_EQ(steps.size(), 9U);
  EXPECT_EQ(steps[0].kind, StepKind::kDma);
  EXPECT_EQ(steps[0].dma_bytes, 8 * 16);
  for (size_t i = 1; i < steps.size(); ++i) EXPECT_EQ(steps[i].ifm2.tensor, steps[0].ofm.tensor);
  const auto in_sram = schedule_of(b.graph, *find_target("ethos-u65-256", "", "Sram_Only"), {}).steps.all();
  EXPECT_EQ(in_sram.size(), 8U);
}

// The sum along an axis of one element is a RESCALE. A convolution of 16-bit elements has scales of 15 bits.
TEST(Select, sum_of_one_element_is_a_rescale) {
  for (const char* npu : {"ethos-u85-256", "ethos-u55-128"}) {
    GraphBuilder b;
    const auto x = b.input("x", DType::kInt16, {1, 6, 8});
    const auto wide = b.op(TosaOp::RESCALE,
                           {x, b.scalar<int32_t>(DType::kInt32, 1 << 30), b.scalar<int8_t>(DType::kInt8, 30),
                            b.scalar<int16_t>(DType::kInt16, 0), b.scalar<int32_t>(DType::kInt32, 0)},
                           DType::kInt32, {1, 6, 8},
                           {{"scale32", true},
                            {"rounding_mode", int64_t{1}},
                            {"per_channel", false},
                            {"input_unsigned", false},
                            {"output_unsigned", false}});
    const auto sum = b.op(TosaOp::REDUCE_SUM, {wide}, DType::kInt32, {1, 6, 8}, {{"axis", int64_t{0}}});
    b.graph.outputs = {b.rescale(sum, DType::kInt8, 2139160337, 37)};
    const auto steps = finished_steps_of(b.graph, npu);
    ASSERT_EQ(steps.size(), 1U) << npu;
    EXPECT_EQ(steps[0].kind, StepKind::kPool);
    EXPECT_EQ(steps[0].scaling.multiplier, 2139160337U);
  }
}

TEST(Select, copy_to_another_axis_order_is_one_transposing_pool) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 24, 16, 20});
  b.graph.outputs = {
      b.op(TosaOp::TRANSPOSE, {x}, DType::kInt8, {1, 20, 24, 16}, {{"perms", std::vector<int64_t>{0, 3, 1, 2}}})};
  const auto steps = finished_steps_of(b.graph, "ethos-u85-256");
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].kind, StepKind::kPool);
  EXPECT_EQ(steps[0].ofm.stride_c, 24 * 16);
}

// A depthwise convolution of one channel with several results per channel is an ordinary convolution, which reads
// patches if its stride is beyond the NPU's limit.
TEST(Select, depthwise_convolution_of_one_channel_reads_patches) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 1, 4000, 1});
  const std::vector<int8_t> weights(static_cast<size_t>(15 * 16), 1);
  const auto sum =
      b.op(TosaOp::DEPTHWISE_CONV2D,
           {x, b.constant<int8_t>(DType::kInt8, {1, 15, 1, 16}, weights), b.scalar<int32_t>(DType::kInt32, 0),
            b.scalar<int8_t>(DType::kInt8, 0), b.scalar<int8_t>(DType::kInt8, 0)},
           DType::kInt32, {1, 1, 1000, 16},
           {{"pad", std::vector<int64_t>{0, 0, 7, 4}},
            {"stride", std::vector<int64_t>{1, 4}},
            {"dilation", std::vector<int64_t>{1, 1}},
            {"local_bound", false},
            {"acc_type", DType::kInt32}});
  b.graph.outputs = {b.rescale(sum, DType::kInt8, 1 << 30, 38)};
  EXPECT_LE(finished_steps_of(b.graph, "ethos-u85-256").size(), 4U);  // not 1000 rows of one pixel
}

// Channels that become the outermost axis are picked from runs of pixels: reading single elements takes ten times as
// long on ethos-u85-1024.
TEST(Select, transposition_of_few_channels_reads_runs_of_pixels) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 96, 96, 4});
  b.graph.outputs = {
      b.op(TosaOp::TRANSPOSE, {x}, DType::kInt8, {1, 4, 96, 96}, {{"perms", std::vector<int64_t>{0, 3, 1, 2}}})};
  const Target target = *find_target("ethos-u85-1024", "Ethos_U85_SYS_DRAM_Mid", "Shared_Sram");
  const Schedule schedule = schedule_of(b.graph, target);
  ASSERT_EQ(schedule.steps.size(), 4U) << "one for each channel";
  for (const Step& step : schedule.steps) EXPECT_EQ(step.ifm.depth, 15 * 4 + 1);
  EXPECT_LT(cost_of(schedule, **find_family(target), target), 11'520);
}

}  // namespace
}  // namespace carina::plan
