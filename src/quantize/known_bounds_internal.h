#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "quantize/range_observer_internal.h"

namespace carina::quantize {

// Returns upper bounds of the values inside a softmax that hold for every input: a sum of N exponentials of x - max(x)
// is at most N; its reciprocal and the result are at most 1. `steps` is the number of integer steps. One entry per
// value; no value if there is no bound.
std::vector<std::optional<double>> known_upper_bounds(const ir::Graph& graph, int64_t steps);

// The largest magnitude of the elements of each group, where functions and limits that end there compute all of them:
// sigmoid, tanh, sine, clamp(x, -2, 2). `group_of`: by value. One entry per group; no value if there is no limit.
std::vector<std::optional<double>> known_limits(const ir::Graph& graph, std::span<const size_t> group_of);

// Returns a range with headroom: twice the observed range, limited by the bound. Calibration uses few samples, and a
// value inside a softmax that exceeds its range would make the whole row wrong.
Range with_headroom(Range range, std::optional<double> upper_bound);

}  // namespace carina::quantize
