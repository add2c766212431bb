// Declares the functions of the rules: each makes the TOSA nodes of one operator, or says why it cannot.
#pragma once

#include "frontend/tflite/to_tosa/call_internal.h"

namespace carina::tflite {

#define CARINA_TFLITE_RULE(name, function) Result<void> function(Call& call);
#include "frontend/tflite/to_tosa/rules.def"
#undef CARINA_TFLITE_RULE

// Those of int16.
Result<void> logistic_16(Call& call);
Result<void> hyperbolic_tangent_16(Call& call);
Result<void> softmax_16(Call& call);
// The same of a value with a scale of 2^log2, from 2^-15 to 1, in units of 1/32768.
ir::ValueId logistic_16(Call& call, ir::ValueId input, int log2);
ir::ValueId hyperbolic_tangent_16(Call& call, ir::ValueId input, int log2);
Result<void> function_16(Call& call, const std::function<float(float)>& function);

// Rows of K elements, in any shape, times the rows of a matrix [N,1,1,K], with a bias for each of these: sums
// [1,1,rows,N] of int32, or of int48 for int16.
struct RowProducts {
  ir::ValueId rows;
  ir::ValueId matrix;
  std::span<const int64_t> bias;
  int64_t rows_zp = 0;
  int64_t matrix_zp = 0;
};
ir::ValueId row_products(Call& call, const RowProducts& what);

// The elements of an axis with these indices. Every run of neighbors is a SLICE. Error: an index is out of range.
//   Example: [1, 2, 3, 0] is a slice of three elements and one of one.
inline constexpr int64_t kMaxSlices = 256;
Result<ir::ValueId> sliced_by(Call& call, ir::ValueId input, const std::vector<int64_t>& indices, size_t axis);

}  // namespace carina::tflite
