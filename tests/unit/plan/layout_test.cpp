#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "networks.h"

// Checks which steps selection makes of graphs whose axes have another order than the NPU's. No step only moves data if
// an address can express the layout. tests/integration/plan/test_plan.py checks the results.
namespace carina::plan {
namespace {

using Perms = std::vector<int64_t>;

struct Layouts : GraphBuilder {
  ir::ValueId shape(const std::vector<int64_t>& sizes) {
    return graph.add_constant("shape", Tensor::of<int64_t>(DType::kShape, {static_cast<int64_t>(sizes.size())}, sizes));
  }
  ir::ValueId transpose(ir::ValueId x, const Perms& perms) {
    std::vector<int64_t> dims;
    for (const int64_t p : perms) dims.push_back(graph[x].shape[static_cast<size_t>(p)]);
    return op(TosaOp::TRANSPOSE, {x}, DType::kInt8, Shape(std::span<const int64_t>(dims)), {{"perms", perms}});
  }
  ir::ValueId reshape(ir::ValueId x, const std::vector<int64_t>& dims) {
    const ir::ValueId to = shape(dims);
    return op(TosaOp::RESHAPE, {x, to}, graph[x].dtype, Shape(std::span<const int64_t>(dims)));
  }
  ir::ValueId slice(ir::ValueId x, const std::vector<int64_t>& start, const std::vector<int64_t>& size) {
    const ir::ValueId from = shape(start), sizes = shape(size);
    return op(TosaOp::SLICE, {x, from, sizes}, graph[x].dtype, Shape(std::span<const int64_t>(size)));
  }
  ir::ValueId pad(ir::ValueId x, const std::vector<int64_t>& padding, const Shape& out) {
    const ir::ValueId by = shape(padding), fill = scalar<int8_t>(DType::kInt8, 3);
    return op(TosaOp::PAD, {x, by, fill}, DType::kInt8, out);
  }
  ir::ValueId add(ir::ValueId a, ir::ValueId b) {
    const ir::ValueId wide_a = rescale(a, DType::kInt32, 1 << 30, 11), wide_b = rescale(b, DType::kInt32, 1 << 30, 11);
    const Shape shape = graph[a].shape;
    return rescale(op(TosaOp::ADD, {wide_a, wide_b}, DType::kInt32, shape), DType::kInt8, 1 << 30, 50);
  }
};

std::vector<Step> steps_of(const ir::Graph& graph, const char* npu = "ethos-u55-128") {
  return schedule_of(graph, *find_target(npu, "", ""), {}, "selection").steps.all();
}
int64_t count(const std::vector<Step>& steps, StepKind kind) {
  return std::ranges::count(steps, kind, &Step::kind);
}

TEST(Layout, reshaped_output_is_written_in_place) {
  Layouts b;
  const auto x = b.input("x", DType::kInt8, {1, 1, 1, 16});
  b.graph.outputs = {b.reshape(b.conv(x, 10, 1, 0), {1, 10})};
  EXPECT_EQ(steps_of(b.graph).size(), 1U);
}

// An average pool needs the padding in memory. The value is computed between it, not copied there.
TEST(Layout, padding_of_average_pools_is_written_around_the_value) {
  Layouts b;
  const auto x = b.input("x", DType::kInt8, {1, 16, 16, 16});
  const auto padded = b.pad(b.conv(x, 16, 3, 1), {0, 0, 1, 1, 1, 1, 0, 0}, {1, 18, 18, 16});
  const auto zero = b.scalar<int8_t>(DType::kInt8, 0);
  b.graph.outputs = {b.op(TosaOp::AVG_POOL2D, {padded, zero, zero}, DType::kInt8, {1, 16, 16, 16},
                          {{"kernel", std::vector<int64_t>{3, 3}},
                           {"stride", std::vector<int64_t>{1, 1}},
                           {"pad", std::vector<int64_t>{0, 0, 0, 0}},
                           {"acc_type", DType::kInt32}})};
  const Schedule schedule = schedule_of(b.graph, *find_target("ethos-u55-128", "", "Sram_Only"));
  EXPECT_EQ(schedule.tensors.size(), 3U) << "input, padded value, output";
}

TEST(Layout, slice_after_transpose_moves_after_copy) {
  Layouts b;
  const auto x = b.input("x", DType::kInt8, {1, 3, 20, 20});
  const auto nhwc = b.transpose(x, {0, 2, 3, 1});
  b.graph.outputs = {b.conv(b.slice(nhwc, {0, 1, 0, 0}, {1, 19, 19, 3}), 8, 3, 0)};
  const auto steps = steps_of(b.graph);
  ASSERT_EQ(steps.size(), 2U);  // one copy of all rows, not 19 copies
  EXPECT_EQ(steps[0].ofm.width, 19 * 20);
  EXPECT_EQ(steps[1].ifm.height, 19);
}

TEST(Layout, strided_shortcut_keeps_layout_of_convolutions) {
  Layouts b;
  const auto x = b.conv(b.input("x", DType::kInt8, {1, 8, 8, 16}), 16, 3, 1);
  const auto planes = b.transpose(x, {0, 3, 1, 2});
  auto shortcut = b.slice(b.reshape(planes, {1, 16, 4, 2, 8}), {0, 0, 0, 1, 0}, {1, 16, 4, 1, 8});
  shortcut = b.slice(b.reshape(shortcut, {1, 16, 4, 4, 2}), {0, 0, 0, 0, 0}, {1, 16, 4, 4, 1});
  shortcut = b.pad(b.reshape(shortcut, {1, 16, 4, 4}), {0, 0, 8, 8, 0, 0, 0, 0}, {1, 32, 4, 4});
  const auto main = b.conv(b.input("y", DType::kInt8, {1, 4, 4, 16}), 32, 3, 1);
  const auto sum = b.add(b.transpose(main, {0, 3, 1, 2}), shortcut);
  b.graph.outputs = {b.conv(b.transpose(sum, {0, 2, 3, 1}), 8, 1, 0)};
  const auto steps = steps_of(b.graph);
  EXPECT_EQ(count(steps, StepKind::kConv), 3);  // the convolutions of the network
  EXPECT_EQ(count(steps, StepKind::kPool), 3);  // padding: one copy and two sides
  EXPECT_EQ(count(steps, StepKind::kElementwise), 1);
}

TEST(Layout, reordered_outputs_are_transposed_after_addition) {
  Layouts b;
  const auto x = b.conv(b.input("x", DType::kInt8, {1, 8, 8, 16}), 16, 3, 1);
  const auto planes = b.transpose(x, {0, 3, 1, 2});
  b.graph.outputs = {b.add(planes, planes)};
  const auto steps = steps_of(b.graph);
  const auto sum = std::ranges::find(steps, StepKind::kElementwise, &Step::kind);
  ASSERT_NE(sum, steps.end());
  EXPECT_EQ(sum->ofm.depth, 16);  // not 1,024 elements apart
}

// A convolution with weights [out, kernel, kernel, channels], this stride, and padding before the first row and column,
// over x in NHWC.
ir::ValueId strided_conv(Layouts& b, ir::ValueId x, int64_t channels, int64_t kernel, int64_t stride, int64_t pad = 0) {
  const Shape in = b.graph[x].shape;
  const std::vector<int8_t> values(static_cast<size_t>(channels * kernel * kernel * in[3]), 1);
  const auto weights = b.constant<int8_t>(DType::kInt8, {channels, kernel, kernel, in[3]}, values);
  const auto bias = b.constant<int32_t>(DType::kInt32, {1}, {7});
  const auto input_zp = b.scalar<int8_t>(DType::kInt8, 3), weight_zp = b.scalar<int8_t>(DType::kInt8, 0);
  const Shape out{in[0], (in[1] + pad - kernel) / stride + 1, (in[2] + pad - kernel) / stride + 1, channels};
  const auto sum = b.op(TosaOp::CONV2D, {x, weights, bias, input_zp, weight_zp}, DType::kInt32, out,
                        {{"pad", std::vector<int64_t>{pad, 0, pad, 0}},
                         {"stride", std::vector<int64_t>{stride, stride}},
                         {"dilation", std::vector<int64_t>{1, 1}},
                         {"local_bound", false},
                         {"acc_type", DType::kInt32}});
  return b.rescale(sum, DType::kInt8, 1 << 30, 40);
}

TEST(Layout, concatenated_planes_keep_pixel_order) {
  Layouts b;
  const auto x = b.conv(b.input("x", DType::kInt8, {1, 4, 4, 8}), 16, 1, 0);
  const auto planes = b.reshape(b.transpose(x, {0, 3, 1, 2}), {1, 16, 16});
  const auto more = b.constant<int8_t>(DType::kInt8, {1, 16, 1}, std::vector<int8_t>(16, 5));
  const auto tokens = b.op(TosaOp::CONCAT, {more, planes}, DType::kInt8, {1, 16, 17}, {{"axis", int64_t{2}}});
  const auto weights = b.constant<int8_t>(DType::kInt8, {1, 16, 17}, std::vector<int8_t>(16 * 17, 3));
  const auto rows = b.transpose(b.add(tokens, weights), {0, 2, 1});
  b.graph.outputs = {b.conv(b.reshape(rows, {1, 1, 17, 16}), 8, 1, 0)};
  const auto steps = steps_of(b.graph);
  EXPECT_EQ(count(steps, StepKind::kConv), 2);  // no transpose, also not of the constant
  const auto sum = std::ranges::find(steps, StepKind::kElementwise, &Step::kind);
  ASSERT_NE(sum, steps.end());
  EXPECT_EQ(sum->ofm.depth, 16);
}

TEST(Layout, image_planes_are_written_separately) {
  Layouts b;
  const auto x = b.conv(b.input("x", DType::kInt8, {1, 32, 32, 8}), 2, 1, 0);
  b.graph.outputs = {b.transpose(x, {0, 3, 1, 2})};
  const auto steps = steps_of(b.graph);
  ASSERT_EQ(steps.size(), 3U);  // not one operation per sixteen pixels
  EXPECT_EQ(steps.back().ofm.width, 32 * 32 / 16);
  Layouts many;
  const auto y = many.conv(many.input("x", DType::kInt8, {1, 32, 32, 8}), 16, 1, 0);
  many.graph.outputs = {many.transpose(y, {0, 3, 1, 2})};
  EXPECT_EQ(steps_of(many.graph).back().ofm.width, 16);  // 16 channels, adjacent in the input
}

// The windows of an adaptive pool overlap. A planner that transposes each of them moves some elements four times.
TEST(Layout, an_input_is_transposed_once_for_parts_that_overlap) {
  Layouts b;
  const auto x = b.input("x", DType::kInt8, {1, 16, 14, 14});
  for (const int64_t start : {0, 5}) {
    const auto part = b.slice(x, {0, 0, start, 0}, {1, 16, 9, 14});
    b.graph.outputs.push_back(b.conv(b.transpose(part, {0, 2, 3, 1}), 4, 1, 0));
  }
  const auto steps = steps_of(b.graph);
  const auto is_output = [&](const Step& step) { return step.ofm.depth == 4; };
  EXPECT_EQ(std::ranges::count_if(steps, is_output), 2);
  int64_t elements = 0;
  for (const Step& step : steps) elements += is_output(step) ? 0 : step.ofm.height * step.ofm.width * step.ofm.depth;
  EXPECT_EQ(elements, 16 * 14 * 14);
}

// Halves of the channels are transposed one by one, so that each has its channels side by side.
TEST(Layout, parts_of_the_channels_are_transposed_apart) {
  Layouts b;
  const auto x = b.input("x", DType::kInt8, {1, 32, 8, 8});
  for (const int64_t start : {0, 16}) {
    const auto part = b.slice(x, {0, start, 0, 0}, {1, 16, 8, 8});
    b.graph.outputs.push_back(b.conv(b.transpose(part, {0, 2, 3, 1}), 4, 1, 0));
  }
  for (const Step& step : steps_of(b.graph)) {
    if (step.ofm.depth == 4) {
      EXPECT_EQ(step.ifm.stride_x, 16);
    }
  }
}

// ethos-u65 has its inputs in DRAM, from which single elements take a burst each. A pool would read them one by one.
TEST(Layout, an_input_in_slow_memory_is_read_by_rows) {
  Layouts b;
  const auto x = b.input("x", DType::kInt16, {1, 16, 10, 10});
  b.graph.outputs = {
      b.op(TosaOp::MAX_POOL2D,
           {b.op(TosaOp::TRANSPOSE, {x}, DType::kInt16, {1, 10, 10, 16}, {{"perms", Perms{0, 2, 3, 1}}})},
           DType::kInt16, {1, 5, 5, 16},
           {{"kernel", std::vector<int64_t>{2, 2}},
            {"stride", std::vector<int64_t>{2, 2}},
            {"pad", std::vector<int64_t>{0, 0, 0, 0}},
            {"nan_mode", int64_t{1}}})};
  EXPECT_EQ(steps_of(b.graph, "ethos-u65-256").front().kind, StepKind::kConv);
}

// One pool whose results ethos-u85 stores transposed takes fewer cycles there than two convolutions with their weights.
TEST(Layout, an_output_is_transposed_by_one_pool) {
  Layouts b;
  const auto x = b.add(b.input("x", DType::kInt8, {1, 24, 40}), b.input("y", DType::kInt8, {1, 24, 40}));
  b.graph.outputs = {b.transpose(x, {0, 2, 1})};
  const auto steps = steps_of(b.graph, "ethos-u85-1024");
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps.back().kind, StepKind::kPool);
}

TEST(Layout, merged_heads_are_written_in_place) {
  Layouts b;
  const auto x = b.conv(b.input("x", DType::kInt8, {1, 2, 6, 8}), 8, 1, 0);
  const auto merged = b.reshape(b.transpose(x, {0, 2, 1, 3}), {1, 1, 6, 16});
  b.graph.outputs = {b.conv(merged, 8, 1, 0)};
  EXPECT_EQ(steps_of(b.graph).size(), 2U);
}

TEST(Layout, argmax_of_many_channels_compares_groups) {
  Layouts b;
  const auto x = b.input("x", DType::kInt8, {1, 591, 197});
  b.graph.outputs = {
      b.op(TosaOp::REDUCE_MAX, {x}, DType::kInt8, {1, 591, 1}, {{"axis", int64_t{2}}, {"nan_mode", int64_t{1}}})};
  const auto steps = steps_of(b.graph);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].kernel.height, 24);  // groups of eight channels, one lane each
  EXPECT_EQ(steps[0].ofm.depth, 8);
  EXPECT_EQ(steps[1].kind, StepKind::kElementwise);  // with the last eight channels; three of them a second time
  EXPECT_EQ(steps[2].kernel.taps(), 8);
}

