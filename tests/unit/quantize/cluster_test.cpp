#include "quantize/cluster_internal.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace carina::quantize {
namespace {

Quantization steps_of(std::vector<double> scales) {
  Quantization q;
  q.scales = std::move(scales);
  q.zero_points.assign(q.scales.size(), 0);
  q.dtype = DType::kInt8;
  q.qmin = -127;
  q.qmax = 127;
  if (q.scales.size() > 1) q.axis = 0;
  return q;
}

std::vector<int> integers_of(const Tensor& tensor) {
  const auto values = tensor.values<int8_t>();
  return {values.begin(), values.end()};
}

TEST(Cluster, integers_near_each_other_become_one) {
  const std::vector<float> weights{-90, -88, 3, 5, 5};
  const Tensor given = Tensor::of<float>(DType::kFp32, Shape{1, 5}, weights);
  EXPECT_EQ(integers_of(clustered(given, steps_of({1.0}), 2)), (std::vector<int>{-89, -89, 4, 4, 4}));
}

TEST(Cluster, channels_with_large_steps_count_more) {
  const std::vector<float> weights{10, 10, 10, 1600, 1200};  // the second channel: 16 and 12 steps of 100
  const Tensor given = Tensor::of<float>(DType::kFp32, Shape{5, 1}, weights);
  EXPECT_EQ(integers_of(clustered(given, steps_of({1, 1, 1, 100, 100}), 1)), (std::vector<int>{14, 14, 14, 14, 14}));
}

TEST(Cluster, few_integers_stay_as_they_are) {
  const std::vector<float> weights{-127, 0, 127, 0};
  const Tensor given = Tensor::of<float>(DType::kFp32, Shape{2, 2}, weights);
  EXPECT_EQ(integers_of(clustered(given, steps_of({1.0}), 16)), (std::vector<int>{-127, 0, 127, 0}));
}

TEST(Cluster, no_choice_of_as_many_integers_is_nearer) {
  std::vector<float> weights;
  for (int i = 0; i < 60; ++i) weights.push_back(static_cast<float>((i * 37) % 101 - 50));
  const Tensor given = Tensor::of<float>(DType::kFp32, Shape{1, 60}, weights);
  const std::vector<int> found = integers_of(clustered(given, steps_of({1.0}), 2));
  const auto error_of = [&](const std::vector<int>& choice) {
    double error = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      double least = 1e9;
      for (const int integer : choice) least = std::min(least, (weights[i] - integer) * (weights[i] - integer) * 1.0);
      error += least;
    }
    return error;
  };
  const std::set<int> chosen(found.begin(), found.end());
  ASSERT_EQ(chosen.size(), 2);
  double best = 1e9;
  for (int a = -50; a <= 50; ++a) {
    for (int b = a; b <= 50; ++b) best = std::min(best, error_of({a, b}));
  }
  EXPECT_EQ(error_of({chosen.begin(), chosen.end()}), best);
}

}  // namespace
}  // namespace carina::quantize
