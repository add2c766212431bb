#include "report/sweep_job.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace carina::report {
namespace {

TEST(SweepJob, score_is_read_back_exactly) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const results::SampleScore score{
      .float_right = true,
      .npu_equals_integer = true,
      .outputs = {{.signal = 0.1, .noise = 1e-300, .absolute = kInfinity, .elements = 10},
                  {.signal = 1.0 / 3, .noise = std::nan(""), .absolute = 0, .elements = 7}},
      .integer_problem = "the sum does not fit i32"};
  const std::string line = to_json_line(12, score);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto again = read_score_line(line, "state.jsonl");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->first, 12U);
  EXPECT_EQ(again->second.outputs.size(), 2U);
  EXPECT_EQ(again->second.outputs[0].signal, 0.1);
  EXPECT_EQ(again->second.integer_problem, score.integer_problem);
  EXPECT_EQ(to_json_line(again->first, again->second), line);
}

TEST(SweepJob, incomplete_score_is_error) {
  const std::string line = to_json_line(0, {});
  EXPECT_FALSE(read_score_line(line.substr(0, line.size() / 2), "state.jsonl"));
}

TEST(SweepJob, ranges_and_names_are_read) {
  const auto job = read_sweep_job(R"({"combinations": [[0, 3], [7, 7]], "names": [["/tmp/m.pt2", "m.pt2"]]})", "job");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->combinations.back().first, 7U);
  EXPECT_EQ(job->names.front().second, "m.pt2");
  EXPECT_FALSE(read_sweep_job("{}", "job"));
}

}  // namespace
}  // namespace carina::report
