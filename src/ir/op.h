// Declares the operator of a node.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "facts/aten_ops.h"
#include "facts/tosa_ops.h"

namespace carina::ir {

enum class Stage : uint8_t { kAten, kTosa };

// An operation: a row of its stage's table.
class Op {
 public:
  constexpr Op(AtenOp op) : stage_(Stage::kAten), index_(static_cast<uint16_t>(op)) {}  // NOLINT: an AtenOp is an Op
  constexpr Op(TosaOp op) : stage_(Stage::kTosa), index_(static_cast<uint16_t>(op)) {}  // NOLINT: a TosaOp is an Op

  [[nodiscard]] constexpr Stage stage() const { return stage_; }
  [[nodiscard]] constexpr bool is_aten() const { return stage_ == Stage::kAten; }
  [[nodiscard]] constexpr bool is_tosa() const { return stage_ == Stage::kTosa; }
  // Returns the op as its stage's enum. The op must be of that stage.
  [[nodiscard]] AtenOp aten() const;
  [[nodiscard]] TosaOp tosa() const;
  // "aten.conv2d.default", "quantized_decomposed.quantize_per_tensor.default", "tosa.CONV2D"
  [[nodiscard]] std::string_view name() const;
  constexpr auto operator<=>(const Op&) const = default;

 private:
  Stage stage_;
  uint16_t index_;
};

std::optional<Op> op_of_name(std::string_view name);

}  // namespace carina::ir
