#include "plan/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "build_graph.h"
#include "npu/payload.h"
#include "npu/registers.h"

namespace carina::plan {
namespace {

using testing::HasSubstr;

constexpr std::array kU55s{"ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256"};

ir::Graph three_layers() {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 20, 20, 3});
  b.graph.outputs = {b.conv(b.conv(b.conv(x, 40, 3, 1), 24, 1, 0), 10, 3, 0)};
  return std::move(b.graph);
}

TEST(Compile, same_graph_gives_same_bytes) {
  const ir::Graph graph = three_layers();
  for (const char* npu : kU55s) {
    const Target target = *find_target(npu, "", "");
    const auto one = compile(graph, target, {{}, 1}, {});
    ASSERT_TRUE(one.has_value()) << to_string(one.error());
    for (const int threads : {1, 2, 7}) {
      const auto again = compile(graph, target, {{}, threads}, {});
      ASSERT_TRUE(again.has_value());
      EXPECT_EQ(again->command_payload, one->command_payload);
      EXPECT_EQ(again->weights, one->weights);
      EXPECT_EQ(again->layers, one->layers);
    }
  }
}

// Two adjacent tables in a memory with long latency: one transfer loads both before the first is used.
TEST(Compile, adjacent_tables_load_at_once) {
  GraphBuilder b;
  auto x = b.input("x", DType::kInt8, {1, 4, 4, 16});
  for (const int8_t value : {int8_t{3}, int8_t{5}}) {
    const auto table = b.constant<int8_t>(DType::kInt8, {256}, std::vector<int8_t>(256, value));
    x = b.op(TosaOp::TABLE, {x, table}, DType::kInt8, {1, 4, 4, 16});
  }
  b.graph.outputs = {x};
  const auto compiled = compile(b.graph, *find_target("ethos-u85-256", "", "Shared_Sram"), {}, {});
  ASSERT_TRUE(compiled.has_value()) << to_string(compiled.error());
  const auto payload = npu::parse_payload(compiled->command_payload, "payload");
  ASSERT_TRUE(payload.has_value());
  const auto commands = npu::read_stream(npu::Product::kU85, payload->stream, "stream");
  ASSERT_TRUE(commands.has_value());
  EXPECT_EQ(std::ranges::count_if(*commands,
                                  [](const npu::Command& c) {
                                    return c.kind == npu::Command::Kind::kOperation && c.op == npu::Op::DMA_START;
                                  }),
            1);
}

TEST(Compile, description_has_inputs_outputs_and_layers) {
  const auto compiled = compile(three_layers(), *find_target("ethos-u55-128", "", ""), {}, {});
  ASSERT_TRUE(compiled.has_value());
  ASSERT_EQ(compiled->inputs.size(), 1U);
  EXPECT_EQ(compiled->inputs[0].shape, (std::array<int32_t, 6>{1, 1, 1, 20, 20, 3}));
  EXPECT_EQ(compiled->outputs[0].shape, (std::array<int32_t, 6>{1, 1, 1, 18, 18, 10}));
  EXPECT_EQ(compiled->inputs[0].region, 1);
  EXPECT_EQ(compiled->inputs[0].offset % 16, 0);
  size_t convolutions = 0;
  for (const npu::LayerNote& note : compiled->layers) {
    if (!note.name.starts_with("CONV2D")) continue;
    convolutions += 1;
    EXPECT_EQ(note.tosa_ops.size(), 2U);  // the operator and its RESCALE
    EXPECT_EQ(note.source_lines, std::vector<std::string>{"model.py:1"});
  }
  EXPECT_GE(convolutions, 3U);
}

TEST(Compile, streams_decode) {
  for (const char* npu : kU55s) {
    const Target target = *find_target(npu, "", "");
    const auto compiled = compile(three_layers(), target, {}, {});
    ASSERT_TRUE(compiled.has_value());
    const auto payload = npu::parse_payload(compiled->command_payload, "payload");
    ASSERT_TRUE(payload.has_value()) << to_string(payload.error());
    EXPECT_EQ(payload->config_word, target.accelerator.config_word);
    const auto commands = npu::read_stream(npu::Product::kU55, payload->stream, "stream");
    ASSERT_TRUE(commands.has_value()) << to_string(commands.error());
    EXPECT_EQ(commands->back().op, npu::Op::STOP);
  }
}

