#include "frontend/tflite/parts.h"

#include <gtest/gtest.h>

namespace carina::tflite {
namespace {

Tensor tensor(std::string name) {
  return {.name = std::move(name),
          .dtype = DType::kInt8,
          .type_name = "INT8",
          .shape = Shape({4}),
          .quantization = {},
          .data = {}};
}

Operator op(std::vector<int32_t> inputs, std::vector<int32_t> outputs) {
  return {.name = "RELU", .inputs = std::move(inputs), .outputs = std::move(outputs), .options = {}};
}

// 0 -> 1 -> 2, and 0 -> 3; 2 and 3 are outputs.
Subgraph fork() {
  return {.name = "main",
          .tensors = {tensor("a"), tensor("b"), tensor("c"), tensor("d")},
          .inputs = {0},
          .outputs = {2, 3},
          .operators = {op({0}, {1}), op({1}, {2}), op({0}, {3})}};
}

TEST(Parts, operators_of_one_kind_are_one_part) {
  EXPECT_EQ(split_operators(fork(), {true, true, true}),
            (std::vector<Part>{{.on_npu = true, .operators = {0, 1, 2}, .inputs = {0}, .outputs = {2, 3}}}));
}

TEST(Parts, operator_on_cpu_begins_another_part) {
  EXPECT_EQ(split_operators(fork(), {true, false, true}),
            (std::vector<Part>{{.on_npu = true, .operators = {0, 2}, .inputs = {0}, .outputs = {1, 3}},
                               {.on_npu = false, .operators = {1}, .inputs = {1}, .outputs = {2}}}));
}

// Each operator reads x and two states, and gives a result of its own.
Subgraph states(int32_t count) {
  Subgraph graph{.name = "main", .tensors = {tensor("x")}, .inputs = {0}, .outputs = {}, .operators = {}};
  for (int32_t i = 0; i < count; ++i) {
    const auto first = static_cast<int32_t>(graph.tensors.size());
    for (const char* name : {"h", "c", "y"}) graph.tensors.push_back(tensor(name));
    graph.tensors[static_cast<size_t>(first)].is_variable = true;
    graph.tensors[static_cast<size_t>(first) + 1].is_variable = true;
    graph.operators.push_back(op({0, first, first + 1}, {first + 2}));
    graph.outputs.push_back(first + 2);
  }
  return graph;
}

TEST(Parts, variables_are_first_inputs_and_last_outputs) {
  EXPECT_EQ(split_operators(states(1), {true}),
            (std::vector<Part>{
                {.on_npu = true, .operators = {0}, .inputs = {1, 2, 0}, .outputs = {3, 1, 2}, .variables = {1, 2}}}));
}

TEST(Parts, variables_of_cpu_are_only_inputs) {
  EXPECT_EQ(split_operators(states(1), {false}),
            (std::vector<Part>{{.on_npu = false, .operators = {0}, .inputs = {1, 2, 0}, .outputs = {3}}}));
}

TEST(Parts, part_has_no_more_variables_than_a_stream_has_regions) {
  const std::vector<Part> parts = split_operators(states(3), {true, true, true});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].operators, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(parts[1].operators, (std::vector<size_t>{2}));
}

}  // namespace
}  // namespace carina::tflite
