#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace carina {

// The TOSA 1.0 operators under their specification names; the value is the number in the FlatBuffer schema.
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
