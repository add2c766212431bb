#pragma once

#include <map>
#include <vector>

#include "carina/log.h"
#include "datasets/data_set.h"
#include "ir/evaluator.h"
#include "ir/graph.h"
#include "normalize/split_functions.h"

namespace carina::quantize {

// Roots, logarithms, powers and reciprocals whose operands are so often near 0 that one table of 16 bits would leave
// less than 35 dB of what the results differ by.
struct SteepFunctions {
  struct Found {
    normalize::SplitFunction function;  // with at most five parts
    double one_db = 0;                  // what one table leaves
  };
  std::vector<Found> found;
  std::map<ir::ValueId, normalize::Extent> extents;  // of their operands, and of what these are computed from
};

// Finds them on a few samples; none if the samples cannot be run, which calibration reports.
SteepFunctions steep_functions(const ir::Graph& aten, const datasets::DataSet& samples, int threads,
                               const ir::Evaluator* evaluator);

// Gives them finer tables for small operands (normalize/split_functions.h), with a note each. Errors: those of the
// rewrite.
Result<void> split_steep_functions(ir::Graph& aten, const SteepFunctions& functions, const Log& log);

}  // namespace carina::quantize
