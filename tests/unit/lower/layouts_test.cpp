// The pass that chooses the layouts of a TOSA graph.

#include <gtest/gtest.h>

#include "ir/text.h"
#include "lower/lower.h"

namespace carina::lower {
namespace {

std::string lowered(const std::string& text) {
  auto module = ir::parse(text, "text");
  EXPECT_TRUE(module.has_value()) << to_string(module.error());
  const auto tosa = to_tosa(module->main(), {.takes_floats = true, .fewest_transposes = true}, Log{});
  EXPECT_TRUE(tosa.has_value()) << to_string(tosa.error());
  EXPECT_TRUE(ir::verify_structure(tosa->graph).has_value());
  return ir::print(tosa->graph);
}

size_t count(const std::string& text, std::string_view what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// One transposition before both pools. The product per pixel, the sum and the linear layer read what they write.
TEST(ChooseLayouts, transpose_passes_reshapes_and_linear_layers) {
  const std::string text = lowered(R"(graph @main {
  input %x: fp32[2,8,64]
  %w: fp32[4,8] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
  %a: fp32[2,8,1,64] = aten.view.default(%x) {size = [2, 8, 1, 64]}
  %p: fp32[2,8,1,32] = aten.max_pool2d.default(%a) {kernel_size = [1, 2], stride = [1, 2], padding = [0, 0], dilation = [1, 1], ceil_mode = false}
  %q: fp32[2,8,1,32] = aten.max_pool2d.default(%a) {kernel_size = [1, 2], stride = [1, 2], padding = [0, 0], dilation = [1, 1], ceil_mode = false}
  %s: fp32[2,8,1,32] = aten.add.Tensor(%p, %q) {alpha = 1}
  %b: fp32[2,8,32] = aten.view.default(%s) {size = [2, 8, 32]}
  %t: fp32[2,32,8] = aten.permute.default(%b) {dims = [0, 2, 1]}
  %y: fp32[2,32,4] = aten.linear.default(%t, %w, none)
  output %y
}
)");
  EXPECT_EQ(count(text, "tosa.TRANSPOSE"), 1) << text;
}

// (A B)^T = B^T A^T
TEST(ChooseLayouts, product_is_transposed_with_its_operands) {
  const std::string text = lowered(R"(graph @main {
  input %a: fp32[2,3,4]
  input %b: fp32[2,5,3]
  %at: fp32[2,4,3] = aten.permute.default(%a) {dims = [0, 2, 1]}
  %bt: fp32[2,3,5] = aten.permute.default(%b) {dims = [0, 2, 1]}
  %p: fp32[2,4,5] = aten.bmm.default(%at, %bt)
  %y: fp32[2,5,4] = aten.permute.default(%p) {dims = [0, 2, 1]}
  output %y
}
)");
  EXPECT_EQ(count(text, "tosa.TRANSPOSE"), 0) << text;
  EXPECT_NE(text.find("tosa.MATMUL(%b, %a"), std::string::npos) << text;
}

// Three readers in another layout need one transposition, not three; the axis of the sum is renamed.
TEST(ChooseLayouts, readers_share_a_transpose) {
  const std::string text = lowered(R"(graph @main {
  input %x: fp32[2,3,4]
  %t: fp32[4,2,3] = aten.permute.default(%x) {dims = [2, 0, 1]}
  %a: fp32[4,2,3] = aten.abs.default(%t)
  %b: fp32[1,2,3] = aten.sum.dim_IntList(%t) {dim = [0], keepdim = true, dtype = none}
  %c: fp32[4,2,3] = aten.sub.Tensor(%a, %b) {alpha = 1}
  output %a
  output %c
}
)");
  EXPECT_EQ(count(text, "tosa.TRANSPOSE"), 1) << text;
}

// Outputs of a graph are different values, which nodes make.
TEST(ChooseLayouts, outputs_keep_their_axes) {
  const std::string text = lowered(R"(graph @main {
  input %x: fp32[2,3,4]
  %t: fp32[2,4,3] = aten.permute.default(%x) {dims = [0, 2, 1]}
  %a: fp32[2,4,3] = aten.abs.default(%t)
  %u: fp32[2,3,4] = aten.permute.default(%a) {dims = [0, 2, 1]}
  %v: fp32[2,3,4] = aten.permute.default(%t) {dims = [0, 2, 1]}
  output %u
  output %v
}
)");
  EXPECT_EQ(count(text, "tosa.TRANSPOSE"), 0) << text;
  EXPECT_NE(text.find("%v: fp32[2,3,4] = tosa.IDENTITY(%x)"), std::string::npos) << text;
}

}  // namespace
}  // namespace carina::lower