TEST(Compile, too_large_network_reports_missing_bytes) {
  const Target target = *find_target("ethos-u55-128", "", "");
  const auto compiled = compile(three_layers(), target, {{.arena_budget_bytes = 5000}}, {});
  ASSERT_FALSE(compiled.has_value());
  const std::string message = to_string(compiled.error());
  EXPECT_THAT(message, HasSubstr("does not fit the NPU's memory by"));
  EXPECT_THAT(message, HasSubstr("at most 5000 bytes"));
  EXPECT_THAT(message, HasSubstr("[1,20,20,40]"));
}

TEST(Compile, reported_limit_is_enough) {
  const Target target = *find_target("ethos-u55-128", "", "");
  const auto free = compile(three_layers(), target, {}, {});
  ASSERT_TRUE(free.has_value());
  const auto limited = compile(three_layers(), target, {{.arena_budget_bytes = free->scratch_bytes}}, {});
  ASSERT_TRUE(limited.has_value());
  EXPECT_LE(limited->scratch_bytes, free->scratch_bytes);
}

TEST(Compile, unsupported_nodes_are_all_named) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt32, {4});
  const auto a = b.op(TosaOp::BITWISE_AND, {x, x}, DType::kInt32, {4});
  const auto c = b.op(TosaOp::INTDIV, {x, x}, DType::kInt32, {4});
  b.graph.outputs = {b.op(TosaOp::ADD, {a, c}, DType::kInt32, {4})};
  const auto compiled = compile(b.graph, *find_target("ethos-u55-64", "", ""), {}, {});
  ASSERT_FALSE(compiled.has_value());
  ASSERT_EQ(compiled.error().size(), 2U);  // ADD itself is supported and is not listed
  EXPECT_THAT(to_string(compiled.error()[0]),
              HasSubstr("BITWISE_AND_0 (model.py:1): not supported by ethos-u55-64: the NPU has no bitwise"));
  EXPECT_THAT(to_string(compiled.error()[1]),
              testing::AllOf(HasSubstr("the NPU cannot divide"), HasSubstr("reciprocal")));
  EXPECT_EQ(compiled.error()[0].node, 0U);
  EXPECT_EQ(compiled.error()[1].node, 1U);
}

TEST(Compile, float_inputs_are_an_error) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kFp32, {4});
  b.graph.outputs = {b.op(TosaOp::ADD, {x, x}, DType::kFp32, {4})};
  const auto compiled = compile(b.graph, *find_target("ethos-u55-64", "", ""), {}, {});
  ASSERT_FALSE(compiled.has_value());
  EXPECT_THAT(to_string(compiled.error()), HasSubstr("fp32"));
}

TEST(Compile, input_that_is_output_is_copied) {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 3, 5});
  b.graph.outputs = {x};
  const auto compiled = compile(b.graph, *find_target("ethos-u55-64", "", ""), {}, {});
  ASSERT_TRUE(compiled.has_value()) << to_string(compiled.error());
  EXPECT_NE(compiled->inputs[0].offset, compiled->outputs[0].offset);
}

TEST(Target, all_targets_are_listed) {
  EXPECT_THAT(to_string(find_target("ethos-u55-512", "", "").error()), HasSubstr("ethos-u55-128"));
  EXPECT_THAT(to_string(find_target("ethos-u55-128", "", "Shared").error()), HasSubstr("Shared_Sram"));
  EXPECT_THAT(to_string(find_target("ethos-u55-128", "Ethos_U65_High_End", "").error()),
              HasSubstr("not for ethos-u55-128"));
  EXPECT_EQ(find_target("ethos-u55-128", "", "")->memory.name, "Shared_Sram");
}

}  // namespace
}  // namespace carina::plan
