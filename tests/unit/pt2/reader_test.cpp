#include "frontend/pt2/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "../case_folders.h"
#include "base/io/file.h"
#include "model_builder.h"

namespace carina::pt2 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names(const ir::Graph& graph, const std::vector<ir::ValueId>& ids) {
  std::vector<std::string> list;
  for (const ir::ValueId id : ids) list.push_back(id.valid() ? graph[id].name : "none");
  return list;
}

TEST(Reader, inputs_constants_nodes_and_outputs_are_read) {
  const Result<ir::Graph> graph = small_model().read();
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_THAT(names(*graph, graph->inputs), ElementsAre("x"));
  EXPECT_THAT(names(*graph, graph->outputs), ElementsAre("relu"));
  ASSERT_EQ(graph->nodes.size(), 2);
  EXPECT_EQ(graph->nodes[0].op, ir::Op(AtenOp::linear_default));
  EXPECT_THAT(names(*graph, graph->nodes[0].inputs), ElementsAre("x", "p_w", "none"));
  const auto& weight = (*graph)[*graph->find_value("p_w")].constant;
  ASSERT_TRUE(weight);
  EXPECT_THAT(weight->values<float>(), ElementsAre(1, 2, 3, 4));
}

TEST(Reader, defaults_are_filled_and_single_numbers_repeated) {
  ModelBuilder model;
  model.parameter("k", {1, 1, 3, 3}, floats(std::vector<float>(9, 1)));
  model.input("x", {1, 1, 8, 8});
  model.node(
      "torch.ops.aten.conv2d.default", "y", {1, 1, 3, 3},
      {argument("input", tensor("x")), argument("weight", tensor("p_k")), argument("stride", {{"as_ints", {2}}})});
  model.output("y");
  const Result<ir::Graph> graph = model.read();
  ASSERT_TRUE(graph) << to_string(graph.error());
  const ir::Attributes& attributes = graph->nodes[0].attributes;
  EXPECT_THAT(attributes.integers("stride"), ElementsAre(2, 2));
  EXPECT_THAT(attributes.integers("padding"), ElementsAre(0, 0));
  EXPECT_THAT(attributes.integers("dilation"), ElementsAre(1, 1));
  EXPECT_EQ(attributes.integer("groups"), 1);
}

// y = while x > 0: x + x
ModelBuilder doubling_model() {
  ModelBuilder condition, round, model;
  condition.input("x", {1});
  condition.node("torch.ops.aten.gt.Scalar", "more", {1},
                 {argument("self", tensor("x")), argument("other", {{"as_float", 0.0}})}, 12);
  condition.output("more");
  round.input("x", {1});
  round.node("torch.ops.aten.add.Tensor", "twice", {1},
             {argument("self", tensor("x")), argument("other", tensor("x"))});
  round.output("twice");
  const auto region = [](const ModelBuilder& of) {
    return argument("", {{"as_graph", {{"name", "region"}, {"graph", of.graph}}}});
  };
  model.input("x", {1});
  model.node("torch.ops.higher_order.while_loop", "y", {1},
             {region(condition), region(round), argument("", {{"as_tensors", {{{"name", "x"}}}}}),
              argument("", {{"as_tensors", json::array()}})});
  model.output("y");
  return model;
}

std::vector<std::string_view> ops(const ir::Graph& graph) {
  std::vector<std::string_view> list;
  for (const ir::Node& node : graph.nodes) list.push_back(node.op.name());
  return list;
}

TEST(Reader, loop_rounds_are_unrolled_in_order) {
  const Buffer file = Buffer::copy_of(doubling_model().archive());
  const Result<ir::Graph> graph = read_model(file, "m.pt2", {}, {.loop_rounds = 2}).graph;
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_THAT(ops(*graph), ElementsAre("aten.gt.Scalar", "aten.add.Tensor", "aten.view.default", "aten.where.self",
                                       "aten.gt.Scalar", "aten.add.Tensor", "aten.view.default", "aten.where.self"));
  EXPECT_EQ(graph->nodes[4].inputs[0], graph->nodes[3].outputs[0]);
  EXPECT_EQ(graph->outputs.front(), graph->nodes[7].outputs[0]);
}

TEST(Reader, loops_without_round_count_are_errors) {
  EXPECT_THAT(doubling_model().rejection(), HasSubstr("--loop-rounds"));
}

