#include "frontend/pt2/verify/verify.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ir/text.h"

namespace carina::aten {
namespace {

using testing::HasSubstr;

// "sound", or what is wrong with the first broken node of a graph.
std::string verdict(std::string_view statements) {
  const auto module = ir::parse(fmt::format("graph @main {{\n{}\n}}", statements), "test");
  if (!module) return "does not parse: " + to_string(module.error());
  for (const ir::Node& node : module->main().nodes) {
    if (const auto sound = verify_node(module->main(), node, "n"); !sound) return to_string(sound.error());
  }
  return "sound";
}

// Operands of the cases below.
constexpr std::string_view kInputs = R"(
  input %v: fp32[4]
  input %s: fp32[]
  input %m: fp32[3,4]
  input %n: fp32[4,5]
  input %x: fp32[1,6,8,8]
  input %r: fp32[1,6,9]
  input %w1: fp32[4,6,3]
  input %w2: fp32[4,3,3,3]
  input %t2: fp32[6,2,3,3]
  input %h: fp16[4]
  input %i: i64[2,3]
  input %j: i32[3,4]
  input %k: i64[3,2]
  input %b: bool[3,4]
  input %q: fp32[1,2,5,4]
  input %e: fp32[0,4])";

struct Case {
  std::string_view name;
  std::string_view node;    // with the right result
  std::string_view broken;  // an edit of it: "old=>new"
  std::string_view found;   // what the message has
};

std::string replaced(std::string text, std::string_view edit) {
  const size_t arrow = edit.find("=>");
  const std::string_view old = edit.substr(0, arrow);
  const size_t at = text.find(old);
  return at == std::string::npos ? "not found" : text.replace(at, old.size(), edit.substr(arrow + 2));
}

constexpr std::string_view kConv2d = "{stride = [2, 1], padding = [1, 0], dilation = [1, 2], groups = 2}";
constexpr std::string_view kPool =
    "{kernel_size = [3, 3], stride = [2, 2], padding = [1, 1], dilation = [1, 1], ceil_mode = true}";

const std::vector<Case> kCases = {
    {"convolution", "%y: fp32[1,4,4,4] = aten.conv2d.default(%x, %w2, none) CONV", "4,4,4]=>4,4,5]",
     "expected [1,4,4,4], got [1,4,4,5]"},
    {"convolution_weights", "%y: fp32[1,4,4,4] = aten.conv2d.default(%x, %w2, none) CONV", "%w2=>%w1",
     "its weights have rank 3, not 4"},
    {"convolution_groups", "%y: fp32[1,4,4,4] = aten.conv2d.default(%x, %w2, none) CONV", "groups = 2=>groups = 4",
     "6 channels and weights [4,3,3,3] in 4 groups"},
    {"convolution_stride", "%y: fp32[1,4,4,4] = aten.conv2d.default(%x, %w2, none) CONV", "[2, 1]=>[0, 1]",
     "kernel 3, stride 0"},
    {"convolution_list", "%y: fp32[1,4,4,4] = aten.conv2d.default(%x, %w2, none) CONV", "[2, 1]=>[2, 1, 1]",
     "its argument stride has 3 numbers, not 2"},
    {"convolution_overflow", "%y: fp32[1,4,4,4] = aten.conv2d.default(%x, %w2, none) CONV",
     "[1, 2]=>[1099511627776, 1099511627776]", "are too large"},
    {"convolution_bias", "%y: fp32[1,4,4,4] = aten.conv2d.default(%x, %w2, none) CONV", "none=>%s",
     "its bias is [], not [4]"},
    {"convolution_types", "%y: fp32[1,4,4,4] = aten.conv2d.default(%x, %w2, none) CONV", "none=>%h",
     "operands of type fp32 and fp16"},
    {"transposed",
     "%y: fp32[1,4,17,17] = aten.conv_transpose2d.input(%x, %t2, none) {stride = [2, 2], padding = [0, 0], "
     "output_padding = [0, 0], groups = 2, dilation = [1, 1]}",
     "output_padding = [0=>output_padding = [2", "output padding 2 with stride 2"},
    {"linear", "%y: fp32[3,5] = aten.mm.default(%m, %n)", "%n)=>%m)", "[3,4] and [3,4] cannot be multiplied"},
    {"einsum", "%y: fp32[5,3] = aten.einsum.default(%m, %n) {equation = \"ij,jk->ki\", path = none}", "ij,=>ii,",
     "axis i of its equation has the sizes 3 and 4"},
    {"pool", "%y: fp32[1,6,5,5] = aten.max_pool2d.default(%x) POOL", "true=>false",
     "expected [1,6,4,4], got [1,6,5,5]"},
    {"pool_padding", "%y: fp32[1,6,5,5] = aten.max_pool2d.default(%x) POOL", "padding = [1=>padding = [2",
     "padding 2 is more than half of kernel 3"},
    {"adaptive_pool", "%y: fp32[1,6,2] = aten.adaptive_avg_pool1d.default(%r) {output_size = [2]}", "%r=>%x",
     "its operand has rank 4, not 2 or 3"},
    {"broadcast", "%y: fp32[3,4] = aten.add.Tensor(%m, %v) {alpha = 1}", "%v=>%n",
     "[3,4] and [4,5] cannot be broadcast"},
    {"promotion", "%y: fp32[3,4] = aten.mul.Tensor(%j, %v)", "fp32=>i32", "expected fp32, got i32"},
    {"promotion_of_scalars", "%y: fp16[4] = aten.mul.Tensor(%h, %s)", "fp16=>fp32", "expected fp16, got fp32"},
    {"quotient", "%y: fp32[3,4] = aten.div.Tensor(%j, %j)", "fp32=>i32", "got i32"},
    {"comparison", "%y: bool[3,4] = aten.gt.Tensor(%m, %v)", "bool=>fp32", "expected bool, got fp32"},
    {"reduction", "%y: fp32[3] = aten.sum.dim_IntList(%m) {dim = [-1], keepdim = false, dtype = none}", "[-1]=>[-3]",
     "axis -3 of a tensor of rank 2"},
    {"reduction_twice", "%y: fp32[] = aten.amax.default(%m) {dim = [0, 1], keepdim = false}", "[0, 1]=>[1, -1]",
     "axis -1 is given twice"},
    {"argmax", "%y: i64[3] = aten.argmax.default(%m) {dim = 1, keepdim = false}", "%m=>%s",
     "axis 1 of a tensor of rank 0"},
    {"values_and_indices",
     "%y: fp32[2,4], %z: i64[2,4] = aten.topk.default(%m) {k = 2, dim = 0, largest = true, sorted = true}", "i64=>i32",
     "result 1 of aten.topk.default is not what the operator gives: expected i64, got i32"},
    {"number_of_results",
     "%y: fp32[2,4], %z: i64[2,4] = aten.topk.default(%m) {k = 2, dim = 0, largest = true, sorted = true}",
     ", %z: i64[2,4]=>", "it has 1 results, not 2"},
    {"view", "%y: fp32[2,6] = aten.view.default(%m) {size = [2, -1]}", "[2, -1]=>[5, -1]", "12 elements in rows of 5"},
    {"permute", "%y: fp32[4,3] = aten.permute.default(%m) {dims = [1, 0]}", "[1, 0]=>[1]",
     "1 axes of a tensor of rank 2"},
    {"expand", "%y: fp32[2,4] = aten.expand.default(%v) {size = [2, -1], implicit = false}", "-1]=>5]",
     "size 4 cannot become 5"},
    {"slice", "%y: fp32[2,4] = aten.slice.Tensor(%m) {dim = 0, start = 1, end = 9223372036854775807, step = 1}",
     "step = 1=>step = 0", "step 0"},
    {"select", "%y: fp32[4] = aten.select.int(%m) {dim = 0, index = -3}", "-3=>-4", "element -4 of 3"},
    {"as_strided", "%y: fp32[2,2] = aten.as_strided.default(%m) {size = [2, 2], stride = [4, 1], storage_offset = 6}",
     "= 6=>= 7", "it reads past the 12 elements"},
    {"cat", "%y: fp32[6,4] = aten.cat.default(%m, %m) {dim = 0}", "%m, %m=>%m, %n", "part [4,5] does not fit"},
    {"cat_of_nothing", "%y: fp32[6,4] = aten.cat.default(%m, %m) {dim = 0}", "%m, %m=>", "its list is empty"},
    {"split", "%y: fp32[2,4], %z: fp32[1,4] = aten.split.Tensor(%m) {split_size = 2, dim = 0}", "size = 2=>size = 1",
     "it has 3 results, not 2"},
    {"pad", "%y: fp32[3,6] = aten.constant_pad_nd.default(%m) {pad = [1, 1], value = 0}", "[1, 1]=>[1, -5]",
     "padding 1 and -5 of 4 elements"},
    {"reflect", "%y: fp32[1,6,13] = aten.reflection_pad1d.default(%r) {padding = [2, 2]}", "[2, 2]=>[9, -5]",
     "reflect padding 9 of 9 elements"},
    {"gather", "%y: fp32[3,2] = aten.gather.default(%m, %k) {dim = 1, sparse_grad = false}", "%k=>%b",
     "its index is of type bool"},
    {"index", "%y: fp32[2,3,4] = aten.index.Tensor(%m, %i)", "%i)=>%i, none, %i)", "3 indices for [3,4]"},
    {"embedding",
     "%y: fp32[2,3,5] = aten.embedding.default(%n, %i) {padding_idx = -1, scale_grad_by_freq = false, sparse = false}",
     "%n, %i=>%v, %i", "its weights have rank 1"},
    {"attention",
     "%y: fp32[1,2,5,4] = aten.scaled_dot_product_attention.default(%q, %q, %q, none) {dropout_p = 0.0, is_causal = "
     "false, scale = none, enable_gqa = false}",
     "none)=>%m)", "a mask [3,4] for [1,2,5,5]"},
    {"masked_fill", "%y: fp32[3,4] = aten.masked_fill.Scalar(%m, %b) {value = 1}", "%b)=>%j)",
     "its mask is of type i32"},
    {"arange",
     "%y: i64[3] = aten.arange.start_step() {start = 1, end = 8, step = 3, dtype = none, layout = none, device = "
     "none, pin_memory = none}",
     "step = 3=>step = 0", "elements"},
    {"layer_norm",
     "%y: fp32[3,4] = aten.layer_norm.default(%m, %v, none) {normalized_shape = [4], eps = 0.5, cudnn_enable = true}",
     "[4]=>[3, 4, 1]", "does not end in the 3 normalized sizes"},
    {"empty_axis", "%y: fp32[0] = aten.amax.default(%e) {dim = [1], keepdim = false}", "[0]=>[1]",
     "expected [0], got [1]"},
};

std::string whole(std::string_view node) {
  std::string text(node);
  for (const auto& [word, value] : {std::pair{"CONV", kConv2d}, std::pair{"POOL", kPool}}) {
    if (text.find(word) != std::string::npos) text = replaced(text, fmt::format("{}=>{}", word, value));
  }
  return text;
}

TEST(Verify, nodes_are_sound_and_an_edit_is_found) {
  for (const Case& c : kCases) {
    const std::string node = whole(c.node);
    EXPECT_EQ(verdict(fmt::format("{}\n{}", kInputs, node)), "sound") << c.name;
    EXPECT_THAT(verdict(fmt::format("{}\n{}", kInputs, replaced(node, c.broken))), HasSubstr(c.found)) << c.name;
  }
}

TEST(Verify, operands_are_those_of_schema) {
  EXPECT_THAT(verdict("%y: fp32[3,4] = aten.relu.default()"), HasSubstr("its operand self is missing"));
  EXPECT_THAT(verdict("input %x: fp32[2]\n%y: fp32[2] = aten.relu.default(%x, %x)"),
              HasSubstr("it has 2 operands, not 1"));
  EXPECT_THAT(verdict("input %x: fp32[2]\n%y: fp32[2] = aten.add.Tensor(%x, none) {alpha = 1}"),
              HasSubstr("its operand other is missing"));
  EXPECT_THAT(verdict("input %x: fp32[2]\n%y: fp32[4] = aten.cat.default(%x, none) {dim = 0}"),
              HasSubstr("an element of tensors is missing"));
}

}  // namespace
}  // namespace carina::aten
