#include "ir/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace carina::ir {
namespace {

Module module_of(Graph graph) {
  Module module;
  module.graphs.push_back(std::move(graph));
  return module;
}

// parse(print(m)) is m, and printing again gives the same text.
void expect_total(const Module& module) {
  const std::string text = print(module);
  const auto back = parse(text, "text");
  ASSERT_TRUE(back.has_value()) << to_string(back.error()) << "\n" << text;
  EXPECT_TRUE(identical(module, *back)) << text << "\n----\n" << print(*back);
  EXPECT_EQ(text, print(*back));
}

Tensor integers(DType dtype, const Shape& shape, int64_t first) {
  MutableTensor out(dtype, shape);
  for (size_t i = 0; i < out.bytes().size(); ++i)
    out.bytes()[i] = static_cast<std::byte>((first + static_cast<int64_t>(i)) & 7);
  return std::move(out).freeze();
}

TEST(Text, convolution_reads_back) {
  const std::string text = R"(graph @main {
  input %x: i8[1,4,4,2]
  %w: i8[2,1,1,2] = [1, 2, 3, -4]
  %b: i32[2] = [0, 100]
  %zp: i8[1] = [0]
  %y: i32[1,4,4,2] = tosa.CONV2D(%x, %w, %b, %zp, %zp) {pad = [0, 0, 0, 0], stride = [1, 1], dilation = [1, 1], local_bound = false, acc_type = i32} name "conv" at "model.py:41"
  output %y
}
)";
  const auto module = parse(text, "text");
  ASSERT_TRUE(module.has_value()) << to_string(module.error());
  const Node& node = module->main().nodes.at(0);
  EXPECT_EQ(node.op, Op(TosaOp::CONV2D));
  EXPECT_EQ(node.source, "model.py:41");
  EXPECT_EQ(node.attributes.get<DType>("acc_type"), DType::kInt32);
  EXPECT_EQ(print(*module), text);
  expect_total(*module);
}

TEST(Text, state_reads_back) {
  const std::string text = R"(graph @main {
  input %x: fp32[2]
  input %h: fp32[2]
  %y: fp32[2] = tosa.ADD(%x, %h)
  output %y
  output %y
  state "cell.h": fp32[2] = [1.5, 0.0]
}
)";
  const auto module = parse(text, "text");
  ASSERT_TRUE(module.has_value()) << to_string(module.error());
  const Graph& graph = module->main();
  EXPECT_EQ(graph.states.at(0).name, "cell.h");
  EXPECT_EQ(graph.inputs_without_state(), 1U);
  EXPECT_EQ(graph[graph.state_input(0)].name, "h");
  EXPECT_EQ(graph[graph.state_output(0)].name, "y");
  expect_total(*module);
  Graph alive = graph;
  remove_dead(alive);
  EXPECT_EQ(alive.states.size(), 1U);
}

TEST(Text, state_of_another_shape_than_its_ends_is_rejected) {
  const auto module = parse(R"(graph @main {
  input %h: fp32[2]
  output %h
  state "h": fp32[1] = [0.0]
}
)",
                            "text");
  ASSERT_FALSE(module.has_value());
  EXPECT_NE(to_string(module.error()).find("the state h changes its type or shape"), std::string::npos);
}

TEST(Text, all_constant_types_round_trip) {
  Graph graph;
  graph.name = "constants";
  for (int t = 1; t < kDTypeCount; ++t) {
    const auto dtype = static_cast<DType>(t);
    for (const int64_t size : {0, 3, 200}) {
      // Bytes below 8 are legal for every type except bool. Other bytes of a bool must survive, too.
      graph.add_constant(fmt::format("c_{}_{}", name_of(dtype), size), integers(dtype, Shape{size}, t));
    }
  }
  graph.add_constant("scalar", Tensor::of<float>(DType::kFp32, Shape{}, std::vector<float>{-0.0F}));
  graph.add_constant("odd", Tensor::of<float>(DType::kFp32, Shape{5},
                                              std::vector<float>{std::nanf("7"), -INFINITY, 1e-45F, 0.1F, 3.4e38F}));
  graph.add_constant("nan16",
                     Tensor::of<uint16_t>(DType::kFp16, Shape{3}, std::vector<uint16_t>{0x7C01, 0xFC00, 0x0001}));
  graph.add_constant("bf", Tensor::of<uint16_t>(DType::kBf16, Shape{3}, std::vector<uint16_t>{0x7FC1, 0x3F80, 0x8001}));
  graph.add_constant("f8", Tensor::of<uint8_t>(DType::kFp8E4M3, Shape{3}, std::vector<uint8_t>{0x7F, 0x01, 0x80}));
  graph.add_constant("flag", Tensor::of<uint8_t>(DType::kBool, Shape{3}, std::vector<uint8_t>{0, 1, 0}));
  expect_total(module_of(std::move(graph)));
}

