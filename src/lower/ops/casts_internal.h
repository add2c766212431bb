#pragma once

#include "ir/emitter.h"

namespace carina::lower {

// The type in which TOSA holds elements of a type of PyTorch: it has neither int64 nor fp64.
constexpr DType tosa_type(DType dtype) {
  if (dtype == DType::kInt64) return DType::kInt32;
  return dtype == DType::kFp64 ? DType::kFp32 : dtype;
}

// The elements of `input` in another type, by PyTorch's rules: floats lose their fraction, wide integers their high
// bits, what is not 0 is true.
ir::ValueId converted(ir::Emitter& out, ir::ValueId input, DType to);

// Floats without their fraction.
ir::ValueId truncated(ir::Emitter& out, ir::ValueId floats);

}  // namespace carina::lower
