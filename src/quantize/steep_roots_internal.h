#pragma once

#include "carina/log.h"
#include "datasets/data_set.h"
#include "ir/evaluator.h"
#include "ir/graph.h"

namespace carina::quantize {

// Finds the square roots whose operands lie in the first of the 256 steps of a 16-bit table so often that interpolation
// there would leave less than 30 dB, on a few samples, and gives them a finer table for small operands
// (normalize/split_roots.h), with a note. Errors: those of the rewrite.
Result<void> split_steep_roots(ir::Graph& aten, const datasets::DataSet& samples, int threads,
                               const ir::Evaluator* evaluator, const Log& log);

}  // namespace carina::quantize
