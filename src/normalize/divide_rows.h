#pragma once

#include <span>
#include <vector>

#include "carina/result.h"
#include "ir/graph.h"

// Norms of rows whose sizes are far apart. Quantized squares of small rows would be a few steps, or none.
//   Example: rows of sizes 1 and 0.01 have mean squares of 1 and 0.0001, which is 3 steps of int16.
namespace carina::normalize {

// A norm of a normalized graph: c * rsqrt(mean(c^2) + eps), as layer, group, RMS and instance norm have it.
struct RowNorm {
  ir::NodeId rsqrt;
  ir::ValueId rows;     // c
  ir::ValueId squares;  // mean(c^2) + eps: the input of rsqrt
  double eps = 0;
};

// The norms in which each value between c and the result has no other reader.
std::vector<RowNorm> row_norms(const ir::Graph& aten);

struct RowDivision {
  RowNorm norm;
  double largest = 0;  // the largest of the rows' mean magnitudes, or more
};

// Divides the rows of these norms by about their mean magnitude first, which the second division takes back:
//   d = largest / 240 + mean(|c|);  f = rsqrt(d)^2;  e = c * f;  y = e * rsqrt(mean(e^2) + eps * f^2)
// Without rounding, y is the same. An error of f, which is the same for a whole row, has no effect. rsqrt(d) is a table
// of 256 entries on an NPU, between which it interpolates; from the offset on, the steps between them are small. Tried:
// the largest magnitude instead of the mean, which NPUs without 16-bit maxima compute in parts; 1 / d in one table,
// whose jump at 0 takes three.
Result<void> divide_rows(ir::Graph& aten, std::span<const RowDivision> divisions);

}  // namespace carina::normalize
