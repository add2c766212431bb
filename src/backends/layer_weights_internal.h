#pragma once

#include <vector>

#include "carina/compile_report.h"
#include "ir/graph.h"
#include "plan/schedule/schedule.h"

namespace carina::backends {

// Returns the encoded weights of each layer, in the order in which the schedule first reads them. Weights that several
// operations share are counted once, for the first one.
std::vector<results::LayerWeights> layer_weights(const ir::Graph& tosa, const plan::Schedule& schedule);

}  // namespace carina::backends
