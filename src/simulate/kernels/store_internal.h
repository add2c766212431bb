#pragma once

#include <cstdint>
#include <span>

#include "simulate/kernels/work.h"

// Writes results to the OFM, and computes elementwise functions.
namespace carina::simulate {

// Stores row `oy` of the OFM before its transpose: final values [W][C] are reversed, transposed and narrowed to the
// OFM's type.
void store_row(const Work& work, int32_t oy, std::span<const int64_t> values);
// Stores values of some columns that are already narrowed, `pixel_bytes` from one column to the next.
void store_row(const Work& work, int32_t oy, Columns columns, const std::byte* values, int64_t pixel_bytes);

// An elementwise operation on operands without zero points, up to the output stage.
class ElementwiseFunction {
 public:
  explicit ElementwiseFunction(const Operation& op) : op_(op), wide_(op.ifm.type.bytes >= 4 || op.ifm2_bytes() >= 4) {}
  [[nodiscard]] int64_t operator()(int64_t a, int64_t b) const;
  // The operand scaling before the operation: of ADD and SUB, and on U85 of the other modes with operand scales.
  [[nodiscard]] int64_t scale_first(int64_t a) const;
  [[nodiscard]] int64_t scale_second(int64_t b) const;

 private:
  const Operation& op_;
  bool wide_;
};

}  // namespace carina::simulate
