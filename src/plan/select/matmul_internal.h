#pragma once

#include "plan/select/selection.h"

namespace carina::plan {

// A product of matrices of 8 bits under selection: out[n,h,w] = sum of a[n,h,c] * b[n,c,w], zero points taken off.
struct Matrices {
  Operand a = {};  // [N,H,C]
  Operand b = {};  // [N,C,W]
  View out = {};   // [N,H,W]
};

// Whether a convolution can take `b` as weights that the NPU writes itself (plan/select/weight_stream_internal.h).
bool takes_written_weights(Selection& s, const Matrices& m);
// What it would take in that form, and what it takes by columns: estimates in cycles.
double cycles_by_convolutions(const Selection& s, const Matrices& m);
double cycles_by_columns(const Selection& s, const Matrices& m);
// The product as such convolutions.
Result<void> multiply_by_convolutions(Selection& s, const Matrices& m, const Epilogue& epilogue);

}  // namespace carina::plan
