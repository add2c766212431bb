#pragma once

#include <map>

#include "carina/result.h"
#include "ir/graph.h"

// Square roots of numbers whose sizes are far apart, as of a spectrum's powers.
namespace carina::normalize {

// Replaces square roots of a normalized graph by the larger of two. `largest` has the largest operand by node.
//   y = max(sqrt(x), sqrt(128 * min(x, largest / 128)) / sqrt(128))
// Without rounding, y is the same. In 16 bits, sqrt is a table of 256 numbers for positive operands, between which an
// NPU interpolates. The curve is steep near 0: at 1/1000 of the range, a straight line from 0 gives half of the root.
// The second table has 128 times as many entries there. Lines between points of a root lie below it, so the larger
// result is the better one. Evidence: magnitudes of a Fourier transform of 32 frequencies have 37.3 dB instead of 29.1,
// for 3,466 of 11,250 cycles on an NPU of 128 multipliers; those of Silero VAD 24.7 dB instead of 14.1, for 2 % of the
// network's cycles.
Result<void> split_roots(ir::Graph& aten, const std::map<ir::NodeId, double>& largest);

}  // namespace carina::normalize
