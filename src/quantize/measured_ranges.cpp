#include "quantize/measured_ranges_internal.h"

#include <algorithm>
#include <array>

namespace carina::quantize {

namespace {

constexpr std::array kChoices{kFirstRangeChoice, RangeChoice::kHistogram, RangeChoice::kPercentile,
                              RangeChoice::kMinMax};
// Measuring takes less time than calibration: an integer run is four times as fast as an observed run of the float
// model, and there are four of half of the samples here; of many samples, up to eight of a quarter.
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

// The choices from the least error on.
struct TriedChoice {
  double error;  // times the choice's handicap
  RangeChoice choice;
};

}  // namespace

size_t range_samples(size_t samples) {
  if (samples < kMinSamples) return 0;
  return std::clamp(samples / kComparedPart, kMinCompared, kMaxCompared);
}

Result<std::vector<RangeChoice>> chosen_ranges(std::span<const size_t> groups, size_t all, size_t samples,
                                               const ErrorOfRanges& error_of) {
  std::vector<RangeChoice> best(all, kFirstRangeChoice);
  if (groups.empty() || range_samples(samples) == 0) return best;
  std::vector<TriedChoice> ranked;
  for (const RangeChoice choice : kChoices) {
    CARINA_TRY(const double error, error_of(std::vector<RangeChoice>(all, choice)));
    ranked.push_back({.error = error * handicap_of(choice), .choice = choice});
  }
  std::ranges::stable_sort(ranked, {}, &TriedChoice::error);
  double least = ranked[0].error / handicap_of(ranked[0].choice);
  best.assign(all, ranked[0].choice);
  const size_t parts = samples < kManySamples ? 0 : std::min(kParts, groups.size());
  for (size_t p = 0; p < parts; ++p) {
    std::vector<RangeChoice> tried = best;
    for (size_t g = p * groups.size() / parts; g < (p + 1) * groups.size() / parts; ++g)
      tried[groups[g]] = ranked[1].choice;
    CARINA_TRY(const double error, error_of(tried));
    if (error >= kClearlyBetter * least) continue;
    least = error;
    best = std::move(tried);
  }
  return best;
}

}  // namespace carina::quantize
