#pragma once

#include "plan/select/selection.h"

namespace carina::plan {

// A matrix product of 8 bits during selection: out[n,h,w] = sum of a[n,h,c] * b[n,c,w], with zero points subtracted.
struct Matrices {
  Operand a = {};  // [N,H,C]
  Operand b = {};  // [N,C,W]
  View out = {};   // [N,H,W]
};

// Returns whether a convolution can read `b` as weights that the NPU writes (plan/select/weight_stream_internal.h).
bool takes_written_weights(Selection& s, const Matrices& m);
// The estimated cycles of the product as such convolutions, and column by column.
double cycles_by_convolutions(const Selection& s, const Matrices& m);
double cycles_by_columns(const Selection& s, const Matrices& m);
// Emits the product as such convolutions.
Result<void> multiply_by_convolutions(Selection& s, const Matrices& m, const Epilogue& epilogue);

}  // namespace carina::plan
