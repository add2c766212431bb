#include <array>

#include "plan/compile.h"
#include "plan/select/rules.h"

// What ethos-u55 does with each TOSA operator. Source: facts of TOSA 1.0 PRO-INT against the command set; the operators
// that the NPU cannot do are those that Vela refuses too.
namespace carina::plan {
namespace {

constexpr std::string_view kNoBitwise = "the NPU has no bitwise or logical operations";
constexpr std::string_view kNoComparison = "the NPU has no comparisons";
constexpr std::string_view kNoIndexing = "the NPU cannot address by index";
constexpr std::string_view kNoFloat = "the NPU computes integers only: quantize the model";
constexpr std::string_view kNoControl = "the NPU has no control flow";

constexpr auto kU55Rules = std::to_array<Rule>({
    {TosaOp::ARGMAX, select_argmax, {}},
    {TosaOp::AVG_POOL2D, select_average_pool, {}},
    {TosaOp::CONV2D, select_convolution, {}},
    {TosaOp::CONV3D, nullptr, "three-dimensional convolutions are not supported"},
    {TosaOp::DEPTHWISE_CONV2D, select_depthwise, {}},
    {TosaOp::FFT2D, nullptr, kNoFloat},
    {TosaOp::MATMUL, select_matmul, {}},
    {TosaOp::MAX_POOL2D, select_max_pool, {}},
    {TosaOp::RFFT2D, nullptr, kNoFloat},
    {TosaOp::TRANSPOSE_CONV2D, select_transpose_conv, {}},
    {TosaOp::CLAMP, select_clamp, {}},
    {TosaOp::ERF, nullptr, kNoFloat},
    {TosaOp::SIGMOID, nullptr, kNoFloat},
    {TosaOp::TANH, nullptr, kNoFloat},
    {TosaOp::ADD, select_add_sub, {}},
    {TosaOp::ARITHMETIC_RIGHT_SHIFT, select_binary_32, {}},
    {TosaOp::BITWISE_AND, nullptr, kNoBitwise},
    {TosaOp::BITWISE_OR, nullptr, kNoBitwise},
    {TosaOp::BITWISE_XOR, nullptr, kNoBitwise},
    {TosaOp::INTDIV, nullptr, "the NPU cannot divide"},
    {TosaOp::LOGICAL_AND, nullptr, kNoBitwise},
    {TosaOp::LOGICAL_LEFT_SHIFT, select_binary_32, {}},
    {TosaOp::LOGICAL_RIGHT_SHIFT, nullptr, "the NPU has no logical right shift"},
    {TosaOp::LOGICAL_OR, nullptr, kNoBitwise},
    {TosaOp::LOGICAL_XOR, nullptr, kNoBitwise},
    {TosaOp::MAXIMUM, select_binary_32, {}},
    {TosaOp::MINIMUM, select_binary_32, {}},
    {TosaOp::MUL, select_mul, {}},
    {TosaOp::POW, nullptr, kNoFloat},
    {TosaOp::SUB, select_add_sub, {}},
    {TosaOp::TABLE, select_table, {}},
    {TosaOp::ABS, select_unary_32, {}},
    {TosaOp::BITWISE_NOT, nullptr, kNoBitwise},
    {TosaOp::CEIL, nullptr, kNoFloat},
    {TosaOp::CLZ, select_unary_32, {}},
    {TosaOp::COS, nullptr, kNoFloat},
    {TosaOp::EXP, nullptr, kNoFloat},
    {TosaOp::FLOOR, nullptr, kNoFloat},
    {TosaOp::LOG, nullptr, kNoFloat},
    {TosaOp::LOGICAL_NOT, nullptr, kNoBitwise},
    {TosaOp::NEGATE, select_negate, {}},
    {TosaOp::RECIPROCAL, nullptr, kNoFloat},
    {TosaOp::RSQRT, nullptr, kNoFloat},
    {TosaOp::SIN, nullptr, kNoFloat},
    {TosaOp::SELECT, nullptr, kNoComparison},
    {TosaOp::EQUAL, nullptr, kNoComparison},
    {TosaOp::GREATER, nullptr, kNoComparison},
    {TosaOp::GREATER_EQUAL, nullptr, kNoComparison},
    {TosaOp::REDUCE_ALL, nullptr, kNoBitwise},
    {TosaOp::REDUCE_ANY, nullptr, kNoBitwise},
    {TosaOp::REDUCE_MAX, select_reduce_extreme, {}},
    {TosaOp::REDUCE_MIN, select_reduce_extreme, {}},
    {TosaOp::REDUCE_PRODUCT, nullptr, "the NPU cannot multiply along an axis"},
    {TosaOp::REDUCE_SUM, select_reduce_sum, {}},
    {TosaOp::CONCAT, select_concat, {}},
    {TosaOp::PAD, select_pad, {}},
    {TosaOp::RESHAPE, select_reshape, {}},
    {TosaOp::REVERSE, select_reverse, {}},
    {TosaOp::SLICE, select_slice, {}},
    {TosaOp::TILE, select_tile, {}},
    {TosaOp::TRANSPOSE, select_transpose, {}},
    {TosaOp::GATHER, nullptr, kNoIndexing},
    {TosaOp::SCATTER, nullptr, kNoIndexing},
    {TosaOp::RESIZE, select_resize, {}},
    {TosaOp::CAST, select_cast, {}},
    {TosaOp::RESCALE, select_rescale, {}},
    {TosaOp::IDENTITY, select_reshape, {}},
    {TosaOp::CUSTOM, nullptr, "custom operators are not known to the NPU"},
    {TosaOp::COND_IF, nullptr, kNoControl},
    {TosaOp::WHILE_LOOP, nullptr, kNoControl},
    {TosaOp::VARIABLE, nullptr, "the NPU keeps no state between runs"},
    {TosaOp::VARIABLE_WRITE, nullptr, "the NPU keeps no state between runs"},
    {TosaOp::VARIABLE_READ, nullptr, "the NPU keeps no state between runs"},
});

}  // namespace

std::span<const Rule> rules_of(npu::Product product) {
  switch (product) {
    case npu::Product::kU55:
      return kU55Rules;
    case npu::Product::kU65:
      return kU55Rules;  // the same command set
    case npu::Product::kU85:
      return {};
  }
  CARINA_UNREACHABLE("product", product);
}

std::optional<std::string_view> why_not(TosaOp op, npu::Product product) {
  for (const Rule& rule : rules_of(product)) {
    if (rule.op == op) return rule.select == nullptr ? std::optional(rule.reason) : std::nullopt;
  }
  return "not supported";
}

}  // namespace carina::plan
