#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "facts/npu_accelerators.h"

// The numbers of the cycle model. All are estimates from Vela's performance model, not measurements (public sources:
// npu_performance.py and architecture_features.py of ethos-u-vela 5.2.0; for U85, the public mirror of regor's
// ethos_u85_performance.cpp).
namespace carina::npu {

// ---- Output unit of U55 and U65: cycles per output element ----
enum class OutputKind : uint8_t {
  kUnary32,      // 32-bit elementwise, one operand
  kBinary32,     // 32-bit elementwise, two operands
  kMulTo32,      // 8/16-bit MUL with 32-bit output
  kMulOrAcc40,   // other MUL, and operations with 40-bit accumulators
  kSimpleAdd,    // ADD/SUB without operand rescaling
  kAdvancedAdd,  // ADD/SUB with operand rescaling
  kMaxPool,
  kOther,
};
enum class ActivationKind : uint8_t { kTable, kRelu, kNone };  // kTable: LUT, tanh, sigmoid; kRelu: a clamp

struct OutputCycles {
  std::string_view accelerator;
  std::array<double, 8> output_cycles_per_elem;      // by OutputKind
  std::array<double, 3> activation_cycles_per_elem;  // by ActivationKind; the cost is the larger of the two
};
// Source: architecture_features.py.
inline constexpr auto kU55OutputCycles = std::to_array<OutputCycles>({
    {.accelerator = "ethos-u55-32",
     .output_cycles_per_elem = {2, 3, 3, 3, 4, 6, 1, 2},
     .activation_cycles_per_elem = {1, 1, 0}},
    {.accelerator = "ethos-u55-64",
     .output_cycles_per_elem = {1, 1.5, 1.5, 1.5, 2, 3, 0.5, 1},
     .activation_cycles_per_elem = {1, 1, 0}},
    {.accelerator = "ethos-u55-128",
     .output_cycles_per_elem = {0.75, 1.25, 0.75, 0.75, 1, 1.5, 0.25, 0.5},
     .activation_cycles_per_elem = {1, 0.5, 0}},
    {.accelerator = "ethos-u55-256",
     .output_cycles_per_elem = {0.625, 1.125, 0.5, 0.375, 0.5, 0.75, 0.125, 0.25},
     .activation_cycles_per_elem = {1, 0.25, 0}},
    {.accelerator = "ethos-u65-256",
     .output_cycles_per_elem = {0.625, 1.125, 0.5, 0.375, 0.5, 0.75, 0.125, 0.25},
     .activation_cycles_per_elem = {1, 0.25, 0}},
    {.accelerator = "ethos-u65-512",
     .output_cycles_per_elem = {0.625, 1.125, 0.5, 0.375, 0.5, 0.75, 0.125, 0.25},
     .activation_cycles_per_elem = {1, 0.25, 0}},
});
constexpr const OutputCycles* find_output_cycles(std::string_view accelerator) {
  for (const OutputCycles& row : kU55OutputCycles) {
    if (row.accelerator == accelerator) return &row;
  }
  return nullptr;
}

// ---- Output unit of U85: cycles per output element ----
enum class U85OutputKind : uint8_t {
  kOfm8,
  kOfm16,
  kOfm32,
  kOfm64,
  kBinary32Narrow,  // 32-bit elementwise with two operands and a narrower OFM, or one in a chaining buffer
  kBinary32Wide,    // 32-bit elementwise with two operands and a 32-bit OFM
};
enum class U85ActivationKind : uint8_t {
  kNormal,
  kTransposed
};  // kTransposed: OFM transposed in H/W, or reversed in W

struct U85OutputCycles {
  int macs_per_cycle;
  std::array<double, 6> output_cycles_per_elem;      // by U85OutputKind
  std::array<double, 2> activation_cycles_per_elem;  // by U85ActivationKind
};
// Source: ethos_u85_performance.cpp of regor.
inline constexpr auto kU85OutputCycles = std::to_array<U85OutputCycles>({
    {.macs_per_cycle = 128, .output_cycles_per_elem = {0.5, 0.5, 0.5, 1, 1, 1}, .activation_cycles_per_elem = {0.5, 1}},
    {.macs_per_cycle = 256,
     .output_cycles_per_elem = {0.25, 0.25, 0.25, 0.5, 0.5, 0.5},
     .activation_cycles_per_elem = {0.25, 0.5}},
    {.macs_per_cycle = 512,
     .output_cycles_per_elem = {0.125, 0.125, 0.25, 0.5, 0.25, 0.25},
     .activation_cycles_per_elem = {0.125, 0.25}},
    {.macs_per_cycle = 1024,
     .output_cycles_per_elem = {0.0625, 0.125, 0.25, 0.5, 0.125, 0.25},
     .activation_cycles_per_elem = {0.0625, 0.125}},
    {.macs_per_cycle = 2048,
     .output_cycles_per_elem = {0.03125, 0.0625, 0.125, 0.25, 0.0625, 0.125},
     .activation_cycles_per_elem = {0.03125, 0.0625}},
});
constexpr const U85OutputCycles* find_u85_output_cycles(int macs_per_cycle) {
  for (const U85OutputCycles& row : kU85OutputCycles) {
    if (row.macs_per_cycle == macs_per_cycle) return &row;
  }
  return nullptr;
}
inline constexpr double kU85DivCyclesPerElem = 33;

namespace detail {
constexpr bool has_output_cycles(const AcceleratorConfig& config) {
  for (const OutputCycles& row : kU55OutputCycles) {
    if (row.accelerator == config.name) return true;
  }
  for (const U85OutputCycles& row : kU85OutputCycles) {
    if (config.product == Product::kU85 && row.macs_per_cycle == config.macs_per_cycle) return true;
  }
  return false;
}
constexpr bool every_accelerator_has_output_cycles() {
  for (const AcceleratorConfig& config : kAccelerators) {
    if (!has_output_cycles(config)) return false;
  }
  return true;
}
}  // namespace detail
static_assert(detail::every_accelerator_has_output_cycles(), "an NPU configuration without a row of output cycles");

// ---- MAC unit ----
inline constexpr int kWeightDecodeElemsPerOfmUblockChannel =
    32;  // cycles to decode one ublock's weights: 32 * depth / 8
inline constexpr int kWeightDecodeElemsPerCycle = 8;
inline constexpr int kMacCyclesPerUblock = 4;  // minimum for depthwise, pooling and part-kernel steps
inline constexpr int kDepthwiseTapsPerStep = 4;
inline constexpr int kPartKernelTapsPerStep8Bit = 4;
inline constexpr int kPartKernelTapsPerStep16Bit = 2;
// The part-kernel order of U85 multiplies this many taps together; a remainder counts as at least the second number.
// Source: regor's choice of the traversal.
struct U85PartKernelTaps {
  int together;
  int at_least;
};
inline constexpr U85PartKernelTaps kU85PartKernelTaps{.together = 5, .at_least = 2};
inline constexpr U85PartKernelTaps kU85PartKernelTapsSparse{.together = 10, .at_least = 4};
// Latency of the accumulator pipeline when a block is one ublock wide and high.
inline constexpr int kPipelineDelayCycles = 2;
inline constexpr int kPipelineDelayAcc40Cycles = 3;  // 40- or 48-bit accumulators on at most 128 MACs
inline constexpr int kU55_32PipelineDelayCycles = 3;
inline constexpr int kU55_32PipelineDelayAcc40Cycles = 7;

// ---- Operation overhead ----
inline constexpr int kScaleEntryBytes = 10;
inline constexpr int kBiasLatencyDivisor = 256;  // 10 * block depth * read latency / 256
inline constexpr int kCommandCyclesDivisor = 4;  // a quarter of (memory + MAC + output), which overlap

// Elementwise operations of U55 and U65 process channels in steps of this many. Bricks of 16 channels are not the step:
// published FVP runs of Yolo-Fastest, which adds maps of 4 and 8 channels, take 9 % fewer cycles on two NPUs
// (docs/cycle-model.md, "Evidence"). U85: an assumption, limited by its ublocks.
inline constexpr int kElementwiseChannels = 8;

// ---- Memories ----
inline constexpr int kU55AxiBytesPerCycle = 8;
inline constexpr int kU65AxiBytesPerCycle = 16;
inline constexpr int kU85AxiBytesPerCyclePerPort = 16;
inline constexpr double kU85OutstandingEfficiency = 0.8;
inline constexpr int kReadBufferWordBytes = 16;

// ---- Weight decoding of U85 ----
inline constexpr int kU85FastDecodeElemsPerCycleFewValues = 64;  // at most 16 distinct values
inline constexpr int kU85FastDecodeElemsPerCycle = 32;
// Standard decoder: (8 + (z - 0.5) * 60) per stream and cycle, z = rate of zeros clamped to [0.5, 0.9].
inline constexpr double kU85DecodeBaseElemsPerCycle = 8;
inline constexpr double kU85DecodeZeroRateGain = 60;
inline constexpr double kU85DecodeMinZeroRate = 0.5;
inline constexpr double kU85DecodeMaxZeroRate = 0.9;
// The share of an operation's time in which its decoders work if they limit it. NPU_ACTIVE is 1.31 and 1.29 times
// WD_ACTIVE in the two published FVP runs of a perceptron (docs/cycle-model.md, "Evidence"); one NPU, one memory.
inline constexpr double kU85DecoderUtilization = 0.77;

}  // namespace carina::npu
