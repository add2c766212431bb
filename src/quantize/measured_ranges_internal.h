#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "carina/result.h"
#include "quantize/scheme.h"

namespace carina::quantize {

// What a range is if nothing is measured: the best for most models.
inline constexpr RangeChoice kFirstRangeChoice = RangeChoice::kSquareError;

// Returns how many of the calibration samples are used to compare ranges; 0: too few samples to compare on.
size_t range_samples(size_t samples);

// Returns the error of a model's outputs if the range of each group is chosen so.
using ErrorOfRanges = std::function<Result<double>(const std::vector<RangeChoice>& choices)>;

// Returns for each group of values the choice of its range, such that the outputs' error is small. First all groups
// have the same choice; another than the first one is taken only if it is clearly better, since the samples are few.
// Then runs of neighboring groups get the second best choice where that is clearly better. `groups` are those to be
// chosen, in the order in which they are computed; `all` is the number of groups, and `samples` that of calibration
// samples.
Result<std::vector<RangeChoice>> chosen_ranges(std::span<const size_t> groups, size_t all, size_t samples,
                                               const ErrorOfRanges& error_of);

}  // namespace carina::quantize
