// Tests that JSON outputs are valid for names with any bytes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/render.h"

namespace carina::report {
namespace {

const std::string kOdd = "m\xff\xfe";
const std::string kShown = "m\xEF\xBF\xBD\xEF\xBF\xBD";

void expect_shown(const std::string& json, const char* key) {
  ASSERT_EQ(json.back(), '\n');
  EXPECT_EQ(nlohmann::json::parse(json).at(key), kShown);
}

template <typename Report>
Report with_name(std::string Report::* name) {
  Report report;
  report.*name = kOdd;
  return report;
}

TEST(Json, names_with_any_bytes_are_valid_json) {
  expect_shown(to_json(with_name<results::CompileReport>(&results::CompileReport::model)), "model");
  expect_shown(to_json(with_name<results::RunReport>(&results::RunReport::program)), "program");
  expect_shown(to_json(with_name<results::InterpretReport>(&results::InterpretReport::model)), "model");
  expect_shown(to_json(with_name<results::AccuracyReport>(&results::AccuracyReport::program)), "program");
  expect_shown(to_json(with_name<results::VerifyReport>(&results::VerifyReport::file)), "file");
  expect_shown(to_json(with_name<results::TosaReport>(&results::TosaReport::model)), "model");
  expect_shown(to_json(with_name<results::Listing>(&results::Listing::text)), "text");
  expect_shown(to_json(kOdd, Diagnostics{{.where = kOdd, .what = kOdd}}), "file");
}

TEST(Json, kinds_of_failure_have_status) {
  const auto status = [](Diagnostic error) { return nlohmann::json::parse(to_json("f", {std::move(error)})); };
  EXPECT_EQ(status({.where = "", .what = "REQUIRE(x) is broken"}).at("status"), "unpredictable");
  EXPECT_EQ(status({.where = "", .what = "bad"}).at("status"), "refused");
  EXPECT_EQ(status({.where = "", .what = "bad", .fault = Fault::kUsage}).at("status"), "failed");
  EXPECT_EQ(status({.where = "", .what = "rule CONV.3 (TOSA 1.0, section 2): x"}).at("errors").at(0).at("rule"),
            "CONV.3");
}

}  // namespace
}  // namespace carina::report
