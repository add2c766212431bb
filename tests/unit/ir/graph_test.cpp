#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/pass.h"

namespace carina::ir {
namespace {

// x -> ADD(x, x) -> sum, and an ABS whose result is not used.
Graph add_with_dead_abs() {
  Graph graph;
  graph.name = "main";
  const ValueId x = graph.add_value("x", DType::kInt32, {5});
  const ValueId dead = graph.add_value("x", DType::kInt32, {5});
  const ValueId sum = graph.add_value("sum", DType::kInt32, {5});
  graph.inputs = {x};
  graph.add_node({.op = TosaOp::ABS, .name = "abs", .inputs = {x}, .outputs = {dead}, .attributes = {}, .source = {}});
  graph.add_node(
      {.op = TosaOp::ADD, .name = "add", .inputs = {x, x}, .outputs = {sum}, .attributes = {}, .source = {}});
  graph.outputs = {sum};
  return graph;
}

TEST(Graph, equal_names_become_unique) {
  const Graph graph = add_with_dead_abs();
  EXPECT_EQ(graph.values[1].name, "x_1");
  EXPECT_EQ(graph.find_value("x_1"), ValueId(1));
  EXPECT_FALSE(graph.find_value("y").has_value());
}

TEST(Graph, first_free_number_makes_a_name_unique) {
  Graph graph;
  const auto add = [&](std::string_view name) { return graph.add_value(name, DType::kInt8, {1}); };
  add("x");
  const ValueId one = add("x"), two = add("x");
  EXPECT_EQ(graph[two].name, "x_2");
  graph.rename(one, "y");
  EXPECT_EQ(graph[add("x")].name, "x_1");
  EXPECT_EQ(graph[add("x")].name, "x_3");
  EXPECT_EQ(graph[add("x_4")].name, "x_4");
  EXPECT_EQ(graph[add("x")].name, "x_5");
}

TEST(Graph, unused_nodes_are_removed) {
  Graph graph = add_with_dead_abs();
  remove_dead(graph);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].name, "add");
  EXPECT_EQ(graph.values.size(), 2U);
  EXPECT_TRUE(verify_structure(graph).has_value());
}

TEST(VerifyStructure, read_before_write_is_found) {
  Graph graph = add_with_dead_abs();
  std::swap(graph.nodes[0].inputs[0], graph.nodes[0].outputs[0]);
  const auto verified = verify_structure(graph);
  ASSERT_FALSE(verified.has_value());
  EXPECT_NE(verified.error().front().what.find("before it is made"), std::string::npos);
}

}  // namespace
}  // namespace carina::ir