// scan over x [2,3]: the state is state + x[n], and the result of each step is twice that.
ModelBuilder summing_model(std::vector<int64_t> sizes) {
  ModelBuilder step, model;
  step.input("state", {3});
  step.input("element", {3});
  step.node("torch.ops.aten.add.Tensor", "sum", {3},
            {argument("self", tensor("state")), argument("other", tensor("element"))});
  step.node("torch.ops.aten.add.Tensor", "twice", {3},
            {argument("self", tensor("sum")), argument("other", tensor("sum"))});
  step.output("sum");
  step.output("twice");
  const auto list = [](json names) { return argument("", {{"as_tensors", std::move(names)}}); };
  model.input("h", {3});
  model.input("x", std::move(sizes));
  json& node = model.node("torch.ops.higher_order.scan", "last", {3},
                          {argument("", {{"as_graph", {{"name", "step"}, {"graph", step.graph}}}}),
                           list({{{"name", "h"}}}), list({{{"name", "x"}}}), list(json::array())});
  model.graph["tensor_values"]["all"] = model.graph["tensor_values"]["last"];
  node["outputs"].push_back(tensor("all"));
  model.output("last");
  model.output("all");
  return model;
}

TEST(Reader, scans_are_unrolled_in_order) {
  const Buffer file = Buffer::copy_of(summing_model({2, 3}).archive());
  const Result<ir::Graph> graph = read_model(file, "m.pt2", {}, {}).graph;
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_THAT(ops(*graph), ElementsAre("aten.select.int", "aten.add.Tensor", "aten.add.Tensor", "aten.select.int",
                                       "aten.add.Tensor", "aten.add.Tensor", "aten.stack.default"));
  EXPECT_EQ(graph->nodes[4].inputs[0], graph->nodes[1].outputs[0]);
  EXPECT_EQ(graph->outputs[0], graph->nodes[4].outputs[0]);
  EXPECT_EQ(graph->outputs[1], graph->nodes[6].outputs[0]);
  EXPECT_EQ((*graph)[graph->outputs[1]].shape, (Shape{2, 3}));
}

TEST(Reader, long_scans_are_errors) {
  EXPECT_THAT(summing_model({1 << 20, 3}).rejection(), HasSubstr("at most 16384 elements"));
  EXPECT_THAT(summing_model({}).rejection(), HasSubstr("different lengths, or none"));
}

TEST(Reader, edge_arguments_are_positional) {
  ModelBuilder model;
  model.input("x", {4});
  model.node("executorch.exir.dialects.edge._ops.aten.hardtanh.default", "y", {4},
             {argument("", tensor("x")), argument("", {{"as_int", 0}}), argument("", {{"as_float", 6.0}})});
  model.output("y");
  const Result<ir::Graph> graph = model.read();
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_EQ(graph->nodes[0].attributes.number("min_val"), 0);
  EXPECT_EQ(graph->nodes[0].attributes.number("max_val"), 6);
}

TEST(Reader, numbers_become_constants_of_promoted_type) {
  ModelBuilder model;
  model.input("x", {2});
  model.input("i", {2}, 4);
  const auto add = [&](const std::string& result, const std::string& operand, json number, int scalar_type) {
    model.node("torch.ops.aten.add.Tensor", result, {2},
               {argument("self", tensor(operand)), argument("other", std::move(number))}, scalar_type);
    model.output(result);
  };
  add("a", "x", {{"as_int", 2}}, 7);
  add("b", "i", {{"as_int", 2}}, 4);
  add("c", "i", {{"as_float", 2.5}}, 7);
  const Result<ir::Graph> graph = model.read();
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_EQ((*graph)[*graph->find_value("a_other")].constant->values<float>()[0], 2.0F);
  EXPECT_EQ((*graph)[*graph->find_value("b_other")].constant->values<int32_t>()[0], 2);
  EXPECT_EQ((*graph)[*graph->find_value("c_other")].constant->values<float>()[0], 2.5F);
  EXPECT_EQ((*graph)[*graph->find_value("a_other")].shape, Shape{});
}

TEST(Reader, in_place_operators_become_functional) {
  ModelBuilder model;
  model.input("x", {2});
  model.node("torch.ops.aten.neg.default", "y", {2}, {argument("self", tensor("x"))});
  model.node("torch.ops.aten.relu_.default", "relu_", {2}, {argument("self", tensor("y"))});
  model.node("torch.ops.aten.exp.default", "e", {2}, {argument("self", tensor("y"))});
  model.output("e");
  const Result<ir::Graph> graph = model.read();
  ASSERT_TRUE(graph) << to_string(graph.error());
  ASSERT_EQ(graph->nodes.size(), 3);
  EXPECT_EQ(graph->nodes[1].op, ir::Op(AtenOp::relu_default));
  EXPECT_THAT(names(*graph, graph->nodes[2].inputs), ElementsAre("relu_"));
}

