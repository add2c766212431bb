#pragma once

#include <span>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "ir/graph.h"
#include "quantize/range_observer_internal.h"
#include "quantize/sharing_internal.h"

namespace carina::quantize {

// Runs the float graph, lowered to TOSA FP, on the samples and returns an observer per group of values (indexed as
// Sharing::group). Errors: samples that do not fit the inputs, values that are not numbers, values that were never
// seen.
Result<std::vector<RangeObserver>> calibrate(const ir::Graph& aten, const Sharing& sharing,
                                             std::span<const std::vector<Tensor>> samples, int threads, const Log& log);

}  // namespace carina::quantize
