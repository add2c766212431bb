#include "backends/tosa_backend_internal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "facts/executorch.h"
#include "files/tosa_file.h"

namespace carina::backends {
namespace {

using testing::HasSubstr;

Backend backend(std::string_view spec) {
  auto found = tosa_backend(spec);
  EXPECT_TRUE(found.has_value()) << to_string(found.error());
  return *std::move(found);
}

// y = identity(x + x) with this element type.
ir::Graph sum_of(DType type) {
  ir::Graph graph;
  const auto x = graph.add_value("x", type, {2, 3}), same = graph.add_value("same", type, {2, 3}),
             y = graph.add_value("y", type, {2, 3});
  graph.inputs = {x};
  graph.outputs = {y};
  graph.add_node(
      {.op = TosaOp::IDENTITY, .name = "same", .inputs = {x}, .outputs = {same}, .attributes = {}, .source = {}});
  graph.add_node(
      {.op = TosaOp::ADD, .name = "sum", .inputs = {same, same}, .outputs = {y}, .attributes = {}, .source = {}});
  return graph;
}

TEST(TosaBackend, specifications_follow_npu_names) {
  EXPECT_TRUE(is_tosa_spec("TOSA-1.0+INT"));
  EXPECT_FALSE(is_tosa_spec("ethos-u55-128"));
}

TEST(TosaBackend, unknown_specification_is_a_usage_error) {
  for (const char* text : {"TOSA-1.0", "TOSA-0.80+BI", "TOSA-2.0+INT", "TOSA-1.0+int16", "TOSA-"}) {
    const auto found = tosa_backend(text);
    ASSERT_FALSE(found.has_value()) << text;
    EXPECT_EQ(found.error().front().fault, Fault::kUsage);
    EXPECT_EQ(found.error().front().got, text);
  }
}

TEST(TosaBackend, floats_need_the_fp_profile) {
  EXPECT_FALSE(backend("TOSA-1.0+INT+int16").lowering.takes_floats);
  EXPECT_TRUE(backend("TOSA-1.0+FP+bf16").lowering.takes_floats);
  EXPECT_TRUE(backend("TOSA-1.0+INT+FP").lowering.takes_floats);
}

TEST(TosaBackend, u55_subset_is_lowered_as_for_u55) {
  const int64_t all = backend("TOSA-1.0+INT+int16").lowering.limits.product_bits;
  EXPECT_LT(backend("TOSA-1.0+INT+int16+u55").lowering.limits.product_bits, all);
}

TEST(TosaBackend, delegate_is_a_tosa_file) {
  const auto made = backend("TOSA-1.0+FP").compile(sum_of(DType::kFp32), {}, {});
  ASSERT_TRUE(made.has_value()) << to_string(made.error());
  EXPECT_EQ(made->packaged.backend, kTosaBackendId);
  EXPECT_EQ(made->report.tosa_operators, 2);
  const auto file = files::sound_tosa(made->packaged.blob, "delegate", "8K");
  ASSERT_TRUE(file.has_value()) << to_string(file.error());
  EXPECT_EQ(file->graphs.front().name, "main");
  EXPECT_EQ(file->graphs.front().nodes.back().op, ir::Op(TosaOp::ADD));
}

TEST(TosaBackend, missing_extension_is_reported_for_the_node) {
  const auto made = backend("TOSA-1.0+INT").compile(sum_of(DType::kFp32), {}, {});
  ASSERT_FALSE(made.has_value());
  ASSERT_EQ(made.error().size(), 2U);
  EXPECT_EQ(made.error()[0].node, 0U);
  EXPECT_EQ(made.error()[1].node, 1U);
  EXPECT_THAT(made.error()[1].what, HasSubstr("PROFILE.1"));
  EXPECT_THAT(made.error()[1].got, HasSubstr("PRO-FP"));
}

}  // namespace
}  // namespace carina::backends
