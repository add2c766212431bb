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

// The errors of a model's outputs for one choice of ranges, sample by sample, beside those of the best choice so far.
class ErrorCourse {
 public:
  // `handicap`: the factor of all errors of this choice. `best`: the course of the best choice; nullptr: there is none.
  // `samples`: how many will be added if nothing is given up.
  ErrorCourse(double handicap, const ErrorCourse* best, size_t samples);
  // Adds the error of the next sample. Returns whether the samples that are left may still make this choice the best.
  //   Example: after 4 of 8 samples, a choice with 1.05 times the best one's errors is given up.
  bool add(double error);
  // The sum of all errors with the handicap. If samples were left out, they are taken to compare like the others.
  [[nodiscard]] double total() const;

 private:
  double handicap_;
  const ErrorCourse* best_;
  size_t samples_;
  std::vector<double> sums_ = {};  // of the errors up to each sample
};

// Runs the model with these choices of ranges, and adds the error of its outputs for each sample to the course, until
// the course gives up.
using ErrorOfRanges = std::function<Result<void>(const std::vector<RangeChoice>& choices, ErrorCourse& course)>;

// Returns for each group of values the choice of its range, such that the outputs' error is small. First all groups
// have the same choice; another than the first one is taken only if it is clearly better, since the samples are few.
// Then runs of neighboring groups get the second best choice where that is clearly better. `groups` are those to be
// chosen, in the order in which they are computed; `all` is the number of groups, and `samples` that of calibration
// samples.
Result<std::vector<RangeChoice>> chosen_ranges(std::span<const size_t> groups, size_t all, size_t samples,
                                               const ErrorOfRanges& error_of);

}  // namespace carina::quantize
