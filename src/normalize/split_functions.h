#pragma once

#include <map>
#include <span>
#include <vector>

#include "carina/result.h"
#include "ir/graph.h"

// Functions of numbers whose sizes are far apart, as of a spectrum's powers.
namespace carina::normalize {

// The smallest and the largest element of a value, over samples; or 0.
struct Extent {
  double min = 0;
  double max = 0;
};

// A function of one element, and the parts of its operand's range.
struct SplitFunction {
  ir::NodeId node;
  int parts = 2;
  double part = 1.0 / 128;  // each part ends at this fraction of the part before it
  bool rises = true;        // ever less, as sqrt and log do. False: it falls ever less, as 1 / x does
};

// Returns the values whose extents split_functions() needs: the function's operand, and what it is computed from.
std::vector<ir::ValueId> values_behind(const ir::Graph& aten, ir::NodeId function);

// Replaces functions f(x) of a normalized graph by the largest of several.
//   y = max(f(x), f(x1), f(x2), ...)   where xk = min(x, largest x / 128^k)
// Without rounding, y is the same. In 16 bits, f is a table of 256 numbers for positive operands, between which an NPU
// interpolates: at 1/1000 of the range, a straight line from 0 gives half of a square root, and all logarithms of
// powers below 1/32768 of the largest one are the same. Each further table has 128 times as many entries near 0. Lines
// between points of such a function lie below it, so the largest result is the best one.
//
// xk is not computed from the rounded x. Squares, sums, means and products with positive constants are computed again,
// each limited to the end of the part, and so with a finer scale. So x is known with twice the decibels of what is
// squared.
//   Example: log(re * re + im * im + eps) has a part log(min(min(re * re, a) + min(im * im, b) + eps, c)).
Result<void> split_functions(ir::Graph& aten, std::span<const SplitFunction> functions,
                             const std::map<ir::ValueId, Extent>& extents);

}  // namespace carina::normalize
