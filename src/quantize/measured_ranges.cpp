#include "quantize/measured_ranges_internal.h"

#include <algorithm>
#include <array>

namespace carina::quantize {

namespace {

constexpr std::array kChoices{kFirstRangeChoice, RangeChoice::kHistogram, RangeChoice::kPercentile,
                              RangeChoice::kMinMax};
// Measuring takes less time than calibration: an integer run is four times as fast as an observed run of the float
// model, and there are at most four of half of the samples here; of many samples, up to eight of a quarter. Choices
// that are behind after a part of the samples are given up.
constexpr size_t kMinSamples = 16, kMinCompared = 8, kMaxCompared = 64, kComparedPart = 4;
// With fewer samples, parts of the model do not get ranges of their own: their gain is rarely clear, and each costs as
// much as a choice for the whole model.
constexpr size_t kManySamples = 64, kParts = 4;
constexpr double kClearlyBetter = 0.95;  // 0.45 dB

// The samples to compare on are among those that gave the ranges. The range of all that these samples show clips
// nothing of them, so it looks better here than on other samples, and must be clearly better than the others.
double handicap_of(RangeChoice choice) {
  if (choice == kFirstRangeChoice) return kClearlyBetter;
  return choice == RangeChoice::kMinMax ? 1 / kClearlyBetter : 1;
}

struct TriedChoice {
  ErrorCourse course;
  RangeChoice choice;
};

// The best choice after the one with index `first`.
RangeChoice second_of(const std::vector<TriedChoice>& tried, size_t first) {
  size_t second = first == 0 ? 1 : 0;
  for (size_t i = 0; i < tried.size(); ++i) {
    if (i != first && tried[i].course.total() < tried[second].course.total()) second = i;
  }
  return tried[second].choice;
}

}  // namespace

ErrorCourse::ErrorCourse(double handicap, const ErrorCourse* best, size_t samples)
    : handicap_(handicap), best_(best), samples_(samples) {}

bool ErrorCourse::add(double error) {
  sums_.push_back((sums_.empty() ? 0 : sums_.back()) + handicap_ * error);
  const size_t seen = sums_.size();
  if (best_ == nullptr || seen >= samples_) return true;
  // What is left would have to be better than the best choice by this share, after being worse so far.
  constexpr double kUnlikely = 0.05;
  const double left = static_cast<double>(samples_ - seen) / static_cast<double>(seen);
  return sums_.back() <= (1 + kUnlikely * left) * best_->sums_[seen - 1];
}

double ErrorCourse::total() const {
  if (sums_.empty()) return 0;
  if (sums_.size() == samples_ || best_ == nullptr || best_->sums_[sums_.size() - 1] == 0) return sums_.back();
  return sums_.back() / best_->sums_[sums_.size() - 1] * best_->sums_.back();
}

size_t range_samples(size_t samples) {
  if (samples < kMinSamples) return 0;
  return std::clamp(samples / kComparedPart, kMinCompared, kMaxCompared);
}

Result<std::vector<RangeChoice>> chosen_ranges(std::span<const size_t> groups, size_t all, size_t samples,
                                               const ErrorOfRanges& error_of) {
  std::vector<RangeChoice> best(all, kFirstRangeChoice);
  const size_t compared = range_samples(samples);
  if (groups.empty() || compared == 0) return best;
  std::vector<TriedChoice> tried;
  tried.reserve(kChoices.size());  // courses refer to each other
  size_t first = 0;
  for (const RangeChoice choice : kChoices) {
    const ErrorCourse* const leader = tried.empty() ? nullptr : &tried[first].course;
    tried.push_back({.course = {handicap_of(choice), leader, compared}, .choice = choice});
    CARINA_CHECKED(error_of(std::vector<RangeChoice>(all, choice), tried.back().course));
    if (tried.back().course.total() < tried[first].course.total()) first = tried.size() - 1;
  }
  best.assign(all, tried[first].choice);
  if (samples < kManySamples) return best;
  const RangeChoice second = second_of(tried, first);
  const size_t parts = std::min(kParts, groups.size());
  std::vector<ErrorCourse> courses;
  courses.reserve(parts);
  const ErrorCourse* least = &tried[first].course;
  double handicap = handicap_of(tried[first].choice) / kClearlyBetter;
  for (size_t p = 0; p < parts; ++p) {
    std::vector<RangeChoice> choices = best;
    for (size_t g = p * groups.size() / parts; g < (p + 1) * groups.size() / parts; ++g) choices[groups[g]] = second;
    ErrorCourse& course = courses.emplace_back(handicap, least, compared);
    CARINA_CHECKED(error_of(choices, course));
    if (course.total() >= least->total()) continue;
    least = &course;
    handicap /= kClearlyBetter;
    best = std::move(choices);
  }
  return best;
}

}  // namespace carina::quantize
