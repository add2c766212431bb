#pragma once

#include "facts/tosa_ops.h"
#include "interpret/kernel_internal.h"

namespace carina::interpret {

// How the interpreter runs one operator.
struct OpRow {
  TosaOp op;
  Prepare prepare;
  PrepareFused fuse;  // null: the operator has no fused form
};
// Nothing for operators that are not of TOSA 1.0.
const OpRow* kernel_row_of(TosaOp op);

}  // namespace carina::interpret
