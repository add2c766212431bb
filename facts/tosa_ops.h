#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace carina {

// The operators of TOSA 1.0, and those of EXT-MXFP of TOSA 1.1, under their specification names; the value is the
// number in the FlatBuffer schema.
enum class TosaOp : uint16_t {
#define CARINA_TOSA_OP(name, number) name = number,
#include "facts/tosa_ops.def"
#undef CARINA_TOSA_OP
};

namespace detail {
struct TosaOpName {
  TosaOp op;
  std::string_view name;
};
inline constexpr auto kTosaOpNames = std::to_array<TosaOpName>({
#define CARINA_TOSA_OP(name, number) {TosaOp::name, "tosa." #name},
#include "facts/tosa_ops.def"
#undef CARINA_TOSA_OP
});
}  // namespace detail

inline constexpr size_t kTosaOpCount = detail::kTosaOpNames.size();

// The operator's place in the list. The numbers have gaps: Carina lacks some operators of TOSA 1.1.
constexpr size_t index_of(TosaOp op) {
  size_t index = 0;
  while (index < kTosaOpCount && detail::kTosaOpNames[index].op != op) ++index;
  return index;
}

// The operator with this number in the FlatBuffer schema, if Carina has it.
constexpr std::optional<TosaOp> tosa_op_of_number(uint64_t number) {
  const auto found =
      std::ranges::find(detail::kTosaOpNames, number, [](const auto& row) { return static_cast<uint64_t>(row.op); });
  if (found == detail::kTosaOpNames.end()) return std::nullopt;
  return found->op;
}

// "tosa.CONV2D"
constexpr std::string_view name_of(TosaOp op) {
  for (const auto& row : detail::kTosaOpNames) {
    if (row.op == op) return row.name;
  }
  return "tosa.?";
}

constexpr std::optional<TosaOp> tosa_op_of_name(std::string_view name) {
  for (const auto& row : detail::kTosaOpNames) {
    if (row.name == name) return row.op;
  }
  return std::nullopt;
}

}  // namespace carina
