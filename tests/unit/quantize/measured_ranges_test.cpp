#include "quantize/measured_ranges_internal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "carina/result.h"

namespace carina::quantize {
namespace {

using testing::Each;
using testing::ElementsAreArray;

using ErrorOfChoices = std::function<double(const std::vector<RangeChoice>& choices)>;

// The choices if all samples have the same error.
std::vector<RangeChoice> chosen(const std::vector<size_t>& groups, size_t samples, const ErrorOfChoices& error_of) {
  const auto each = [&](const std::vector<RangeChoice>& choices, ErrorCourse& course) -> Result<void> {
    const double error = error_of(choices);
    for (size_t s = 0; s < range_samples(samples) && course.add(error); ++s) {
    }
    return {};
  };
  const auto found = chosen_ranges(groups, groups.back() + 1, samples, each);
  EXPECT_TRUE(found);
  return *found;
}

TEST(MeasuredRanges, best_choice_of_all_is_taken) {
  const auto least_of_all = [](const std::vector<RangeChoice>& choices) -> double {
    return choices.front() == RangeChoice::kPercentile && choices.back() == RangeChoice::kPercentile ? 1 : 2;
  };
  EXPECT_THAT(chosen({0, 1, 2}, 64, least_of_all), Each(RangeChoice::kPercentile));
}

TEST(MeasuredRanges, small_gain_does_not_change_the_first_choice) {
  const auto nearly_equal = [](const std::vector<RangeChoice>& choices) -> double {
    return choices.front() == kFirstRangeChoice ? 1 : 0.999;
  };
  EXPECT_THAT(chosen({0, 1, 2}, 64, nearly_equal), Each(kFirstRangeChoice));
}

// All that is seen clips nothing of the samples that are compared, but something of others.
TEST(MeasuredRanges, all_that_is_seen_must_be_clearly_better) {
  const auto error_of = [](double of_minmax) {
    return [=](const std::vector<RangeChoice>& choices) -> double {
      return choices.front() == RangeChoice::kMinMax ? of_minmax : choices.front() == RangeChoice::kPercentile ? 1 : 2;
    };
  };
  EXPECT_THAT(chosen({0, 1}, 16, error_of(0.97)), Each(RangeChoice::kPercentile));
  EXPECT_THAT(chosen({0, 1}, 16, error_of(0.9)), Each(RangeChoice::kMinMax));
}

TEST(MeasuredRanges, parts_of_few_samples_are_not_tried) {
  int calls = 0;
  const auto count = [&](const std::vector<RangeChoice>&) -> double { return ++calls; };
  (void)chosen({0, 1, 2, 3}, 63, count);
  EXPECT_EQ(calls, 4);
}

TEST(MeasuredRanges, parts_of_the_model_differ_where_that_is_better) {
  const std::array wanted{RangeChoice::kMinMax, RangeChoice::kMinMax, kFirstRangeChoice, kFirstRangeChoice};
  const auto distance = [&](const std::vector<RangeChoice>& choices) -> double {
    double wrong = 1;
    for (size_t i = 0; i < wanted.size(); ++i) wrong += choices[i] == wanted[i] ? 0 : 1;
    return wrong;
  };
  EXPECT_THAT(chosen({0, 1, 2, 3}, 64, distance), ElementsAreArray(wanted));
}

TEST(MeasuredRanges, choices_that_fall_back_are_given_up) {
  const auto samples_of = [](double worse) {
    const ErrorCourse* const none = nullptr;
    ErrorCourse best(1, none, 8), other(1, &best, 8);
    for (int s = 0; s < 8; ++s) EXPECT_TRUE(best.add(1));
    int added = 1;
    while (other.add(worse) && added < 8) ++added;
    EXPECT_NEAR(other.total(), 8 * worse, 1e-9);
    return added;
  };
  EXPECT_EQ(samples_of(2), 1);
  EXPECT_EQ(samples_of(1.06), 4);
  EXPECT_EQ(samples_of(1), 8);
  EXPECT_EQ(samples_of(0.9), 8);
}

TEST(MeasuredRanges, few_samples_do_not_decide) {
  int calls = 0;
  const auto count = [&](const std::vector<RangeChoice>&) -> double { return ++calls; };
  EXPECT_THAT(chosen({0, 1}, 4, count), Each(kFirstRangeChoice));
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace carina::quantize