TEST(Layout, patches_become_one_convolution) {
  Layouts b;
  const auto x = b.input("x", DType::kInt8, {1, 3, 64, 64});
  b.graph.outputs = {strided_conv(b, b.transpose(x, {0, 2, 3, 1}), 192, 16, 16)};
  const auto steps = steps_of(b.graph);
  EXPECT_EQ(count(steps, StepKind::kConv), 1);  // one for all patches; the input is not transposed
  EXPECT_EQ(steps.back().ifm.depth, 16 * 16 * 3);
  EXPECT_EQ(steps.back().kernel, Kernel{});
  for (const Step& step : steps) {
    EXPECT_TRUE(step.kind != StepKind::kPool || step.ofm.depth == 16);  // copies of whole rows of a patch
  }
}

TEST(Layout, rows_of_patches_are_addressed_directly) {
  Layouts b;
  b.graph.outputs = {strided_conv(b, b.input("x", DType::kInt8, {1, 64, 512, 3}), 32, 4, 4)};
  const auto steps = steps_of(b.graph);
  EXPECT_EQ(steps.size(), 16U);  // a convolution per row of patches, no copy
  EXPECT_EQ(steps[0].ifm.depth, 12);
  EXPECT_EQ(steps[0].kernel, (Kernel{.height = 4, .width = 1}));
}

