#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "facts/tosa_rows.h"

namespace carina {

// The SPIR-V form of each TOSA operator: the instructions of the extended set TOSA.001000.1, one row per operator of
// TOSA 1.0. The operands of an instruction are its attributes in this order, then the operator's inputs. Source:
// SPIRV-Headers, extinst.tosa.001000.1.grammar.json.

inline constexpr std::string_view kVgfInstructionSet = "TOSA.001000.1";

enum class VgfTreatment : uint8_t {
  kInstruction,
  kForwarded,  // no instruction: readers of the result read the operand
  kValue,      // not a node in Carina's graphs either
  kRefused,    // rejected, with the row's reason
};

struct VgfOpRow {
  TosaOp op;
  VgfTreatment treatment;
  uint32_t instruction = 0;                           // kInstruction
  std::span<const std::string_view> attributes = {};  // names in the TOSA row; the FlatBuffer's order differs
  std::string_view reason = {};                       // of the other treatments, as shown to the user
};

namespace vgf_ops {

inline constexpr auto kAxis = std::to_array<std::string_view>({"axis"});
inline constexpr auto kAxisAndNanMode = std::to_array<std::string_view>({"axis", "nan_mode"});
inline constexpr auto kAvgPool = std::to_array<std::string_view>({"kernel", "stride", "pad", "acc_type"});
inline constexpr auto kConv = std::to_array<std::string_view>({"pad", "stride", "dilation", "acc_type", "local_bound"});
inline constexpr auto kFft = std::to_array<std::string_view>({"inverse", "local_bound"});
inline constexpr auto kMaxPool = std::to_array<std::string_view>({"kernel", "stride", "pad", "nan_mode"});
inline constexpr auto kRfft = std::to_array<std::string_view>({"local_bound"});
inline constexpr auto kTransposeConv =
    std::to_array<std::string_view>({"out_pad", "stride", "acc_type", "local_bound"});
inline constexpr auto kClamp = std::to_array<std::string_view>({"min_val", "max_val", "nan_mode"});
inline constexpr auto kRound = std::to_array<std::string_view>({"round"});
inline constexpr auto kNanMode = std::to_array<std::string_view>({"nan_mode"});
inline constexpr auto kPerms = std::to_array<std::string_view>({"perms"});
inline constexpr auto kMode = std::to_array<std::string_view>({"mode"});
inline constexpr auto kRescale =
    std::to_array<std::string_view>({"scale32", "rounding_mode", "per_channel", "input_unsigned", "output_unsigned"});

}  // namespace vgf_ops

inline constexpr auto kVgfOps = std::to_array<VgfOpRow>({
    {.op = TosaOp::ARGMAX,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 0,
     .attributes = vgf_ops::kAxisAndNanMode},
    {.op = TosaOp::AVG_POOL2D,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 1,
     .attributes = vgf_ops::kAvgPool},
    {.op = TosaOp::CONV2D, .treatment = VgfTreatment::kInstruction, .instruction = 2, .attributes = vgf_ops::kConv},
    {.op = TosaOp::CONV3D, .treatment = VgfTreatment::kInstruction, .instruction = 3, .attributes = vgf_ops::kConv},
    {.op = TosaOp::DEPTHWISE_CONV2D,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 4,
     .attributes = vgf_ops::kConv},
    {.op = TosaOp::FFT2D, .treatment = VgfTreatment::kInstruction, .instruction = 5, .attributes = vgf_ops::kFft},
    {.op = TosaOp::MATMUL, .treatment = VgfTreatment::kInstruction, .instruction = 6},
    {.op = TosaOp::MAX_POOL2D,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 7,
     .attributes = vgf_ops::kMaxPool},
    {.op = TosaOp::RFFT2D, .treatment = VgfTreatment::kInstruction, .instruction = 8, .attributes = vgf_ops::kRfft},
    {.op = TosaOp::TRANSPOSE_CONV2D,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 9,
     .attributes = vgf_ops::kTransposeConv},
    {.op = TosaOp::CLAMP, .treatment = VgfTreatment::kInstruction, .instruction = 10, .attributes = vgf_ops::kClamp},
    {.op = TosaOp::ERF, .treatment = VgfTreatment::kInstruction, .instruction = 11},
    {.op = TosaOp::SIGMOID, .treatment = VgfTreatment::kInstruction, .instruction = 12},
    {.op = TosaOp::TANH, .treatment = VgfTreatment::kInstruction, .instruction = 13},
    {.op = TosaOp::ADD, .treatment = VgfTreatment::kInstruction, .instruction = 14},
    {.op = TosaOp::ARITHMETIC_RIGHT_SHIFT,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 15,
     .attributes = vgf_ops::kRound},
    {.op = TosaOp::BITWISE_AND, .treatment = VgfTreatment::kInstruction, .instruction = 16},
    {.op = TosaOp::BITWISE_OR, .treatment = VgfTreatment::kInstruction, .instruction = 17},
    {.op = TosaOp::BITWISE_XOR, .treatment = VgfTreatment::kInstruction, .instruction = 18},
    {.op = TosaOp::INTDIV, .treatment = VgfTreatment::kInstruction, .instruction = 19},
    {.op = TosaOp::LOGICAL_AND, .treatment = VgfTreatment::kInstruction, .instruction = 20},
    {.op = TosaOp::LOGICAL_LEFT_SHIFT, .treatment = VgfTreatment::kInstruction, .instruction = 21},
    {.op = TosaOp::LOGICAL_RIGHT_SHIFT, .treatment = VgfTreatment::kInstruction, .instruction = 22},
    {.op = TosaOp::LOGICAL_OR, .treatment = VgfTreatment::kInstruction, .instruction = 23},
    {.op = TosaOp::LOGICAL_XOR, .treatment = VgfTreatment::kInstruction, .instruction = 24},
    {.op = TosaOp::MAXIMUM,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 25,
     .attributes = vgf_ops::kNanMode},
    {.op = TosaOp::MINIMUM,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 26,
     .attributes = vgf_ops::kNanMode},
    {.op = TosaOp::MUL, .treatment = VgfTreatment::kInstruction, .instruction = 27},
    {.op = TosaOp::POW, .treatment = VgfTreatment::kInstruction, .instruction = 28},
    {.op = TosaOp::SUB, .treatment = VgfTreatment::kInstruction, .instruction = 29},
    {.op = TosaOp::TABLE, .treatment = VgfTreatment::kInstruction, .instruction = 30},
    {.op = TosaOp::ABS, .treatment = VgfTreatment::kInstruction, .instruction = 31},
    {.op = TosaOp::BITWISE_NOT, .treatment = VgfTreatment::kInstruction, .instruction = 32},
    {.op = TosaOp::CEIL, .treatment = VgfTreatment::kInstruction, .instruction = 33},
    {.op = TosaOp::CLZ, .treatment = VgfTreatment::kInstruction, .instruction = 34},
    {.op = TosaOp::COS, .treatment = VgfTreatment::kInstruction, .instruction = 35},
    {.op = TosaOp::EXP, .treatment = VgfTreatment::kInstruction, .instruction = 36},
    {.op = TosaOp::FLOOR, .treatment = VgfTreatment::kInstruction, .instruction = 37},
    {.op = TosaOp::LOG, .treatment = VgfTreatment::kInstruction, .instruction = 38},
    {.op = TosaOp::LOGICAL_NOT, .treatment = VgfTreatment::kInstruction, .instruction = 39},
    {.op = TosaOp::NEGATE, .treatment = VgfTreatment::kInstruction, .instruction = 40},
    {.op = TosaOp::RECIPROCAL, .treatment = VgfTreatment::kInstruction, .instruction = 41},
    {.op = TosaOp::RSQRT, .treatment = VgfTreatment::kInstruction, .instruction = 42},
    {.op = TosaOp::SIN, .treatment = VgfTreatment::kInstruction, .instruction = 43},
    {.op = TosaOp::SELECT, .treatment = VgfTreatment::kInstruction, .instruction = 44},
    {.op = TosaOp::EQUAL, .treatment = VgfTreatment::kInstruction, .instruction = 45},
    {.op = TosaOp::GREATER, .treatment = VgfTreatment::kInstruction, .instruction = 46},
    {.op = TosaOp::GREATER_EQUAL, .treatment = VgfTreatment::kInstruction, .instruction = 47},
    {.op = TosaOp::REDUCE_ALL,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 48,
     .attributes = vgf_ops::kAxis},
    {.op = TosaOp::REDUCE_ANY,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 49,
     .attributes = vgf_ops::kAxis},
    {.op = TosaOp::REDUCE_MAX,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 50,
     .attributes = vgf_ops::kAxisAndNanMode},
    {.op = TosaOp::REDUCE_MIN,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 51,
     .attributes = vgf_ops::kAxisAndNanMode},
    {.op = TosaOp::REDUCE_PRODUCT,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 52,
     .attributes = vgf_ops::kAxis},
    {.op = TosaOp::REDUCE_SUM,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 53,
     .attributes = vgf_ops::kAxis},
    {.op = TosaOp::CONCAT, .treatment = VgfTreatment::kInstruction, .instruction = 54, .attributes = vgf_ops::kAxis},
    {.op = TosaOp::PAD, .treatment = VgfTreatment::kInstruction, .instruction = 55},
    {.op = TosaOp::RESHAPE, .treatment = VgfTreatment::kInstruction, .instruction = 56},
    {.op = TosaOp::REVERSE, .treatment = VgfTreatment::kInstruction, .instruction = 57, .attributes = vgf_ops::kAxis},
    {.op = TosaOp::SLICE, .treatment = VgfTreatment::kInstruction, .instruction = 58},
    {.op = TosaOp::TILE, .treatment = VgfTreatment::kInstruction, .instruction = 59},
    {.op = TosaOp::TRANSPOSE,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 60,
     .attributes = vgf_ops::kPerms},
    {.op = TosaOp::GATHER, .treatment = VgfTreatment::kInstruction, .instruction = 61},
    {.op = TosaOp::SCATTER, .treatment = VgfTreatment::kInstruction, .instruction = 62},
    {.op = TosaOp::RESIZE, .treatment = VgfTreatment::kInstruction, .instruction = 63, .attributes = vgf_ops::kMode},
    {.op = TosaOp::CAST, .treatment = VgfTreatment::kInstruction, .instruction = 64},
    {.op = TosaOp::RESCALE,
     .treatment = VgfTreatment::kInstruction,
     .instruction = 65,
     .attributes = vgf_ops::kRescale},
    {.op = TosaOp::CONST,
     .treatment = VgfTreatment::kValue,
     .reason = "constants are values of the module, inline or in the constants section"},
    {.op = TosaOp::IDENTITY, .treatment = VgfTreatment::kForwarded, .reason = "its result is its operand"},
    {.op = TosaOp::CUSTOM,
     .treatment = VgfTreatment::kRefused,
     .reason = "SPIR-V has no instruction for operators that TOSA does not define"},
    {.op = TosaOp::COND_IF,
     .treatment = VgfTreatment::kRefused,
     .reason = "graphs of SPV_ARM_graph have no branches: both sides would have to run"},
    {.op = TosaOp::WHILE_LOOP, .treatment = VgfTreatment::kRefused, .reason = "graphs of SPV_ARM_graph have no loops"},
    {.op = TosaOp::VARIABLE,
     .treatment = VgfTreatment::kRefused,
     .reason = "graphs of SPV_ARM_graph keep no state between runs"},
    {.op = TosaOp::VARIABLE_WRITE,
     .treatment = VgfTreatment::kRefused,
     .reason = "graphs of SPV_ARM_graph keep no state between runs"},
    {.op = TosaOp::VARIABLE_READ,
     .treatment = VgfTreatment::kRefused,
     .reason = "graphs of SPV_ARM_graph keep no state between runs"},
    {.op = TosaOp::CONST_SHAPE, .treatment = VgfTreatment::kValue, .reason = "shapes are inline constants"},
});

namespace detail {

// Returns whether a row is valid. Rows are in the order of the operators' numbers. A row has every attribute of the
// TOSA row exactly once, or a reason.
constexpr bool sound(const VgfOpRow& row) {
  if (row.treatment != VgfTreatment::kInstruction) return !row.reason.empty() && row.attributes.empty();
  const auto& attributes = row_of(row.op).attributes;
  return row.reason.empty() && attributes.size() == row.attributes.size() &&
         std::ranges::all_of(attributes, [&](const TosaAttribute& attribute) {
           return std::ranges::count(row.attributes, attribute.name) == 1;
         });
}

}  // namespace detail

static_assert(kVgfOps.size() == kTosaOpCount);
static_assert(std::ranges::all_of(kVgfOps, [n = 0](const VgfOpRow& row) mutable {
  return static_cast<int>(row.op) == ++n && detail::sound(row);
}));

constexpr const VgfOpRow& vgf_row_of(TosaOp op) {
  return kVgfOps[static_cast<size_t>(op) - 1];
}

constexpr const VgfOpRow* find_vgf_instruction(uint32_t number) {
  for (const VgfOpRow& row : kVgfOps) {
    if (row.treatment == VgfTreatment::kInstruction && row.instruction == number) return &row;
  }
  return nullptr;
}

// acc_type has its own numbers. nan_mode, rounding_mode and mode have TOSA's.
struct VgfAccType {
  TosaType type;
  uint32_t number;
};
inline constexpr auto kVgfAccTypes = std::to_array<VgfAccType>({
    {TosaType::kInt32, 1},
    {TosaType::kFp16, 2},
    {TosaType::kFp32, 3},
    {TosaType::kInt48, 4},
});

}  // namespace carina
