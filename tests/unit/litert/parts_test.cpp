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

}  // namespace
}  // namespace carina::tflite
