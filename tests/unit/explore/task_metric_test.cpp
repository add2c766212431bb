#include "explore/task_metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace carina::explore {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor labels(const Shape& shape, const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>(DType::kInt64, shape, values);
}

MetricSums sums(std::string_view name, const Shape& output, const std::vector<double>& scores, const Tensor& label) {
  const auto metric = TaskMetric::create(name, output);
  EXPECT_TRUE(metric) << to_string(metric.error());
  const auto found = metric->sums_of(scores, label, "data");
  EXPECT_TRUE(found) << to_string(found.error());
  return *found;
}

double value(std::string_view name, const Shape& output, const MetricSums& sums, double peak = 1) {
  return TaskMetric::create(name, output)->value_of(sums, peak);
}

TEST(TaskMetric, class_among_the_first) {
  const Shape output{1, 7};
  const std::vector<double> scores{1, 7, 6, 5, 4, 3, 2};
  EXPECT_THAT(sums("top1", output, scores, labels({}, {1})), ElementsAre(1, 1));
  EXPECT_THAT(sums("top1", output, scores, labels({}, {2})), ElementsAre(0, 1));
  EXPECT_THAT(sums("top5", output, scores, labels({}, {5})), ElementsAre(1, 1));
  EXPECT_THAT(sums("top5", output, scores, labels({}, {6})), ElementsAre(0, 1));
  EXPECT_EQ(value("top1", output, {3, 4}), 75);
}

// Two classes on 1x3 pixels, or three steps: the predicted classes are 0, 1, 1.
TEST(TaskMetric, class_of_each_place) {
  const std::vector<double> by_class{2, 0, 0, 1, 1, 1}, by_step{2, 1, 0, 1, 0, 1};
  EXPECT_THAT(sums("pixel", {1, 2, 1, 3}, by_class, labels({1, 3}, {0, 1, 0})), ElementsAre(2, 3));
  EXPECT_THAT(sums("pixel", {1, 3, 2}, by_step, labels({3}, {0, 1, 0})), ElementsAre(2, 3));
  EXPECT_THAT(sums("pixel", {1, 2, 1, 3}, by_class, labels({1, 3}, {0, 255, -1})), ElementsAre(1, 1));
}

TEST(TaskMetric, intersection_over_union_of_classes) {
  const Shape output{1, 2, 1, 3};
  const MetricSums found = sums("iou", output, {2, 0, 0, 1, 1, 1}, labels({1, 3}, {0, 1, 0}));
  EXPECT_THAT(found, ElementsAre(1, 2, 1, 2));
  EXPECT_DOUBLE_EQ(value("iou", output, found), 50);
}

TEST(TaskMetric, errors_of_numbers) {
  const Shape output{1, 2};
  const MetricSums found = sums("rmse", output, {1, 2}, Tensor::of<float>(DType::kFp32, {2}, std::vector<float>{1, 5}));
  EXPECT_THAT(found, ElementsAre(9, 2));
  EXPECT_DOUBLE_EQ(value("rmse", output, found), std::sqrt(4.5));
  EXPECT_DOUBLE_EQ(value("psnr", output, found, 3), 10 * std::log10(2.0));
}

TEST(TaskMetric, unfit_labels_are_rejected) {
  const std::vector<double> scores(6);
  const auto rejected = [&](std::string_view name, const Tensor& label) {
    const auto result = TaskMetric::create(name, {1, 2, 1, 3})->sums_of(scores, label, "data.npz");
    return result ? "" : to_string(result.error());
  };
  EXPECT_THAT(rejected("iou", labels({2, 2}, {0, 0, 0, 0})), HasSubstr("a class per place"));
  EXPECT_THAT(rejected("pixel", labels({1, 3}, {0, 2, 0})), HasSubstr("classes from 0 to 1"));
  EXPECT_THAT(rejected("top1", labels({}, {6})), HasSubstr("one class per sample"));
  EXPECT_THAT(rejected("rmse", labels({2}, {0, 0})), HasSubstr("6 numbers per sample"));
  EXPECT_THAT(to_string(TaskMetric::create("f1", {1, 2}).error()), HasSubstr("top1, top5, pixel"));
}

// Nine of ten samples are right: the interval lies around 90 %, and the NPU is as right as the float model.
TEST(TaskMetric, interval_contains_the_figure) {
  std::vector<MetricScore> samples(100);
  for (size_t i = 0; i < samples.size(); ++i) samples[i].floats = samples[i].npu = {i % 10 == 0 ? 0.0 : 1.0, 1};
  const auto metric = TaskMetric::create("top1", {1, 2});
  const results::TaskAccuracy found = accuracy_of(*metric, "top1", samples);
  EXPECT_EQ(found.of_npu, 90);
  EXPECT_FALSE(found.of_integers);
  EXPECT_TRUE(found.npu_interval.low > 80 && found.npu_interval.low < 90);
  EXPECT_TRUE(found.npu_interval.high > 90 && found.npu_interval.high < 98);
  EXPECT_EQ(found.difference_interval.low, 0);
  EXPECT_EQ(found.difference_interval.high, 0);
}

}  // namespace
}  // namespace carina::explore