TEST(Text, all_attribute_kinds_round_trip) {
  Graph graph;
  graph.name = "odd name \"\\ \n";
  const ValueId x = graph.add_value("x y%", DType::kFp32, Shape{2, -1});
  const ValueId y = graph.add_value("y", DType::kFp32, Shape{});
  graph.inputs = {x};
  graph.outputs = {y, y};
  const Attributes attributes{{"none", {}},
                              {"flag", true},
                              {"count", int64_t{-3}},
                              {"lowest", std::numeric_limits<int64_t>::min()},
                              {"real", 0.1},
                              {"whole", 2.0},
                              {"nan", std::nan("5")},
                              {"infinite", -INFINITY},
                              {"tiny", 5e-324},
                              {"text", std::string("a\"b\\c\x01\n")},
                              {"ints", std::vector<int64_t>{1, -1}},
                              {"no ints", std::vector<int64_t>{}},
                              {"floats", std::vector<double>{1.0, INFINITY}},
                              {"first infinite", std::vector<double>{INFINITY, 1e300}},
                              {"no floats", std::vector<double>{}},
                              {"flags", std::vector<bool>{true, false}},
                              {"no flags", std::vector<bool>{}},
                              {"type", DType::kInt48},
                              {"no type", DType::kUnknown},
                              {"bytes", Bytes{{0, 255, 16}}},
                              {"no bytes", Bytes{}}};
  graph.add_node({.op = AtenOp::add_Tensor,
                  .name = "other",
                  .inputs = {x, ValueId(), x},
                  .outputs = {ValueId(), y},
                  .attributes = attributes,
                  .source = "f.py:1"});
  expect_total(module_of(std::move(graph)));
}

TEST(Text, order_of_ids_is_kept) {
  Graph graph;
  graph.name = "g";
  const ValueId late = graph.add_value("late", DType::kInt32, Shape{1});
  const ValueId unused = graph.add_value("unused", DType::kInt32, Shape{1});
  const ValueId middle = graph.add_value("middle", DType::kInt32, Shape{1});
  const ValueId in = graph.add_value("in", DType::kInt32, Shape{1});
  graph.add_constant("constant", integers(DType::kInt32, Shape{1}, 0));
  graph.inputs = {in};
  graph.outputs = {late};
  graph.add_node(
      {.op = TosaOp::ABS, .name = "middle", .inputs = {in}, .outputs = {middle}, .attributes = {}, .source = {}});
  graph.add_node(
      {.op = TosaOp::ABS, .name = "late", .inputs = {middle}, .outputs = {late}, .attributes = {}, .source = {}});
  EXPECT_TRUE(unused.valid());
  expect_total(module_of(std::move(graph)));
}

TEST(Text, quantized_values_round_trip) {
  Graph graph;
  graph.name = "q";
  const ValueId x = graph.add_value("x", DType::kFp32, Shape{2, 3});
  graph[x].quantization = Quantization{
      .dtype = DType::kInt8, .scales = {0.1, 1e-9}, .zero_points = {0, -5}, .axis = 0, .qmin = -127, .qmax = 127};
  const ValueId w = graph.add_value("w", DType::kFp32, Shape{2});
  graph[w].quantization = Quantization{
      .dtype = DType::kInt16, .scales = {2.0}, .zero_points = {0}, .axis = -1, .qmin = -32768, .qmax = 32767};
  graph[w].constant = integers(DType::kInt16, Shape{2}, 3);
  graph.inputs = {x};
  expect_total(module_of(std::move(graph)));
}

TEST(Text, elided_constants_do_not_parse) {
  Graph graph;
  graph.name = "g";
  graph.add_constant("c", integers(DType::kInt32, Shape{100}, 0));
  const std::string text = print(module_of(std::move(graph)), {.elide_above_elements = 10});
  EXPECT_NE(text.find("elided(100 elements)"), std::string::npos) << text;
  EXPECT_FALSE(parse(text, "text").has_value());
}

TEST(Text, mistakes_are_named_with_line_and_column) {
  struct Bad {
    std::string text;
    std::string message;
  };
  for (const Bad& bad : {
           Bad{"graph @g {\n  input %x: i9[1]\n}", "text:2:13: unexpected text: expected a type, got 'i9'"},
           Bad{"graph @g {\n  output %y\n}", "text:3:1: the value y is not declared"},
           Bad{"graph @g {\n  %y: i8[2] = [1, 2, 3]\n}", "has 3 bytes"},
           Bad{"graph @g {\n  %y: i8[1] = [200]\n}", "200 does not fit i8"},
           Bad{"graph @g {\n  %y: i8[9223372036854775807,4]\n}", "overflows"},
           Bad{"graph @g {\n  input %x: i8[1]\n  %y: i8[1] = tosa.ADD(%x)\n}", "wrong number of inputs"},
           Bad{"graph @g {\n  input %x: i8[1]\n  %y: i8[1] = tosa.REVERSE(%x)\n}", "attribute axis is missing"},
           Bad{"graph @g {\n  %x: i8[1]\n  %y: i8[1] = tosa.ABS(%x)\n}", "reads a value before it is made"},
           Bad{"", "the text has no graph"},
           Bad{"graph @g {", "the end of the text"},
           Bad{"graph @g { input %x: i8[1] name \"\\q", "unexpected text"},
       }) {
    const auto module = parse(bad.text, "text");
    ASSERT_FALSE(module.has_value()) << bad.text;
    EXPECT_NE(to_string(module.error()).find(bad.message), std::string::npos) << to_string(module.error());
  }
}

}  // namespace
}  // namespace carina::ir
