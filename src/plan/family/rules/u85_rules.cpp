#include <array>

#include "plan/family/rules/refusals_internal.h"
#include "plan/family/rules/rules_internal.h"
#include "plan/select/rules.h"

// The rules of ethos-u85 for each TOSA operator. Source: facts of TOSA 1.0 PRO-INT against the command set.
namespace carina::plan {
namespace {

constexpr auto kRules = with_refusals(std::to_array<Rule>({
    {.op = TosaOp::ARGMAX, .select = select_argmax, .reason = {}},
    {.op = TosaOp::AVG_POOL2D, .select = select_average_pool, .reason = {}},
    {.op = TosaOp::CONV2D, .select = select_convolution_by_tensor, .reason = {}},
    {.op = TosaOp::CONV3D, .select = select_convolution_3d, .reason = {}},
    {.op = TosaOp::DEPTHWISE_CONV2D, .select = select_depthwise, .reason = {}},
    {.op = TosaOp::MATMUL, .select = select_gemm, .reason = {}},
    {.op = TosaOp::MAX_POOL2D, .select = select_max_pool, .reason = {}},
    {.op = TosaOp::TRANSPOSE_CONV2D, .select = select_transpose_conv, .reason = {}},
    {.op = TosaOp::CLAMP, .select = select_clamp, .reason = {}},
    {.op = TosaOp::ADD, .select = select_add_sub, .reason = {}},
    {.op = TosaOp::ARITHMETIC_RIGHT_SHIFT, .select = select_bit_shift, .reason = {}},
    {.op = TosaOp::BITWISE_AND, .select = select_bits, .reason = {}},
    {.op = TosaOp::BITWISE_OR, .select = select_bits, .reason = {}},
    {.op = TosaOp::BITWISE_XOR, .select = select_bits, .reason = {}},
    {.op = TosaOp::INTDIV, .select = select_quotient, .reason = {}},
    {.op = TosaOp::LOGICAL_AND, .select = select_bits, .reason = {}},
    {.op = TosaOp::LOGICAL_LEFT_SHIFT, .select = select_bit_shift, .reason = {}},
    {.op = TosaOp::LOGICAL_RIGHT_SHIFT, .select = select_bit_shift, .reason = {}},
    {.op = TosaOp::LOGICAL_OR, .select = select_bits, .reason = {}},
    {.op = TosaOp::LOGICAL_XOR, .select = select_bits, .reason = {}},
    {.op = TosaOp::MAXIMUM, .select = select_binary_32, .reason = {}},
    {.op = TosaOp::MINIMUM, .select = select_binary_32, .reason = {}},
    {.op = TosaOp::MUL, .select = select_mul, .reason = {}},
    {.op = TosaOp::SUB, .select = select_add_sub, .reason = {}},
    {.op = TosaOp::TABLE, .select = select_table, .reason = {}},
    {.op = TosaOp::ABS, .select = select_unary_32, .reason = {}},
    {.op = TosaOp::BITWISE_NOT, .select = select_bits, .reason = {}},
    {.op = TosaOp::CLZ, .select = select_unary_32, .reason = {}},
    {.op = TosaOp::LOGICAL_NOT, .select = select_bits, .reason = {}},
    {.op = TosaOp::NEGATE, .select = select_negate, .reason = {}},
    {.op = TosaOp::SELECT, .select = select_by_mask, .reason = {}},
    {.op = TosaOp::EQUAL, .select = select_order, .reason = {}},
    {.op = TosaOp::GREATER, .select = select_order, .reason = {}},
    {.op = TosaOp::GREATER_EQUAL, .select = select_order, .reason = {}},
    {.op = TosaOp::REDUCE_ALL, .select = select_reduce_extreme, .reason = {}},
    {.op = TosaOp::REDUCE_ANY, .select = select_reduce_extreme, .reason = {}},
    {.op = TosaOp::REDUCE_MAX, .select = select_reduce_extreme, .reason = {}},
    {.op = TosaOp::REDUCE_MIN, .select = select_reduce_extreme, .reason = {}},
    {.op = TosaOp::REDUCE_SUM, .select = select_reduce_sum, .reason = {}},
    {.op = TosaOp::CONCAT, .select = select_concat, .reason = {}},
    {.op = TosaOp::PAD, .select = select_pad, .reason = {}},
    {.op = TosaOp::RESHAPE, .select = select_reshape, .reason = {}},
    {.op = TosaOp::REVERSE, .select = select_reverse, .reason = {}},
    {.op = TosaOp::SLICE, .select = select_slice, .reason = {}},
    {.op = TosaOp::TILE, .select = select_tile, .reason = {}},
    {.op = TosaOp::TRANSPOSE, .select = select_transpose, .reason = {}},
    {.op = TosaOp::GATHER, .select = select_gather, .reason = {}},
    {.op = TosaOp::SCATTER, .select = select_scatter, .reason = {}},
    {.op = TosaOp::RESIZE, .select = select_resample, .reason = {}},
    {.op = TosaOp::CAST, .select = select_bit_cast, .reason = {}},
    {.op = TosaOp::RESCALE, .select = select_rescale, .reason = {}},
    {.op = TosaOp::IDENTITY, .select = select_reshape, .reason = {}},
}));

}  // namespace

std::span<const Rule> u85_rules() {
  return kRules;
}

}  // namespace carina::plan
