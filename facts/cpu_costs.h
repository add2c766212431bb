#pragma once

#include <array>
#include <cstdint>

#include "facts/aten_traits.h"

// The cost of operators on the CPU: instructions of a Cortex-M55 in Carina's portable kernels on floats, which
// bench/kernels.py counts in QEMU (2026-11). A report calls them cycles, because QEMU counts one cycle per instruction
// (docs/guide/firmware.md). The numbers compare nodes with each other and with the NPU, within a factor of two.
namespace carina {

struct CpuCost {
  int64_t per_mac;      // of products
  int64_t per_element;  // of the result; for reductions and pools, of the operand
};

struct FamilyCost {
  AtenFamily family;
  CpuCost cost;
};

// Rounded from the rows of bench/kernels.py; estimate(): there is no row.
inline constexpr auto kCpuCosts = std::to_array<FamilyCost>({
    {AtenFamily::kConvolution, {.per_mac = 6, .per_element = 40}},    // convolution.out: 6.4 of 72 MACs, 7.1 of 32
    {AtenFamily::kProduct, {.per_mac = 4, .per_element = 30}},        // bmm.out: 5.0 of 32 MACs; linear.out: 4.5 of 64
    {AtenFamily::kLimit, {.per_mac = 0, .per_element = 13}},          // clamp.out: 13.1
    {AtenFamily::kArithmetic, {.per_mac = 0, .per_element = 6}},      // add.out: 6.1; mul.out: 5.1
    {AtenFamily::kFunction, {.per_mac = 0, .per_element = 43}},       // sigmoid.out: 43.1
    {AtenFamily::kPool, {.per_mac = 0, .per_element = 17}},           // avg_pool2d.out: 69.4 for 4 elements
    {AtenFamily::kReduction, {.per_mac = 0, .per_element = 6}},       // sum.IntList_out: 6.2; mean.out: 5.2
    {AtenFamily::kNormalization, {.per_mac = 0, .per_element = 24}},  // native_layer_norm.out: 23.6
    {AtenFamily::kMovement, {.per_mac = 0, .per_element = 8}},        // permute_copy.out: 8.2
    {AtenFamily::kQuantization, {.per_mac = 0, .per_element = 3}},    // quantize_per_tensor.out: 2.9
});

struct OperatorCost {
  AtenOp op;
  CpuCost cost;
};

// Operators whose cost is far from that of their family.
inline constexpr auto kCpuCostsOfOperators = std::to_array<OperatorCost>({
    {AtenOp::linear_default, {.per_mac = 4, .per_element = 30}},
    {AtenOp::relu_default, {.per_mac = 0, .per_element = 8}},      // relu.out: 8.1
    {AtenOp::maximum_default, {.per_mac = 0, .per_element = 11}},  // maximum.out: 11.1
    {AtenOp::minimum_default, {.per_mac = 0, .per_element = 11}},
    {AtenOp::neg_default, {.per_mac = 0, .per_element = 4}},     // neg.out: 4.1
    {AtenOp::tanh_default, {.per_mac = 0, .per_element = 111}},  // tanh.out: 111.0
    {AtenOp::gelu_default, {.per_mac = 0, .per_element = 145}},  // gelu.out: 144.5; 65 for values below 1
    {AtenOp::softmax_int, {.per_mac = 0, .per_element = 67}},    // _softmax.out: 66.5
    {AtenOp::_softmax_default, {.per_mac = 0, .per_element = 67}},
    {AtenOp::max_pool2d_default, {.per_mac = 0, .per_element = 35}},  // max_pool2d_with_indices.out: 140.2 for 4
    {AtenOp::amax_default, {.per_mac = 0, .per_element = 16}},        // amax.out: 16.2
    {AtenOp::dequantize_per_tensor_default, {.per_mac = 0, .per_element = 2}},  // dequantize_per_tensor.out: 2.1
});
inline constexpr int64_t kCpuCostOfOtherElement = 60;  // estimate(int32 arithmetic: add.out, 61.1)
inline constexpr int64_t kCpuCostOfCall = 600;         // measured: a view_copy, which moves no data
// estimate(): passing a command stream to the NPU and handling its interrupt.
inline constexpr int64_t kCpuCostOfDelegateCall = 3000;

constexpr CpuCost cpu_cost_of(AtenOp op, AtenFamily family) {
  for (const OperatorCost& row : kCpuCostsOfOperators) {
    if (row.op == op) return row.cost;
  }
  for (const FamilyCost& row : kCpuCosts) {
    if (row.family == family) return row.cost;
  }
  return {.per_mac = 0, .per_element = kCpuCostOfOtherElement};
}

}  // namespace carina
