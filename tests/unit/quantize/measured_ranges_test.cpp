#include "quantize/measured_ranges_internal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "carina/result.h"

namespace carina::quantize {
namespace {

using testing::Each;
using testing::ElementsAreArray;

std::vector<RangeChoice> chosen(const std::vector<size_t>& groups, size_t samples, const ErrorOfRanges& error_of) {
  const auto found = chosen_ranges(groups, groups.back() + 1, samples, error_of);
  EXPECT_TRUE(found);
  return *found;
}

TEST(MeasuredRanges, best_choice_of_all_is_taken) {
  const auto least_of_all = [](const std::vector<RangeChoice>& choices) -> Result<double> {
    return choices.front() == RangeChoice::kPercentile && choices.back() == RangeChoice::kPercentile ? 1 : 2;
  };
  EXPECT_THAT(chosen({0, 1, 2}, 64, least_of_all), Each(RangeChoice::kPercentile));
}

TEST(MeasuredRanges, small_gain_does_not_change_the_first_choice) {
  const auto nearly_equal = [](const std::vector<RangeChoice>& choices) -> Result<double> {
    return choices.front() == kFirstRangeChoice ? 1 : 0.999;
  };
  EXPECT_THAT(chosen({0, 1, 2}, 64, nearly_equal), Each(kFirstRangeChoice));
}

// All that is seen clips nothing of the samples that are compared, but something of others.
TEST(MeasuredRanges, all_that_is_seen_must_be_clearly_better) {
  const auto error_of = [](double of_minmax) {
    return [=](const std::vector<RangeChoice>& choices) -> Result<double> {
      return choices.front() == RangeChoice::kMinMax ? of_minmax : choices.front() == RangeChoice::kPercentile ? 1 : 2;
    };
  };
  EXPECT_THAT(chosen({0, 1}, 16, error_of(0.97)), Each(RangeChoice::kPercentile));
  EXPECT_THAT(chosen({0, 1}, 16, error_of(0.9)), Each(RangeChoice::kMinMax));
}

TEST(MeasuredRanges, parts_of_few_samples_are_not_tried) {
  int calls = 0;
  const auto count = [&](const std::vector<RangeChoice>&) -> Result<double> { return ++calls; };
  (void)chosen({0, 1, 2, 3}, 63, count);
  EXPECT_EQ(calls, 4);
}

TEST(MeasuredRanges, parts_of_the_model_differ_where_that_is_better) {
  const std::array wanted{RangeChoice::kMinMax, RangeChoice::kMinMax, kFirstRangeChoice, kFirstRangeChoice};
  const auto distance = [&](const std::vector<RangeChoice>& choices) -> Result<double> {
    double wrong = 1;
    for (size_t i = 0; i < wanted.size(); ++i) wrong += choices[i] == wanted[i] ? 0 : 1;
    return wrong;
  };
  EXPECT_THAT(chosen({0, 1, 2, 3}, 64, distance), ElementsAreArray(wanted));
}

TEST(MeasuredRanges, few_samples_do_not_decide) {
  int calls = 0;
  const auto count = [&](const std::vector<RangeChoice>&) -> Result<double> { return ++calls; };
  EXPECT_THAT(chosen({0, 1}, 4, count), Each(kFirstRangeChoice));
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace carina::quantize