// Rows of few patches cost more than patches that nothing reads.
TEST(Layout, few_patches_are_taken_from_those_with_a_smaller_stride) {
  Layouts b;
  b.graph.outputs = {strided_conv(b, b.input("x", DType::kInt8, {1, 32, 32, 3}), 16, 4, 4)};
  const auto steps = steps_of(b.graph);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].kernel.stride_y, 2);
  EXPECT_EQ(steps[0].ofm.height, 15);
  EXPECT_EQ(steps[1].kind, StepKind::kPool);  // a copy of every second row
}

// Patches with padding are read from the input as it is: only their borders are filled.
TEST(Layout, padding_of_patches_is_no_copy_of_the_input) {
  Layouts b;
  b.graph.outputs = {strided_conv(b, b.input("x", DType::kInt8, {1, 32, 32, 16}), 16, 3, 4, 1)};
  const auto steps = steps_of(b.graph);
  EXPECT_EQ(count(steps, StepKind::kConv), 1);
  for (const Step& step : steps) EXPECT_LE(step.ofm.height * step.ofm.width * step.ofm.depth, 8 * 8 * 2 * 2 * 16);
}

TEST(Layout, depthwise_windows_far_from_each_other_are_copied_together) {
  Layouts b;
  const std::vector<int8_t> ones(9 * 64, 1);
  const auto sum =
      b.op(TosaOp::DEPTHWISE_CONV2D,
           {b.input("x", DType::kInt8, {1, 35, 35, 64}), b.constant<int8_t>(DType::kInt8, {3, 3, 64, 1}, ones),
            b.scalar<int32_t>(DType::kInt32, 1), b.scalar<int8_t>(DType::kInt8, 0), b.scalar<int8_t>(DType::kInt8, 0)},
           DType::kInt32, {1, 7, 7, 64},
           {{"pad", std::vector<int64_t>{0, 0, 0, 0}},
            {"stride", std::vector<int64_t>{5, 5}},
            {"dilation", std::vector<int64_t>{1, 1}},
            {"local_bound", false},
            {"acc_type", DType::kInt32}});
  b.graph.outputs = {b.rescale(sum, DType::kInt8, 1 << 30, 38)};
  const auto steps = schedule_of(b.graph, *find_target("ethos-u85-256", "", ""), {}).steps.all();
  EXPECT_EQ(count(steps, StepKind::kDepthwise), 1);
  EXPECT_EQ(steps.back().kernel, (Kernel{.height = 3, .width = 3, .stride_y = 3, .stride_x = 3}));
}

