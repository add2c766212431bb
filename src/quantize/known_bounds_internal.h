#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "quantize/range_observer_internal.h"

namespace carina::quantize {

// Upper bounds that hold whatever the input, for the values inside a softmax: a sum of N exponentials of x - max(x) is
// at most N, its reciprocal and the result at most 1 (in integers of so many steps). One entry per value.
std::vector<std::optional<double>> known_upper_bounds(const ir::Graph& graph, int64_t steps);

// Calibration sees a few samples, and a value inside a softmax that leaves the calibrated range ruins the whole row, so
// such ranges get headroom: twice what was seen, but not beyond the bound.
Range with_headroom(Range range, std::optional<double> upper_bound);

}  // namespace carina::quantize
