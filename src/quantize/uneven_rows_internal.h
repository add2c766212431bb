#pragma once

#include "carina/log.h"
#include "datasets/data_set.h"
#include "ir/evaluator.h"
#include "ir/graph.h"

namespace carina::quantize {

// Finds the norms whose rows have sizes far apart in a few samples, and lets them divide each row by its mean
// magnitude first (normalize/divide_rows.h), with a note. Errors: those of running the graph.
Result<void> even_out_rows(ir::Graph& aten, const datasets::DataSet& samples, int threads,
                           const ir::Evaluator* evaluator, const Log& log);

}  // namespace carina::quantize
