#pragma once

#include "carina/result.h"
#include "datasets/data_set.h"
#include "ir/evaluator.h"
#include "ir/graph.h"

namespace carina::quantize {

// Adds its state to each sample: what the float graph has after the samples before it, and the initial values for the
// first of each sequence. The samples are then independent of each other; the result still knows where sequences begin.
// A graph without state is no work, and samples that have one tensor for each input already are a sequence each.
// Errors: samples that do not match; nodes without a kernel.
//   Example: samples {x0}, {x1} of a graph with inputs x, h become {x0, h0}, {x1, h1}, where h0 is the initial value
Result<datasets::DataSet> with_state(const ir::Graph& graph, const datasets::DataSet& samples,
                                     const ir::Evaluator* evaluator);

}  // namespace carina::quantize
