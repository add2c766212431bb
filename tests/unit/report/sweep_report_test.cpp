// The table of a sweep: what is written as JSON is read back, names may be any text.
#include "report/sweep_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carina::report {
namespace {

using testing::HasSubstr;

results::SweepReport two_rows() {
  results::SweepRow compiled{
      .quantization = "int8",
      .target = "t-1",
      .system_config = "s",
      .memory_mode = "m",
      .notes = {"a \"note\""},
      .macs_per_cycle = 4,
      .clock_hz = 1'000'000,
      .cycles = 1000,
      .macs = 2000,
      .npu_nodes = 3,
      .cpu_nodes = 1,
      .sram_bytes = 77,
      .program_bytes = 99,
      .program_sha256 = "ab",
      .traffic_bytes = {{"Sram read", 5}},
      .bytes_per_cycle = {{"Sram", 8}},
      .layers = {{.name = "conv", .macs = 2000, .cycles = 1000, .traffic_bytes = 5, .bottleneck = "mac"}}};
  results::SweepRow refused{.quantization = "int8",
                            .target = "t-2",
                            .system_config = {},
                            .memory_mode = "m",
                            .status = results::SweepStatus::kRefused,
                            .reason = "no, \"never\""};
  return {.model = "model.pt2", .rows = {compiled, refused}};
}

TEST(SweepReport, json_round_trips) {
  const std::string json = to_json(two_rows());
  const auto again = read_sweep(json, "rows.json");
  ASSERT_TRUE(again);
  EXPECT_EQ(to_json(*again), json);
  EXPECT_EQ(to_csv(*again), to_csv(two_rows()));
}

TEST(SweepReport, other_json_is_an_error) {
  for (const std::string_view text :
       {"", "[]", "{\"model\": \"m\"}", "{\"model\": \"m\", \"rows\": [{\"status\": \"compiled\"}]}",
        "{\"model\": \"m\", \"rows\": 3}"}) {
    const auto report = read_sweep(text, "rows.json");
    ASSERT_FALSE(report) << text;
    EXPECT_EQ(report.error().front().where, "rows.json");
  }
}

TEST(SweepReport, csv_has_a_line_per_combination) {
  const std::string csv = to_csv(two_rows());
  EXPECT_THAT(csv, HasSubstr("int8,t-1,s,m,compiled,1000,1.000000,2000,50.00,77,99,3,1,0,ab,\n"));
  EXPECT_THAT(csv, HasSubstr("int8,t-2,,m,refused,0,0.000000,0,0.00,0,0,0,0,0,,\"no, \"\"never\"\"\"\n"));
}

TEST(SweepReport, text_names_rejected_combinations) {
  const std::string text = to_text(two_rows());
  EXPECT_THAT(text, HasSubstr("1 of 2 combinations compiled"));
  EXPECT_THAT(text, HasSubstr("refused by the target: 1\n"));
}

}  // namespace
}  // namespace carina::report