TEST(Reader, writes_through_views_reach_base) {
  ModelBuilder model;
  model.input("x", {2, 3});
  model.node("torch.ops.aten.neg.default", "y", {2, 3}, {argument("self", tensor("x"))});
  model.node("torch.ops.aten.select.int", "row", {3},
             {argument("self", tensor("y")), argument("dim", {{"as_int", 0}}), argument("index", {{"as_int", 1}})});
  model.node("torch.ops.aten.relu_.default", "relu_", {3}, {argument("self", tensor("row"))});
  model.output("y");
  const Result<ir::Graph> graph = model.read();
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_EQ(graph->nodes.back().op, ir::Op(AtenOp::select_scatter_default));
  EXPECT_THAT(names(*graph, graph->nodes.back().inputs), ElementsAre("y", "relu_"));
  EXPECT_EQ(graph->outputs.front(), graph->nodes.back().outputs.front());
}

TEST(Reader, source_is_last_line_of_user_code) {
  ModelBuilder model = small_model();
  model.graph["nodes"][0]["metadata"]["stack_trace"] =
      "  File \"/home/me/model.py\", line 41, in forward\n    return self.fc(x)\n  File "
      "\"/lib/site-packages/torch/nn/modules/linear.py\", line 125, in forward\n    return F.linear()\n";
  const Result<ir::Graph> graph = model.read();
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_EQ(graph->nodes[0].source, "model.py:41");
  EXPECT_EQ(graph->nodes[1].source, "");
}

TEST(Reader, aligned_tensors_are_views_of_archive) {
  ModelBuilder model;
  model.parameter("w", {4}, "abcd", 2);
  model.input("x", {4}, 2);
  model.node("torch.ops.aten.add.Tensor", "y", {4}, {argument("self", tensor("x")), argument("other", tensor("p_w"))},
             2);
  model.output("y");
  const Buffer archive = Buffer::copy_of(model.archive());
  const Result<ir::Graph> graph = read_pt2(archive, "m.pt2", {});
  ASSERT_TRUE(graph) << to_string(graph.error());
  const std::byte* data = (*graph)[*graph->find_value("p_w")].constant->data.data();
  EXPECT_TRUE(data >= archive.data() && data < archive.data() + archive.size());
}

TEST(Reader, strided_tensors_become_dense) {
  ModelBuilder model = small_model();
  json& meta = model.weights["config"]["w"]["tensor_meta"];
  meta["strides"] = sizes_json({1, 2});
  const Result<ir::Graph> graph = model.read();
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_THAT((*graph)[*graph->find_value("p_w")].constant->values<float>(), ElementsAre(1, 3, 2, 4));
}

TEST(Reader, symbolic_sizes_use_example_with_note) {
  ModelBuilder model = small_model();
  const json batch = {
      {"as_expr", {{"expr_str", "Symbol('s77', positive=True, integer=True)"}, {"hint", {{"as_int", 1}}}}}};
  for (const char* name : {"x", "linear", "relu"}) model.graph["tensor_values"][name]["sizes"][0] = batch;
  std::string notes;
  const Result<ir::Graph> graph = model.read({.note = [&](const Diagnostic& d) { notes += to_string(d); }});
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_EQ((*graph)[graph->inputs[0]].shape, (Shape{1, 2}));
  EXPECT_THAT(notes, HasSubstr("s77 = 1"));
}

TEST(Reader, unread_parameters_are_dropped) {
  ModelBuilder model = small_model();
  model.parameter("unused", {1}, floats({1}));
  const Result<ir::Graph> graph = model.read();
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_FALSE(graph->find_value("p_unused"));
}

TEST(Reader, models_of_cases_are_read) {
  if (tests::case_folders().empty()) GTEST_SKIP() << tests::kNoCases;
  size_t models = 0;
  for (const std::filesystem::path& cases : tests::case_folders()) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cases)) {
      if (entry.path().extension() != ".pt2") continue;
      const Result<Buffer> file = map_file(entry.path().string());
      ASSERT_TRUE(file);
      const Result<ir::Graph> graph = read_pt2(*file, entry.path().string(), {});
      EXPECT_TRUE(graph) << to_string(graph.error());
      ++models;
    }
  }
  EXPECT_GE(models, 18u);
}

}  // namespace
}  // namespace carina::pt2
