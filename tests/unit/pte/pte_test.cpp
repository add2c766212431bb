#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

// A graph that adds x to a state: the next state is the sum, the output is relu of it.
ir::Graph summing_graph() {
  ir::Graph graph = small_graph();
  const ir::ValueId state = graph.nodes[0].inputs[1] = graph.add_value("s", DType::kFp32, {2, 3});
  graph.inputs.push_back(state);
  graph.outputs.push_back(graph.nodes[0].outputs[0]);
  const std::vector<float> numbers{0, 0, 0, 0, 0, 7};
  graph.states.push_back({.name = "inner.s", .initial = Tensor::of<float>(DType::kFp32, {2, 3}, numbers)});
  return graph;
}

const TensorSpec& tensor_of(const Plan& plan, int32_t index) {
  return std::get<TensorSpec>(plan.values.at(static_cast<size_t>(index)));
}

const TensorSpec& state_of(const Plan& plan) {
  const auto found = std::ranges::find_if(plan.values, [](const Value& value) {
    const auto* tensor = std::get_if<TensorSpec>(&value);
    return tensor != nullptr && !tensor->state_name.empty();
  });
  return std::get<TensorSpec>(*found);
}

TEST(Emit, state_is_planned_memory_with_a_name_and_a_copy_at_the_end) {
  const Result<Program> program = emit(summing_graph(), {});
  ASSERT_TRUE(program.has_value());
  const Plan& plan = program->plans.at(0);
  EXPECT_EQ(plan.inputs.size(), 1U);
  EXPECT_EQ(plan.outputs.size(), 1U);
  const auto& copy = std::get<KernelCall>(plan.instructions.back());
  EXPECT_EQ(plan.operators.at(static_cast<size_t>(copy.op)).name, "aten::copy_");
  EXPECT_EQ(copy.arguments.front(), copy.arguments.back());
  const TensorSpec& state = tensor_of(plan, copy.arguments.front());
  EXPECT_EQ(state.state_name, "inner.s");
  EXPECT_EQ(state.initial.size(), 24U);
  // Nothing else may have its memory.
  for (const Value& value : plan.values) {
    const auto* other = std::get_if<TensorSpec>(&value);
    if (other == nullptr || other == &state || !other->allocation) continue;
    EXPECT_NE(other->allocation->offset_bytes, state.allocation->offset_bytes);
  }
}

TEST(Emit, next_state_after_the_last_read_is_written_in_place) {
  ir::Graph graph = summing_graph();
  graph.outputs.back() = graph.nodes[1].outputs[0];  // relu, which does not read the state
  const Result<Program> program = emit(graph, {});
  ASSERT_TRUE(program.has_value());
  const Plan& plan = program->plans.at(0);
  ASSERT_EQ(plan.instructions.size(), 2U);
  const auto& relu = std::get<KernelCall>(plan.instructions.back());
  EXPECT_EQ(tensor_of(plan, relu.arguments.back()).state_name, "inner.s");
  EXPECT_EQ(plan.outputs.front(), relu.arguments.back());
}

// A delegate copies its inputs before it runs, and its outputs afterwards.
TEST(Emit, state_that_a_delegate_reads_and_writes_is_written_in_place) {
  ir::Graph graph = summing_graph();
  ir::Node& call = graph.nodes[0];
  call.op = AtenOp::executorch_call_delegate_default;
  call.attributes = {{"delegate", int64_t{0}}};
  const std::vector<Delegate> delegates{{.backend = "EthosUBackend", .blob = {}, .compile_specs = {}}};
  const Result<Program> program = emit(graph, delegates);
  ASSERT_TRUE(program.has_value());
  const Plan& plan = program->plans.at(0);
  ASSERT_EQ(plan.instructions.size(), 2U);
  const auto& made = std::get<DelegateCall>(plan.instructions.front());
  EXPECT_EQ(made.arguments.at(1), made.arguments.at(2));
  EXPECT_EQ(tensor_of(plan, made.arguments.at(1)).state_name, "inner.s");
}

