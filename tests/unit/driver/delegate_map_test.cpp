#include "driver/delegate_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "../pt2/model_builder.h"
#include "backends/tosa_backend_internal.h"

namespace carina::driver {
namespace {

using pt2::argument;
using pt2::json;
using pt2::ModelBuilder;
using pt2::tensor;
using testing::HasSubstr;

constexpr int kCpu = -1;

// A model with the input x [1,2]; all nodes have this shape.
ModelBuilder beginning() {
  ModelBuilder model;
  model.input("x", {1, 2});
  return model;
}

void add(ModelBuilder& model, const std::string& op, const std::string& name, const std::string& from,
         const std::string& other = {}) {
  std::vector<json> arguments{argument("self", tensor(from))};
  if (!other.empty()) arguments.push_back(argument("other", tensor(other)));
  model.node("torch.ops.aten." + op, name, {1, 2}, std::move(arguments));
}

// Adds a quantize or dequantize node for int8 with a scale of 1/16.
void add_step(ModelBuilder& model, const std::string& step, const std::string& name, const std::string& from) {
  constexpr int kInt8 = 2, kFp32 = 7;  // the file's numbers of these types
  model.node("torch.ops.quantized_decomposed." + step + "_per_tensor.default", name, {1, 2},
             {argument("input", tensor(from)), argument("scale", {{"as_float", 0.0625}}),
              argument("zero_point", {{"as_int", 0}}), argument("quant_min", {{"as_int", -128}}),
              argument("quant_max", {{"as_int", 127}}), argument("dtype", {{"as_scalar_type", kInt8}})},
             step == "quantize" ? kInt8 : kFp32);
}

std::vector<NodeAssignment> mapped(ModelBuilder& model, const std::string& output, const std::string& spec,
                                   SplitOptions split = {}) {
  model.output(output);
  split.delegates = DelegateMode::kAll;
  const auto assignments =
      map_delegates(Buffer::copy_of(model.archive()), "m.pt2", *backends::tosa_backend(spec), split, {}, {});
  EXPECT_TRUE(assignments.has_value()) << to_string(assignments.error());
  return assignments ? *assignments : std::vector<NodeAssignment>{};
}

NodeAssignment place_of(const std::vector<NodeAssignment>& assignments, const std::string& name) {
  const auto found = std::ranges::find(assignments, name, &NodeAssignment::name);
  EXPECT_NE(found, assignments.end()) << name;
  return found == assignments.end() ? NodeAssignment{} : *found;
}

TEST(DelegateMap, source_nodes_are_named) {
  ModelBuilder model = beginning();
  add(model, "neg.default", "neg", "x");
  add(model, "tanh.default", "tanh", "neg");
  const auto assignments = mapped(model, "tanh", "TOSA-1.0+FP");
  ASSERT_EQ(assignments.size(), 2U);
  EXPECT_EQ(assignments[0].name, "neg");
  EXPECT_EQ(assignments[0].op, "aten.neg.default");
  EXPECT_EQ(assignments[0].delegate, 0);
  EXPECT_EQ(assignments[1].delegate, 0);
}

TEST(DelegateMap, delegates_form_no_cycle) {
  ModelBuilder model = beginning();
  add(model, "neg.default", "first", "x");
  add(model, "tanh.default", "between", "first");
  add(model, "add.Tensor", "last", "first", "between");
  const auto assignments = mapped(model, "last", "TOSA-1.0+FP", {{.cpu_nodes = {"between"}}});
  EXPECT_EQ(place_of(assignments, "between").delegate, kCpu);
  EXPECT_THAT(place_of(assignments, "between").reason, HasSubstr("keeps the node on the CPU"));
  EXPECT_EQ(place_of(assignments, "first").delegate, 0);
  EXPECT_EQ(place_of(assignments, "last").delegate, 1);
}

TEST(DelegateMap, nodes_without_effect_follow_neighbors) {
  ModelBuilder model = beginning();
  add(model, "neg.default", "first", "x");
  add(model, "alias.default", "same", "first");
  add(model, "tanh.default", "last", "same");
  const auto assignments = mapped(model, "last", "TOSA-1.0+FP");
  EXPECT_EQ(place_of(assignments, "same").delegate, 0);
}

TEST(DelegateMap, integers_cross_delegate_boundary) {
  ModelBuilder model = beginning();
  add_step(model, "quantize", "q_in", "x");
  add_step(model, "dequantize", "dq_in", "q_in");
  add(model, "relu.default", "relu", "dq_in");
  add_step(model, "quantize", "q_out", "relu");
  add_step(model, "dequantize", "dq_out", "q_out");
  const auto assignments = mapped(model, "dq_out", "TOSA-1.0+INT");
  EXPECT_EQ(place_of(assignments, "q_in").delegate, kCpu);
  for (const char* inside : {"dq_in", "relu", "q_out"}) EXPECT_EQ(place_of(assignments, inside).delegate, 0) << inside;
  EXPECT_EQ(place_of(assignments, "dq_out").delegate, kCpu);
}

// Adds argmax of x, [1,2] to [1], and a node that reads it.
void add_argmax(ModelBuilder& model) {
  constexpr int kInt64 = 5;
  model.node("torch.ops.aten.argmax.default", "places", {1},
             {argument("self", tensor("x")), argument("dim", {{"as_int", 1}})}, kInt64);
}

TEST(DelegateMap, delegate_has_no_int64_output) {
  ModelBuilder model = beginning();
  add_argmax(model);
  const auto assignments = mapped(model, "places", "TOSA-1.0+INT+FP");
  EXPECT_EQ(place_of(assignments, "places").delegate, kCpu);
  EXPECT_THAT(place_of(assignments, "places").reason, HasSubstr("places is i64 where a delegate would begin or end"));
}

TEST(DelegateMap, int64_within_delegate_is_allowed) {
  ModelBuilder model = beginning();
  add_argmax(model);
  constexpr int kInt32 = 4;
  model.node("torch.ops.aten.to.dtype", "narrow", {1},
             {argument("self", tensor("places")), argument("dtype", {{"as_scalar_type", kInt32}})}, kInt32);
  const auto assignments = mapped(model, "narrow", "TOSA-1.0+INT+FP");
  EXPECT_EQ(place_of(assignments, "places").delegate, 0);
  EXPECT_EQ(place_of(assignments, "narrow").delegate, 0);
}

TEST(DelegateMap, rejected_node_has_reason) {
  ModelBuilder model = beginning();
  add(model, "neg.default", "neg", "x");
  const auto assignments = mapped(model, "neg", "TOSA-1.0+INT");
  EXPECT_EQ(place_of(assignments, "neg").delegate, kCpu);
  EXPECT_THAT(place_of(assignments, "neg").reason, HasSubstr("x is not quantized"));
}

}  // namespace
}  // namespace carina::driver
