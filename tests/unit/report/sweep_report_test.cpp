// Tests the table of a sweep: reading gives back the written JSON, and names may have any text.
#include "report/render.h"

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
      .expected = {.lowest = 910, .highest = 1100, .waits_for_memory = false, .basis = "runs"},
      .macs = 2000,
      .npu_nodes = 3,
      .cpu_nodes = 1,
      .sram_bytes = 77,
      .program_bytes = 99,
      .fits = results::Fits::kNo,
      .accuracy =
          results::SweepAccuracy{.sqnr_db = 31.5, .metric = "top1", .unit = "%", .of_float = 90, .of_npu = 88.5},
      .program_sha256 = "ab",
      .traffic_bytes = {{"Sram read", 5}},
      .bytes_per_cycle = {{"Sram", 8}},
      .layers = {{.name = "conv", .macs = 2000, .cycles = 1000, .traffic_bytes = 5, .bottleneck = "mac"}}};
  results::SweepRow rejected{.quantization = "int8",
                             .target = "t-2",
                             .system_config = {},
                             .memory_mode = "m",
                             .status = results::SweepStatus::kRejected,
                             .reason = "no, \"never\""};
  return {.model = "model.pt2", .rows = {compiled, rejected}};
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
  EXPECT_THAT(
      csv,
      HasSubstr(
          "int8,t-1,s,m,compiled,1000,910,1100,1.000000,2000,50.00,77,99,3,1,0,top1,88.5000,90.0000,31.50,no,ab,\n"));
  EXPECT_THAT(csv, HasSubstr("int8,t-2,,m,refused,0,0,0,0.000000,0,0.00,0,0,0,0,0,,,,,,,\"no, \"\"never\"\"\"\n"));
}

TEST(SweepReport, row_without_interval_is_read) {
  std::string json = to_json(two_rows());
  const size_t begin = json.find("\"cycles_interval\"");
  ASSERT_NE(begin, std::string::npos);
  json.erase(begin, json.find("\"macs\"", begin) - begin);
  const auto again = read_sweep(json, "rows.json");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->rows.front().expected.highest, 0);
  EXPECT_THAT(to_text(two_rows()), HasSubstr(" 910 to 1,100 "));
  EXPECT_THAT(to_text(*again), testing::Not(HasSubstr(" to 1,100")));
}

TEST(SweepReport, text_names_rejected_combinations) {
  const std::string text = to_text(two_rows());
  EXPECT_THAT(text, HasSubstr("1 of 2 combinations compiled"));
  EXPECT_THAT(text, HasSubstr("rejected by the target: 1\n"));
}

TEST(SweepReport, text_has_columns_of_data_and_budgets) {
  const std::string text = to_text(two_rows());
  EXPECT_THAT(text, HasSubstr("float model: 90.00 top1 %\n"));
  EXPECT_THAT(text, testing::ContainsRegex("top1 %  SQNR dB  fits\n"));
  EXPECT_THAT(text, testing::ContainsRegex("88.50     31.5  no\n"));
  results::SweepReport plain = two_rows();
  plain.rows.front().fits = results::Fits::kNotAsked;
  plain.rows.front().accuracy.reset();
  EXPECT_THAT(to_text(plain), testing::ContainsRegex("nodes on NPU\n"));
}

TEST(SweepReport, one_reason_is_one_line) {
  results::SweepReport report{.model = "m.pt2", .rows = {}};
  for (const std::string mode : {"Dedicated", "Dedicated_2"}) {
    results::SweepRow row = two_rows().rows.back();
    row.memory_mode = mode;
    row.reason = "mode " + mode + " is not for t-2";
    report.rows.push_back(row);
  }
  report.rows.push_back(two_rows().rows.back());
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("rejected by the target: 3\n"));
  EXPECT_THAT(text, HasSubstr("Dedicated, Dedicated_2  mode Dedicated is not for t-2\n"));
  EXPECT_THAT(text, HasSubstr("no, \"never\"\n"));
}

TEST(SweepReport, line_is_read_back) {
  const results::SweepLine line{.scheme = "int8+minmax",
                                .target = "t-1",
                                .memory_mode = "",
                                .program = "t-1_m_int8.pte",
                                .machine = true,
                                .unprepared = true,
                                .row = two_rows().rows.front()};
  const std::string json = to_json_line(line);
  EXPECT_EQ(json.find('\n'), std::string::npos);
  const auto again = read_sweep_line(json, "state.jsonl");
  ASSERT_TRUE(again);
  EXPECT_EQ(to_json_line(*again), json);
  EXPECT_FALSE(read_sweep_line(json.substr(0, json.size() / 2), "state.jsonl"));
}

TEST(SweepReport, several_models_have_column) {
  results::SweepReport both;
  for (const std::string model : {"a.pt2", "other.pt2"}) {
    for (results::SweepRow row : two_rows().rows) {
      row.model = model;
      both.rows.push_back(row);
    }
  }
  EXPECT_THAT(to_text(both), HasSubstr("2 models: 2 of 4 combinations compiled"));
  EXPECT_THAT(to_csv(both), HasSubstr("model,quantization,target"));
  EXPECT_THAT(to_csv(both), HasSubstr("other.pt2,int8,t-1,s,m,compiled"));
  const auto again = read_sweep(to_json(both), "rows.json");
  ASSERT_TRUE(again);
  EXPECT_EQ(to_json(*again), to_json(both));
  std::string steps(kJsonBegin);
  for (size_t i = 0; i < both.rows.size(); ++i) steps += (i == 0 ? "" : ",\n") + json_row(both.rows[i]);
  EXPECT_EQ(steps + std::string(kJsonEnd), to_json(both));
}

}  // namespace
}  // namespace carina::report
