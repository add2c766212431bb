// Tests the table of layers: fields with any text, layers of several operations.
#include "report/tables/layer_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace carina::report {
namespace {

using testing::HasSubstr;

results::NpuReport two_operations_of_a_layer() {
  results::NpuReport npu{.target = "t",
                         .system_config = {},
                         .memory_mode = {},
                         .cycles = 40,
                         .macs = 8,
                         .layers = {},
                         .traffic_bytes = {},
                         .pmu = {}};
  for (const int64_t cycles : {10, 30})
    npu.layers.push_back({.name = "a \"b\", c",
                          .operation = "conv",
                          .macs = 4,
                          .cycles = cycles,
                          .breakdown = {{"mac", cycles}},
                          .bottleneck = "mac",
                          .utilization = 0.5,
                          .tosa_op = "tosa.CONV2D",
                          .access_cycles = {{"Sram", 5}},
                          .traffic_bytes = {{"Sram read", 7}},
                          .held_sram_bytes = cycles});
  return npu;
}

TEST(LayerTable, csv_quotes_special_characters) {
  const std::string csv = layer_table({two_operations_of_a_layer()}, LayerRows::kEach, TableForm::kCsv);
  EXPECT_THAT(csv, HasSubstr("CONV2D,conv,NPU,10,33.33,10,25.00,0,5,0,0,0,4,50.00,50.00,\"a \"\"b\"\", c\",0,"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 3);
}

TEST(LayerTable, layer_sums_its_operations) {
  const auto json =
      nlohmann::json::parse(layer_table({two_operations_of_a_layer()}, LayerRows::kFolded, TableForm::kJson));
  ASSERT_EQ(json.at("layers").size(), 1U);
  const auto& row = json.at("layers").at(0);
  EXPECT_EQ(row.at("NNG Operator"), "conv x2");
  EXPECT_EQ(row.at("Op Cycles"), 40);
  EXPECT_EQ(row.at("SRAM AC"), 10);
  EXPECT_EQ(row.at("SRAM Read"), 14);
  EXPECT_EQ(row.at("Staging Usage"), 30);
  EXPECT_EQ(row.at("MAC Cycles"), 40);
}

TEST(LayerTable, name_selects_format) {
  EXPECT_EQ(form_of("a/b.csv"), TableForm::kCsv);
  EXPECT_EQ(form_of("b.json"), TableForm::kJson);
  EXPECT_EQ(form_of("csv"), TableForm::kText);
}

}  // namespace
}  // namespace carina::report
