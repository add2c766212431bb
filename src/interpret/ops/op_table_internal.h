#pragma once

#include "facts/tosa_ops.h"
#include "interpret/kernel_internal.h"

// The table of kernels by operator.
namespace carina::interpret {

// The functions that make an operator's kernels.
struct OpRow {
  TosaOp op;
  Prepare prepare;
  PrepareFused fuse;  // nullptr: the operator has no fused form
};
// Returns nullptr for operators that are not in TOSA 1.0.
const OpRow* kernel_row_of(TosaOp op);

}  // namespace carina::interpret