// Pixels of 2x2 bytes to two rows of bytes.
TEST(Layout, pairs_of_bytes_are_copied_as_16_bit_elements) {
  Layouts b;
  const auto x = b.input("x", DType::kInt8, {1, 40, 40, 4});
  b.graph.outputs = {b.reshape(b.transpose(b.reshape(x, {40, 40, 2, 2}), {0, 2, 1, 3}), {1, 80, 80, 1})};
  const auto steps = schedule_of(b.graph, *find_target("ethos-u85-1024", "", ""), {}).steps.all();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].ifm.type.bits, 16);
  EXPECT_EQ(steps[0].ifm.depth, 2);
}

TEST(Layout, first_layer_takes_two_pixels_at_a_time) {
  // A side of 65 lacks a pixel for the last pair, so the pixels of a whole window row become channels.
  for (const auto& [side, depth] : {std::pair<int64_t, int64_t>{65, 9}, {66, 6}}) {
    Layouts b;
    b.graph.outputs = {strided_conv(b, b.input("x", DType::kInt8, {1, side, side, 3}), 16, 3, 2)};
    const auto steps = steps_of(b.graph);
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].ifm.depth, depth);
  }
}

// Three pixels of three channels are nine channels, which take two steps of eight. Padding left and right is copied.
TEST(Layout, first_layer_reads_window_rows_if_cheaper) {
  for (const auto& [side, steps_expected] : {std::pair<int64_t, size_t>{6, 1}, {96, 4}}) {
    Layouts b;
    b.graph.outputs = {b.conv(b.input("x", DType::kInt8, {1, side, side, 3}), 16, 3, 1)};
    const auto steps = steps_of(b.graph);
    ASSERT_EQ(steps.size(), steps_expected) << side;
    if (side == 6) continue;
    EXPECT_EQ(steps.back().ifm.depth, 9);
    EXPECT_EQ(steps.back().ifm.stride_x, 3);
    EXPECT_EQ(steps.back().kernel, (Kernel{.height = 3}));
    EXPECT_EQ(steps.back().padding, (Padding{.top = 1, .bottom = 1}));
  }
}

}  // namespace
}  // namespace carina::plan
