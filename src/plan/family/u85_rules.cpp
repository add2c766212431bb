#include <array>

#include "plan/family/u85_internal.h"
#include "plan/select/rules.h"

// What ethos-u85 does with each TOSA operator. Source: facts of TOSA 1.0 PRO-INT against the command set.
namespace carina::plan {
namespace {

constexpr std::string_view kNoFloat = "the NPU computes integers only: quantize the model";
constexpr std::string_view kNoControl = "programs are compiled without branches";

constexpr auto kRules = std::to_array<Rule>({
    {.op = TosaOp::ARGMAX, .select = select_argmax, .reason = {}},
    {.op = TosaOp::AVG_POOL2D, .select = select_average_pool, .reason = {}},
    {.op = TosaOp::CONV2D, .select = select_convolution_by_tensor, .reason = {}},
    {.op = TosaOp::CONV3D, .select = select_convolution_3d, .reason = {}},
    {.op = TosaOp::DEPTHWISE_CONV2D, .select = select_depthwise, .reason = {}},
    {.op = TosaOp::FFT2D, .select = nullptr, .reason = kNoFloat},
    {.op = TosaOp::MATMUL, .select = select_product, .reason = {}},
    {.op = TosaOp::MAX_POOL2D, .select = select_max_pool, .reason = {}},
    {.op = TosaOp::RFFT2D, .select = nullptr, .reason = kNoFloat},
    {.op = TosaOp::TRANSPOSE_CONV2D, .select = select_transpose_conv, .reason = {}},
    {.op = TosaOp::CLAMP, .select = select_clamp, .reason = {}},
    {.op = TosaOp::ERF, .select = nullptr, .reason = kNoFloat},
    {.op = TosaOp::SIGMOID, .select = nullptr, .reason = kNoFloat},
    {.op = TosaOp::TANH, .select = nullptr, .reason = kNoFloat},
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
    {.op = TosaOp::POW, .select = nullptr, .reason = kNoFloat},
    {.op = TosaOp::SUB, .select = select_add_sub, .reason = {}},
    {.op = TosaOp::TABLE, .select = select_table, .reason = {}},
    {.op = TosaOp::ABS, .select = select_unary_32, .reason = {}},
    {.op = TosaOp::BITWISE_NOT, .select = select_bits, .reason = {}},
    {.op = TosaOp::CEIL, .select = nullptr, .reason = kNoFloat},
    {.op = TosaOp::CLZ, .select = select_unary_32, .reason = {}},
    {.op = TosaOp::COS, .select = nullptr, .reason = kNoFloat},
    {.op = TosaOp::EXP, .select = nullptr, .reason = kNoFloat},
    {.op = TosaOp::FLOOR, .select = nullptr, .reason = kNoFloat},
    {.op = TosaOp::LOG, .select = nullptr, .reason = kNoFloat},
    {.op = TosaOp::LOGICAL_NOT, .select = select_bits, .reason = {}},
    {.op = TosaOp::NEGATE, .select = select_negate, .reason = {}},
    {.op = TosaOp::RECIPROCAL, .select = nullptr, .reason = kNoFloat},
    {.op = TosaOp::RSQRT, .select = nullptr, .reason = kNoFloat},
    {.op = TosaOp::SIN, .select = nullptr, .reason = kNoFloat},
    {.op = TosaOp::SELECT, .select = select_by_mask, .reason = {}},
    {.op = TosaOp::EQUAL, .select = select_order, .reason = {}},
    {.op = TosaOp::GREATER, .select = select_order, .reason = {}},
    {.op = TosaOp::GREATER_EQUAL, .select = select_order, .reason = {}},
    {.op = TosaOp::REDUCE_ALL, .select = select_reduce_extreme, .reason = {}},
    {.op = TosaOp::REDUCE_ANY, .select = select_reduce_extreme, .reason = {}},
    {.op = TosaOp::REDUCE_MAX, .select = select_reduce_extreme, .reason = {}},
    {.op = TosaOp::REDUCE_MIN, .select = select_reduce_extreme, .reason = {}},
    {.op = TosaOp::REDUCE_PRODUCT, .select = nullptr, .reason = "the NPU cannot multiply along an axis"},
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
    {.op = TosaOp::CUSTOM, .select = nullptr, .reason = "custom operators are not known to the NPU"},
    {.op = TosaOp::COND_IF, .select = nullptr, .reason = kNoControl},
    {.op = TosaOp::WHILE_LOOP, .select = nullptr, .reason = kNoControl},
    {.op = TosaOp::VARIABLE, .select = nullptr, .reason = "the NPU keeps no state between runs"},
    {.op = TosaOp::VARIABLE_WRITE, .select = nullptr, .reason = "the NPU keeps no state between runs"},
    {.op = TosaOp::VARIABLE_READ, .select = nullptr, .reason = "the NPU keeps no state between runs"},
});

}  // namespace

std::span<const Rule> u85::rules() {
  return kRules;
}

}  // namespace carina::plan
