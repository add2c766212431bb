#include <gtest/gtest.h>

#include <random>

#include "ir/graph.h"
#include "pte/emit.h"
#include "pte/kernel_arguments_internal.h"
#include "pte/reader.h"
#include "pte/writer.h"

namespace carina::pte {
namespace {

// A graph of two operations with a constant: relu(x + c).
ir::Graph small_graph() {
  ir::Graph graph;
  const ir::ValueId x = graph.add_value("x", DType::kFp32, {2, 3});
  const std::vector<float> numbers{1, 2, 3};
  const ir::ValueId c = graph.add_constant("c", Tensor::of<float>(DType::kFp32, {3}, numbers));
  const ir::ValueId sum = graph.add_value("sum", DType::kFp32, {2, 3});
  const ir::ValueId out = graph.add_value("out", DType::kFp32, {2, 3});
  ir::Node add{
      .op = AtenOp::add_Tensor, .name = "add", .inputs = {x, c}, .outputs = {sum}, .attributes = {}, .source = {}};
  add.attributes.set("alpha", int64_t{1});
  graph.add_node(std::move(add));
  graph.add_node(
      {.op = AtenOp::relu_default, .name = "relu", .inputs = {sum}, .outputs = {out}, .attributes = {}, .source = {}});
  graph.inputs = {x};
  graph.outputs = {out};
  return graph;
}

TEST(Emit, nodes_become_kernel_calls) {
  const Result<Program> program = emit(small_graph(), {});
  ASSERT_TRUE(program.has_value());
  const Plan& plan = program->plans.at(0);
  ASSERT_EQ(plan.operators.size(), 2U);
  EXPECT_EQ(plan.operators[0].name, "aten::add");
  EXPECT_EQ(plan.operators[0].overload, "out");
  const auto& call = std::get<KernelCall>(plan.instructions.at(0));
  ASSERT_EQ(call.arguments.size(), 5U);  // two operands, alpha, out, the returned value
  EXPECT_EQ(call.arguments[3], call.arguments[4]);
  EXPECT_EQ(program->constants.size(), 2U);
}

TEST(Emit, nodes_without_kernel_are_all_reported) {
  ir::Graph graph = small_graph();
  for (ir::Node& node : graph.nodes) node.op = AtenOp::executorch_call_delegate_default;
  for (ir::Node& node : graph.nodes) node.op = AtenOp::lstm_input;
  const Result<Program> program = emit(graph, {});
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().size(), 2U);
}

TEST(Emit, unknown_element_type_is_an_error) {
  ir::Graph graph = small_graph();
  ir::Node& node = graph.nodes[1];
  node.op = AtenOp::quantize_per_tensor_default;
  node.attributes.set("dtype", DType::kInt8);
  EXPECT_TRUE(emit(graph, {}).has_value());
  node.attributes.set("dtype", DType::kInt48);
  const Result<Program> program = emit(graph, {});
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().front().what, "a .pte cannot say dtype = i48");
}

TEST(KernelArguments, arguments_are_parsed) {
  using Kind = KernelArgument::Kind;
  EXPECT_EQ(parse_argument("%12")->operand, 12U);
  EXPECT_EQ(parse_argument("%*")->kind, Kind::kAllOperands);
  EXPECT_EQ(parse_argument("=None")->kind, Kind::kNone);
  EXPECT_TRUE(parse_argument("=true")->flag);
  EXPECT_EQ(parse_argument("=-3")->numbers[0], -3);
  EXPECT_EQ(parse_argument("=[0,-12]")->numbers[1], -12);
  EXPECT_EQ(parse_argument("=[0,-12]")->count, 2U);
  EXPECT_EQ(parse_argument("zero_point")->attribute, "zero_point");
}

TEST(KernelArguments, meaningless_arguments_are_errors) {
  for (const char* word :
       {"", "%", "%x", "%-1", "%1,2", "=", "=nil", "=[]", "=[1", "=[1,]", "=1.5", "=[1,2,3,4,5]", "a-b"})
    EXPECT_FALSE(parse_argument(word).has_value()) << word;
}

TEST(Files, written_files_read_back) {
  Result<Program> program = emit(small_graph(), {});
  ASSERT_TRUE(program.has_value());
  program->plans[0].delegates.push_back({.backend = "EthosUBackend",
                                         .blob = Buffer::copy_of(std::vector<std::byte>(100, std::byte{7})),
                                         .compile_specs = {{"key", {1, 2, 3}}}});
  for (const auto data : {DelegateData::kInline, DelegateData::kSegment}) {
    const auto bytes = write_program(*program, {.delegate_data = data});
    ASSERT_TRUE(bytes.has_value());
    EXPECT_EQ(*bytes, *write_program(*program, {.delegate_data = data}));
    const Result<Program> again = read_program(Buffer::copy_of(*bytes), "test");
    ASSERT_TRUE(again.has_value()) << to_string(again.error());
    EXPECT_EQ(again->plans[0].values.size(), program->plans[0].values.size());
    EXPECT_EQ(again->plans[0].planned_bytes, program->plans[0].planned_bytes);
    EXPECT_EQ(again->plans[0].delegates[0].blob.size(), 100U);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(again->plans[0].delegates[0].blob.data()) % 16, 0U);
    EXPECT_EQ(again->plans[0].delegates[0].compile_specs, program->plans[0].delegates[0].compile_specs);
    EXPECT_EQ(again->constants[1].size(), 12U);
    EXPECT_EQ(*bytes, *write_program(*again, {.delegate_data = data}));
  }
}

}  // namespace
}  // namespace carina::pte
