#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "quantize/range_observer_internal.h"

namespace carina::quantize {

// Returns upper bounds of the values inside a softmax that hold for every input: a sum of N exponentials of x - max(x)
// is at most N; its reciprocal and the result are at most 1. `steps` is the number of integer steps. One entry per
// value; no value if there is no bound.
std::vector<std::optional<double>> known_upper_bounds(const ir::Graph& graph, int64_t steps);

// Returns a range with headroom: twice the observed range, limited by the bound. Calibration uses few samples, and a
// value inside a softmax that exceeds its range would make the whole row wrong.
Range with_headroom(Range range, std::optional<double> upper_bound);

}  // namespace carina::quantize
