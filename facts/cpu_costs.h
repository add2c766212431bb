#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "facts/aten_traits.h"

// The cost of operators on the CPU: instructions of a Cortex-M55 in Carina's kernels, which bench/kernels.py counts in
// QEMU (2026-11). A report calls them cycles, because QEMU counts one cycle per instruction
// (docs/guide/firmware.md). The numbers compare nodes with each other and with the NPU, within a factor of two.
namespace carina {

struct CpuCost {
  int64_t per_1000_macs;  // of products
  int64_t per_element;    // of the result; for reductions and pools, of the operand
};

struct FamilyCost {
  AtenFamily family;
  CpuCost cost;
};

// Rounded from the rows of bench/kernels.py; estimate(): there is no row.
inline constexpr auto kCpuCosts = std::to_array<FamilyCost>({
    {AtenFamily::kConvolution, {.per_1000_macs = 4000, .per_element = 30}},  // convolution.out: 4.4 of 72 MACs
    {AtenFamily::kProduct, {.per_1000_macs = 1900, .per_element = 28}},      // bmm.out: 2.8 of 32 MACs
    {AtenFamily::kLimit, {.per_1000_macs = 0, .per_element = 7}},            // clamp.out, relu.out: 7.1
    {AtenFamily::kArithmetic, {.per_1000_macs = 0, .per_element = 5}},       // add.out, mul.out: 5.1
    {AtenFamily::kFunction, {.per_1000_macs = 0, .per_element = 40}},        // estimate(functions of the C library)
    {AtenFamily::kPool, {.per_1000_macs = 0, .per_element = 7}},             // avg_pool2d.out: 29.5 for 4 elements
    {AtenFamily::kReduction, {.per_1000_macs = 0, .per_element = 5}},        // sum.IntList_out: 4.8; mean.out: 3.8
    {AtenFamily::kNormalization, {.per_1000_macs = 0, .per_element = 21}},   // native_layer_norm.out: 21.3
    {AtenFamily::kMovement, {.per_1000_macs = 0, .per_element = 8}},         // permute_copy.out: 8.2
    {AtenFamily::kQuantization, {.per_1000_macs = 0, .per_element = 3}},     // quantize_per_tensor.out: 2.9
});

struct OperatorCost {
  AtenOp op;
  CpuCost cost;
};

// Operators whose cost is far from that of their family.
inline constexpr auto kCpuCostsOfOperators = std::to_array<OperatorCost>({
    {AtenOp::linear_default, {.per_1000_macs = 1900, .per_element = 28}},  // linear.out: 2.4 of 64 MACs
    {AtenOp::maximum_default, {.per_1000_macs = 0, .per_element = 11}},    // maximum.out: 11.1
    {AtenOp::minimum_default, {.per_1000_macs = 0, .per_element = 11}},
    {AtenOp::neg_default, {.per_1000_macs = 0, .per_element = 4}},       // neg.out: 4.1
    {AtenOp::sigmoid_default, {.per_1000_macs = 0, .per_element = 13}},  // sigmoid.out: 13.3
    {AtenOp::tanh_default, {.per_1000_macs = 0, .per_element = 14}},     // tanh.out: 13.8
    {AtenOp::exp_default, {.per_1000_macs = 0, .per_element = 12}},      // exp.out: 11.8
    {AtenOp::gelu_default, {.per_1000_macs = 0, .per_element = 22}},     // gelu.out: 21.8; 14.8 with tanh
    {AtenOp::softmax_int, {.per_1000_macs = 0, .per_element = 38}},      // _softmax.out: 37.5
    {AtenOp::_softmax_default, {.per_1000_macs = 0, .per_element = 38}},
    {AtenOp::amax_default, {.per_1000_macs = 0, .per_element = 8}},                   // amax.out: 8.4
    {AtenOp::dequantize_per_tensor_default, {.per_1000_macs = 0, .per_element = 2}},  // dequantize_per_tensor.out: 2.1
});

// Those of the int8 kernels of --cpu-kernels cortex-m. Families without a row have no such kernel, or no row in
// bench/kernels.py.
inline constexpr auto kInt8CpuCosts = std::to_array<FamilyCost>({
    {AtenFamily::kConvolution,
     {.per_1000_macs = 300, .per_element = 10}},                       // quantized_conv2d_nhwc.out: 0.36 of 144 MACs
    {AtenFamily::kProduct, {.per_1000_macs = 200, .per_element = 8}},  // quantized_batch_matmul.out: 0.44 of 32 MACs
    {AtenFamily::kLimit, {.per_1000_macs = 0, .per_element = 2}},      // quantized_activation.out: 2.4
    {AtenFamily::kArithmetic,
     {.per_1000_macs = 0, .per_element = 6}},                         // quantized_add.out: 4.9; quantized_mul.out: 6.4
    {AtenFamily::kFunction, {.per_1000_macs = 0, .per_element = 2}},  // quantized_activation.out: 2.4
    {AtenFamily::kMovement, {.per_1000_macs = 0, .per_element = 6}},  // permute_copy.out of int8: 6.3
});
inline constexpr auto kInt8CpuCostsOfOperators = std::to_array<OperatorCost>({
    {AtenOp::linear_default, {.per_1000_macs = 200, .per_element = 8}},    // quantized_linear.out: 0.21 of 256 MACs
    {AtenOp::max_pool2d_default, {.per_1000_macs = 0, .per_element = 2}},  // quantized_max_pool2d_nhwc.out: 7.8 for 4
});
// quantized_depthwise_conv2d_nhwc.out: 5.7 of 9 MACs
inline constexpr CpuCost kInt8CostOfDepthwise{.per_1000_macs = 5'000, .per_element = 6};
inline constexpr int64_t kCpuCostOfOtherElement = 60;  // estimate(int32 arithmetic: add.out, 61.1)
inline constexpr int64_t kCpuCostOfCall = 600;         // measured: a view_copy, which moves no data
// estimate(): passing a command stream to the NPU and handling its interrupt.
inline constexpr int64_t kCpuCostOfDelegateCall = 3000;

// The row of an operator, or that of its family; nullptr: none.
template <size_t kOperators, size_t kFamilies>
constexpr const CpuCost* row_of(const std::array<OperatorCost, kOperators>& operators,
                                const std::array<FamilyCost, kFamilies>& families, AtenOp op, AtenFamily family) {
  for (const OperatorCost& row : operators) {
    if (row.op == op) return &row.cost;
  }
  for (const FamilyCost& row : families) {
    if (row.family == family) return &row.cost;
  }
  return nullptr;
}

constexpr CpuCost cpu_cost_of(AtenOp op, AtenFamily family) {
  const CpuCost* row = row_of(kCpuCostsOfOperators, kCpuCosts, op, family);
  return row != nullptr ? *row : CpuCost{.per_1000_macs = 0, .per_element = kCpuCostOfOtherElement};
}

// The cost on int8; that on floats if there is no row.
constexpr CpuCost int8_cpu_cost_of(AtenOp op, AtenFamily family) {
  const CpuCost* row = row_of(kInt8CpuCostsOfOperators, kInt8CpuCosts, op, family);
  return row != nullptr ? *row : cpu_cost_of(op, family);
}

}  // namespace carina