// Two methods with a state of their own each, and one in common.
TEST(Emit, methods_share_states_of_one_name_and_equal_constants) {
  ir::Graph first = summing_graph(), second = summing_graph();
  second.nodes[1].inputs[0] =
      second.add_constant("c", Tensor::of<float>(DType::kFp32, {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  first.nodes[1].inputs[0] = first.add_value(ir::Value(second[second.nodes[1].inputs[0]]));
  const Result<Program> program = emit_methods(std::array{MethodGraph{.name = "a", .graph = first, .delegates = {}},
                                                          MethodGraph{.name = "b", .graph = second, .delegates = {}}});
  ASSERT_TRUE(program.has_value());
  ASSERT_EQ(program->plans.size(), 2U);
  EXPECT_EQ(program->plans[1].name, "b");
  EXPECT_EQ(program->constants.size(), 2U);  // the format's dummy, and one
  for (const Plan& plan : program->plans) {
    ASSERT_EQ(plan.planned_bytes.size(), 2U);
    EXPECT_GE(plan.planned_bytes[1], 24);
    const TensorSpec& state = state_of(plan);
    EXPECT_EQ(state.allocation->memory_id, 2U);
    EXPECT_EQ(state.allocation->offset_bytes, 0U);
  }
}

TEST(Emit, shared_state_of_another_initial_value_is_rejected) {
  const ir::Graph first = summing_graph();
  ir::Graph second = first;
  second.states[0].initial = Tensor::of<float>(DType::kFp32, {2, 3}, std::vector<float>(6, 1));
  const Result<Program> program = emit_methods(std::array{MethodGraph{.name = "a", .graph = first, .delegates = {}},
                                                          MethodGraph{.name = "b", .graph = second, .delegates = {}}});
  ASSERT_FALSE(program.has_value());
  EXPECT_NE(program.error().front().what.find("other initial values"), std::string::npos);
}

TEST(Emit, output_that_is_the_state_before_is_copied_before_the_write) {
  ir::Graph graph = summing_graph();
  graph.outputs.front() = graph.state_input(0);
  const Result<Program> program = emit(graph, {});
  ASSERT_TRUE(program.has_value());
  const Plan& plan = program->plans.at(0);
  EXPECT_TRUE(tensor_of(plan, plan.outputs.front()).state_name.empty());
  const auto& copy = std::get<KernelCall>(plan.instructions.back());
  EXPECT_EQ(plan.operators.at(static_cast<size_t>(copy.op)).name, "aten::copy_");
}

TEST(Files, state_reads_back) {
  const Program program = emit(summing_graph(), {}).value();
  const Result<Program> read = read_program(Buffer::copy_of(write_program(program, {}).value()), "test");
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->plans[0].values.size(), program.plans[0].values.size());
  for (size_t i = 0; i < program.plans[0].values.size(); ++i) {
    const auto* before = std::get_if<TensorSpec>(&program.plans[0].values[i]);
    if (before == nullptr) continue;
    const auto& after = std::get<TensorSpec>(read->plans[0].values[i]);
    EXPECT_EQ(before->state_name, after.state_name);
    EXPECT_TRUE(std::ranges::equal(before->initial.bytes(), after.initial.bytes()));
  }
}

TEST(Files, states_in_one_memory_are_rejected) {
  Program program = emit(summing_graph(), {}).value();
  for (Value& value : program.plans[0].values) {
    auto* tensor = std::get_if<TensorSpec>(&value);
    if (tensor == nullptr || !tensor->allocation) continue;
    tensor->state_name = "s";
    tensor->allocation->offset_bytes = 8;
  }
  const Result<Program> read = read_program(Buffer::copy_of(write_program(program, {}).value()), "test");
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().front().what.find("have the same memory"), std::string::npos);
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
