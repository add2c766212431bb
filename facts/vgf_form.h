#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

// The SPIR-V form of a TOSA operator, a column of its row: an instruction of the extended set TOSA.001000.1. The
// operands of an instruction are its attributes in this order, then the operator's inputs. Source: SPIRV-Headers,
// extinst.tosa.001000.1.grammar.json.
//   Example: ARGMAX is `OpExtInst %type %TOSA 0 %axis %nan_mode %input`: instruction 0, attributes {axis, nan_mode}.
namespace carina {

enum class VgfTreatment : uint8_t {
  kInstruction,
  kForwarded,  // no instruction: readers of the result read the operand
  kValue,      // not a node in Carina's graphs either
  kRejected,   // with the row's reason
};

struct VgfForm {
  VgfTreatment treatment = VgfTreatment::kInstruction;
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

}  // namespace carina
