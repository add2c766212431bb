#pragma once

#include <cstdint>
#include <span>

#include "simulate/work_internal.h"

namespace carina::simulate {

// Row `oy` of the OFM before its transpose, final values [W][C], to memory: reversed, transposed, narrowed to the OFM's
// type.
void store_row(const Work& work, int32_t oy, std::span<const int64_t> values);
// The same for values of some columns, already narrowed, `pixel_bytes` from one column to the next.
void store_row(const Work& work, int32_t oy, Columns columns, const std::byte* values, int64_t pixel_bytes);

// One elementwise operation on operands whose zero points are subtracted, up to the output stage.
class ElementwiseFunction {
 public:
  explicit ElementwiseFunction(const Operation& op) : op_(op), wide_(op.ifm.type.bytes >= 4 || op.ifm2_bytes() >= 4) {}
  [[nodiscard]] int64_t operator()(int64_t a, int64_t b) const;
  // What ADD, SUB and, on U85, the other modes that take operand scales do to an operand before the operation.
  [[nodiscard]] int64_t scale_first(int64_t a) const;
  [[nodiscard]] int64_t scale_second(int64_t b) const;

 private:
  const Operation& op_;
  bool wide_;
};

}  // namespace carina::simulate
