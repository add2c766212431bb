#pragma once

#include <array>
#include <cstdint>

#include "facts/aten_traits.h"

// The cost of operators on the CPU: cycles of a Cortex-M55 in Carina's portable kernels. QEMU counts one cycle per
// instruction (docs/guide/firmware.md). The numbers compare nodes with each other and with the NPU, within a factor of
// two.
namespace carina {

struct CpuCost {
  AtenFamily family;
  int64_t per_mac;      // of products
  int64_t per_element;  // of the result; for reductions, of the operand
};

// Measured: operators of kws and resnet8 in fp32, `carina run --on qemu`, 2026-11. estimate(): families that these
// models do not contain.
inline constexpr auto kCpuCosts = std::to_array<CpuCost>({
    {.family = AtenFamily::kConvolution, .per_mac = 20, .per_element = 100},
    {.family = AtenFamily::kProduct, .per_mac = 30, .per_element = 100},
    {.family = AtenFamily::kLimit, .per_mac = 0, .per_element = 9},
    {.family = AtenFamily::kArithmetic, .per_mac = 0, .per_element = 63},
    {.family = AtenFamily::kFunction, .per_mac = 0, .per_element = 120},
    {.family = AtenFamily::kPool, .per_mac = 0, .per_element = 80},
    {.family = AtenFamily::kReduction, .per_mac = 0, .per_element = 45},
    {.family = AtenFamily::kNormalization, .per_mac = 0, .per_element = 200},  // estimate(5 passes)
    {.family = AtenFamily::kMovement, .per_mac = 0, .per_element = 12},
    {.family = AtenFamily::kQuantization, .per_mac = 0, .per_element = 96},
});
inline constexpr int64_t kCpuCostOfOtherElement = 60;  // estimate(as arithmetic)
inline constexpr int64_t kCpuCostOfCall = 600;         // measured: a view_copy, which moves no data
// estimate(): passing a command stream to the NPU and handling its interrupt.
inline constexpr int64_t kCpuCostOfDelegateCall = 3000;

constexpr CpuCost cpu_cost_of(AtenFamily family) {
  for (const CpuCost& row : kCpuCosts) {
    if (row.family == family) return row;
  }
  return {.family = family, .per_mac = 0, .per_element = kCpuCostOfOtherElement};
}

}  // namespace carina
