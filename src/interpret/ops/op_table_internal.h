#pragma once

#include "facts/tosa_ops.h"
#include "interpret/kernel_internal.h"

// The table of kernels by operator.
namespace carina::interpret {

// The functions that make an operator's kernels.
struct OpRow {
  TosaOp op;
  Prepare prepare;
  FuseTail fuse_tail;    // nullptr: no kernel fuses following nodes
  FuseFront fuse_front;  // nullptr: no kernel fuses the RESCALE of its operands
  size_t front_size;     // the operands whose RESCALE is fused: the first ones
};
// Returns nullptr for operators that are not in TOSA 1.0.
const OpRow* kernel_row_of(TosaOp op);

}  // namespace carina::interpret
