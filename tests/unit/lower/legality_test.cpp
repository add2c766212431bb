// Tests the limits of a target. Each rejection names its rule.

#include "lower/legality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "facts/aten_traits.h"
#include "ir/text.h"
#include "lower/lower.h"

namespace carina::lower {
namespace {

using ::testing::HasSubstr;

Target npu(const LoweringTarget& numbers) {
  return {.name = "npu", .limits = numbers.limits, .idioms = numbers.idioms};
}

// The rejection of the graph's last node.
std::optional<ir::Rejection> rejection(const std::string& text, const Target& target = npu(kU55Lowering)) {
  auto module = ir::parse("graph @main {\n" + text + "}\n", "text");
  EXPECT_TRUE(module.has_value()) << (module ? "" : to_string(module.error()));
  return module ? rejections_of(module->main(), target).back() : std::nullopt;
}

std::string rule(const std::string& text, const Target& target = npu(kU55Lowering)) {
  const auto found = rejection(text, target);
  return found ? found->rule : "";
}

constexpr const char* kQ = " quantized(i8, scales = [0.5], zero_points = [0], axis = -1, range = [-128, 127])";

std::string pool(const std::string& kernel, const std::string& stride) {
  return std::string("  input %x: fp32[1,1,900,900]") + kQ + "\n  %y: fp32[1,1,600,600]" + kQ +
         " = aten.max_pool2d.default(%x) {kernel_size = " + kernel + ", stride = " + stride +
         ", padding = [0, 0], dilation = [1, 1], ceil_mode = false}\n  output %y\n";
}

TEST(Legality, broken_limit_is_named) {
  const auto found = rejection(pool("[300, 1]", "[1, 1]"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rule, "window.height");
  EXPECT_EQ(found->node, ir::NodeId(0));
  EXPECT_THAT(found->reason, HasSubstr("the kernel reaches over 300 rows, npu supports at most 256"));
  EXPECT_EQ(rule(pool("[200, 400]", "[1, 1]")), "window.elements");
  EXPECT_EQ(rule(pool("[4, 4]", "[4, 4]")), "window.stride");
  EXPECT_EQ(rule(pool("[2, 2]", "[2, 2]")), "");
}

// A convolution of 2 channels with weights of zeros and a kernel of these sizes.
std::string convolution(const std::string& type, int64_t height, int64_t width, const std::string& stride,
                        int64_t groups = 1) {
  const std::string range = type == "i8" ? "[-128, 127]" : "[-32768, 32767]";
  const std::string q = " quantized(" + type + ", scales = [0.5], zero_points = [0], axis = -1, range = " + range + ")";
  std::string zeros = "0";
  for (int64_t i = 1; i < 4 / groups * height * width; ++i) zeros += ", 0";
  return "  input %x: fp32[1,2,6000,6000]" + q + "\n  %w: fp32[2," + std::to_string(2 / groups) + "," +
         std::to_string(height) + "," + std::to_string(width) +
         "] quantized(i8, scales = [0.5], zero_points = [0], axis = -1, range = [-127, 127]) = i8 [" + zeros +
         "]\n  %b: fp32[2] = [0.0, 0.0]\n  %y: fp32[1,2,900,900]" + q +
         " = aten.conv2d.default(%x, %w, %b) {stride = " + stride +
         ", padding = [0, 0], dilation = [1, 1], groups = " + std::to_string(groups) + "}\n  output %y\n";
}

TEST(Legality, convolution_may_be_long_in_one_axis) {
  EXPECT_EQ(rule(convolution("i8", 512, 1, "[4, 1]")), "");
  EXPECT_EQ(rule(convolution("i16", 512, 1, "[4, 1]")), "");
  EXPECT_EQ(rule(convolution("i16", 1, 512, "[1, 1]")), "");
  EXPECT_EQ(rule(convolution("i8", 80, 80, "[1, 1]")), "");  // in parts, whose sums are added
  EXPECT_EQ(rule(convolution("i16", 80, 80, "[1, 1]")), "window.height");
  EXPECT_EQ(rule(convolution("i16", 1, 5000, "[1, 1]")), "window.elements");
  EXPECT_EQ(rule(convolution("i8", 3, 3, "[4, 4]")), "");
  EXPECT_EQ(rule(convolution("i8", 3, 3, "[4, 4]", 2)), "window.stride");  // depthwise
}

// The same node under the limits of another target.
TEST(Legality, limits_follow_the_target) {
  EXPECT_EQ(rule(pool("[300, 1]", "[1, 1]"), Target{}), "");
  const std::string permute =
      "  input %x: i32[2,2,2,2,2]\n  %y: i32[2,2,2,2,2] = aten.permute.default(%x) {dims = [4, 3, 2, 1, 0]}\n  output "
      "%y\n";
  EXPECT_EQ(rule(permute), "permute.axes");
  EXPECT_EQ(rule(permute, npu(kU85Lowering)), "");
}

TEST(Legality, float_model_and_float_value_have_advice) {
  const auto whole = rejection("  input %x: fp32[2]\n  %y: fp32[2] = aten.relu.default(%x)\n  output %y\n");
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->rule, "types.not-quantized");
  EXPECT_THAT(whole->hint, HasSubstr("--calibrate"));
  const auto one =
      rejection(std::string("  input %x: fp32[2]") + kQ + "\n  %y: fp32[2] = aten.exp.default(%x)\n  output %y\n");
  ASSERT_TRUE(one.has_value());
  EXPECT_THAT(one->hint, HasSubstr("annotate"));
}

// A node without an integer form runs in float, on dequantized values, if the target supports floats.
TEST(Legality, quantized_node_without_integer_form_runs_in_float) {
  const std::string product = std::string("  input %x: fp32[2,3]") + kQ + "\n  %y: fp32[2]" + kQ +
                              " = aten.prod.dim_int(%x) {dim = 1, keepdim = false, dtype = none}\n  output %y\n";
  EXPECT_EQ(rule(product), "prod.integers");
  Target floats = npu(kU55Lowering);
  floats.takes_floats = true;
  EXPECT_EQ(rule(product, floats), "");
  floats.keeps_integers = true;
  EXPECT_EQ(rule(product, floats), "prod.integers");
}

TEST(Legality, long_recurrences_report_their_length) {
  const auto gru = [](const std::string& steps) {
    return "  input %x: fp32[" + steps + ",1,2]\n  input %h: fp32[1,1,2]\n  input %w: fp32[6,2]\n  %y: fp32[" + steps +
           ",1,2], %z: fp32[1,1,2] = aten.gru.input(%x, %h, %w, %w) {has_biases = false, num_layers = 1, dropout = "
           "0.0, "
           "train = false, bidirectional = false, batch_first = false}\n  output %y\n";
  };
  EXPECT_EQ(rule(gru("1025")), "recurrence.steps");
  EXPECT_EQ(rule(gru("1024")), "op.unknown");  // normalize() did not run on this graph
}

TEST(Legality, rejected_operator_has_reason) {
  const auto found =
      rejection(std::string("  input %x: fp32[2]") + kQ + "\n  %y: fp32[2]" + kQ +
                " = aten.rand_like.default(%x) {dtype = none, layout = none, device = none, pin_memory = none, "
                "memory_format = none}\n  output %y\n");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rule, "op.unknown");
  EXPECT_EQ(found->hint, traits_of(AtenOp::rand_like_default).lowering.text);
}

// Nodes that lowering does not support are rejected before lowering.
TEST(Legality, weights_have_scales_per_output_channel) {
  const std::string weights =
      " quantized(i8, scales = [0.5, 0.5], zero_points = [0, 0], axis = AXIS, range = [-127, 127])";
  const auto conv = [&](const std::string& axis) {
    std::string w = weights;
    w.replace(w.find("AXIS"), 4, axis);
    return std::string("  input %x: fp32[1,2,2,2]") + kQ + "\n  %w: fp32[2,2,1,1]" + w +
           " = i8 [1, 2, 3, 4]\n  %b: fp32[2] = [0.0, 0.0]\n" + "  %y: fp32[1,2,2,2]" + kQ +
           " = aten.conv2d.default(%x, %w, %b) {stride = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 1}\n  "
           "output %y\n";
  };
  EXPECT_EQ(rule(conv("0")), "");
  EXPECT_EQ(rule(conv("1")), "weights.axis");
}

}  // namespace
}  // namespace carina::lower
