#include "check/check_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../plan/build_graph.h"

namespace carina::check {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

ir::Graph two_convolutions(int seed = 0) {
  plan::GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 6, 6, 4});
  b.graph.outputs = {b.conv(b.conv(x, 8, 3, 1, 38, seed), 4, 1, 0, 38)};
  return std::move(b.graph);
}

TEST(CheckGraph, right_file_passes) {
  const auto report = check_graph({.tosa = two_convolutions(), .written = two_convolutions()}, {});
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->operators, 4);
  EXPECT_EQ(report->samples, 2);
  EXPECT_EQ(report->unchecked, "");
}

TEST(CheckGraph, file_with_other_weights_is_a_fault) {
  const auto report = check_graph({.tosa = two_convolutions(), .written = two_convolutions(1)}, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().front().fault, Fault::kInternal);
  EXPECT_THAT(to_string(report.error()), StartsWith("RESCALE_3 (model.py:1): the file gives another value"));
}

TEST(CheckGraph, quick_checks_the_first_operators_of_a_large_graph) {
  plan::GraphBuilder b;
  auto x = b.input("x", DType::kInt8, {1, 96, 96, 16});
  for (int i = 0; i < 12; ++i) x = b.conv(x, 16, 3, 1, 40, i);
  b.graph.outputs = {x};
  const auto report = check_graph({.tosa = b.graph, .written = b.graph, .extent = options::Check::kQuick}, {});
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_LT(report->operators, 24);
  EXPECT_THAT(report->unchecked, HasSubstr("--check=full"));
}

}  // namespace
}  // namespace carina::check
