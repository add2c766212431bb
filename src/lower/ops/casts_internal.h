#pragma once

#include "ir/emitter.h"

namespace carina::lower {

// The TOSA type of a PyTorch type. TOSA has neither int64 nor fp64.
constexpr DType tosa_type(DType dtype) {
  if (dtype == DType::kInt64) return DType::kInt32;
  return dtype == DType::kFp64 ? DType::kFp32 : dtype;
}

// The type that stores a tensor: TOSA's integers have a sign, so uint8 is stored in int8 with the same bits.
constexpr DType stored_type(DType dtype) {
  return dtype == DType::kUInt8 ? DType::kInt8 : dtype;
}

// Converts elements by PyTorch's rules: floats are truncated, wide integers keep their low bits, nonzero is true.
ir::ValueId converted(ir::Emitter& out, ir::ValueId input, DType to);

// Rounds floats toward zero.
ir::ValueId truncated(ir::Emitter& out, ir::ValueId floats);

}  // namespace carina::lower
