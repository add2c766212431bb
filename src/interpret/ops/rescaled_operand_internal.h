#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "interpret/elementwise_internal.h"
#include "interpret/ops/integer_epilogue_internal.h"

namespace carina::interpret {

// The RESCALE of an operand, and the largest magnitude of its result.
struct RescaledOperand {
  kernels::Scales scales;
  DType type;
  int64_t bound;

  // Whether the operation itself can compute it.
  [[nodiscard]] bool is_shift() const { return scales.left_shift.has_value(); }

  // Rescales `count` adjacent elements.
  void run(const std::byte* in, int64_t count, int32_t* out) const;
  // The same of rows that are `stride` elements apart, to adjacent rows.
  void run(const std::byte* in, int64_t stride, int64_t rows, int64_t columns, int32_t* out) const;
};

// An operator of two operands that are rescaled integers, and the RESCALE of its result.
struct RescaledOperation {
  kernels::CombineIntegers op;  // of operand `first` and the other
  std::array<RescaledOperand, 2> operands;
  size_t first;
  std::array<const Tensor*, 2> constants;  // the operands before RESCALE; nullptr: known only at run time
  Walk<2> walk;
  IntegerEpilogue epilogue;
  int threads;
};

// A kernel of bytes that reads each element once, if the other operand is known for a whole row or column. Returns
// nothing for others.
std::optional<Kernel> affine_operation(const RescaledOperation& operation);
// A kernel of the square of bytes. Returns nothing for others.
std::optional<Kernel> square_of_bytes(const RescaledOperation& operation);
// A kernel of the sum, difference or product of bytes, element by element. Returns nothing for others.
std::optional<Kernel> combination_of_bytes(const RescaledOperation& operation);

}  // namespace carina::interpret
