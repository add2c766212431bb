#include "partition/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "facts/cpu_costs.h"
#include "ir/pass.h"
#include "lower/legality.h"

namespace carina::partition {
namespace {

using ir::Attributes;
using ir::Graph;
using ir::ValueId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Quantization int8(double scale) {
  return {.dtype = DType::kInt8, .scales = {scale}, .zero_points = {0}};
}

// Small graphs of quantized [1,4,32,32] images, which are worth a call of the NPU.
class Builder {
 public:
  ValueId input(const std::string& name = "x") {
    const ValueId id = value(name);
    graph.inputs.push_back(id);
    return id;
  }
  ValueId node(AtenOp op, const std::string& name, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const ValueId result = value(name);
    graph.add_node({.op = op,
                    .name = name,
                    .inputs = std::move(inputs),
                    .outputs = {result},
                    .attributes = std::move(attributes),
                    .source = "model.py:1"});
    return result;
  }
  ValueId add(const std::string& name, ValueId a, ValueId b) {
    return node(AtenOp::add_Tensor, name, {a, b}, {{"alpha", int64_t{1}}});
  }
  // Adds an operator that no NPU supports.
  ValueId foreign(const std::string& name, ValueId a) { return node(AtenOp::cumprod_default, name, {a}); }
  ValueId view(const std::string& name, ValueId a) {
    return node(AtenOp::view_default, name, {a},
                {{"size", std::vector<int64_t>{shape[0], shape[1], shape[2], shape[3]}}});
  }

  Graph graph;
  bool quantized = true;
  Shape shape{1, 4, 32, 32};

 private:
  ValueId value(const std::string& name) {
    ir::Value v{.name = name, .dtype = DType::kFp32, .shape = shape, .quantization = {}, .constant = {}};
    if (quantized) v.quantization = int8(0.5);
    return graph.add_value(std::move(v));
  }
};

std::vector<std::optional<ir::Rejection>> legal(const Graph& annotated) {
  return lower::rejections_of(annotated,
                              {.name = "ethos-u55", .limits = kU55Lowering.limits, .idioms = kU55Lowering.idioms});
}

Partitioned partitioned(const Graph& graph, const PartitionOptions& options = {}) {
  auto result = partition(graph, legal, options, Log{});
  EXPECT_TRUE(result.has_value());
  const auto verified = ir::verify_structure(result->program);
  EXPECT_TRUE(verified.has_value()) << (verified ? "" : to_string(verified.error()));
  for (const Graph& delegate : result->delegates) EXPECT_TRUE(ir::verify_structure(delegate).has_value());
  return *std::move(result);
}

std::vector<std::string> node_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Node& node : graph.nodes) names.push_back(node.name);
  return names;
}

TEST(Partition, quantized_graph_is_one_delegate_between_quantize_and_dequantize) {
  Builder b;
  const ValueId x = b.input();
  b.graph.outputs = {b.add("sum", x, x)};
  const Partitioned result = partitioned(b.graph);
  EXPECT_THAT(node_names(result.program), ElementsAre("x_quantized", "delegate_0", "sum_dequantized"));
  ASSERT_EQ(result.delegates.size(), 1U);
  EXPECT_EQ(result.delegates[0].inputs.size(), 1U);
  EXPECT_TRUE(result.decisions[0].runs_on_npu);
  const ir::Node& quantize = result.program.nodes[0];
  EXPECT_EQ(quantize.op, ir::Op(AtenOp::quantize_per_tensor_default));
  EXPECT_EQ(result.program[quantize.outputs[0]].dtype, DType::kInt8);
  EXPECT_DOUBLE_EQ(quantize.attributes.number("scale"), 0.5);
}

TEST(Partition, float_graph_stays_on_cpu_with_reason) {
  Builder b;
  b.quantized = false;
  const ValueId x = b.input();
  b.graph.outputs = {b.add("sum", x, x)};
  const Partitioned result = partitioned(b.graph);
  EXPECT_TRUE(result.delegates.empty());
  EXPECT_THAT(node_names(result.program), ElementsAre("sum"));
  EXPECT_THAT(result.decisions[0].reason, HasSubstr("not quantized"));
  EXPECT_THAT(result.decisions[0].hint, HasSubstr("--quantize"));
}

TEST(Partition, plain_int32_is_delegated) {
  Graph graph;
  const ValueId x = graph.add_value("x", DType::kInt32, {5}), sum = graph.add_value("sum", DType::kInt32, {5});
  graph.inputs = {x};
  graph.add_node({.op = AtenOp::add_Tensor,
                  .name = "sum",
                  .inputs = {x, x},
                  .outputs = {sum},
                  .attributes = {{"alpha", int64_t{1}}},
                  .source = {}});
  graph.outputs = {sum};
  const Partitioned result = partitioned(graph);
  EXPECT_THAT(node_names(result.program), ElementsAre("delegate_0"));
  EXPECT_EQ(result.program[result.program.outputs[0]].dtype, DType::kInt32);
}

TEST(Partition, cpu_operator_splits_delegates) {
  Builder b;
  const ValueId x = b.input();
  const ValueId first = b.add("first", x, x);
  const ValueId middle = b.foreign("middle", first);
  b.graph.outputs = {b.add("last", middle, middle)};
  const Partitioned result = partitioned(b.graph);
  EXPECT_EQ(result.delegates.size(), 2U);
  EXPECT_THAT(node_names(result.program), ElementsAre("x_quantized", "delegate_0", "first_dequantized", "middle",
                                                      "middle_quantized", "delegate_1", "last_dequantized"));
  EXPECT_FALSE(result.decisions[1].runs_on_npu);
  EXPECT_EQ(result.decisions[2].delegate, 1);
}

// x -> a -> cpu -> d, and a -> d. One delegate with a and d would depend on its own output.
TEST(Partition, delegates_form_no_cycle) {
  Builder b;
  const ValueId x = b.input();
  const ValueId a = b.add("a", x, x);
  const ValueId cpu = b.foreign("cpu", a);
  b.graph.outputs = {b.add("d", a, cpu)};
  const Partitioned result = partitioned(b.graph);
  EXPECT_EQ(result.delegates.size(), 2U);
}

// Two independent branches share a delegate with the node that joins them.
TEST(Partition, branches_are_merged) {
  Builder b;
  const ValueId x = b.input("x"), y = b.input("y");
  const ValueId left = b.add("left", x, x), right = b.add("right", y, y);
  b.graph.outputs = {b.add("both", left, right), b.add("alone", y, y)};
  const Partitioned result = partitioned(b.graph);
  ASSERT_EQ(result.delegates.size(), 1U);
  EXPECT_EQ(result.delegates[0].nodes.size(), 4U);
  EXPECT_EQ(result.delegates[0].outputs.size(), 2U);
}

// A group depends on a CPU node that comes after a later group: x -> p -> cpu1 -> q, and r -> cpu2 -> p's sibling.
TEST(Partition, interleaved_groups_are_ordered) {
  Builder b;
  const ValueId x = b.input();
  const ValueId p = b.add("p", x, x), r = b.add("r", x, x);
  const ValueId cpu1 = b.foreign("cpu1", p), cpu2 = b.foreign("cpu2", r);
  const ValueId q = b.add("q", cpu1, cpu1), s = b.add("s", cpu2, cpu2);
  b.graph.outputs = {q, s};
  const Partitioned result = partitioned(b.graph);
  EXPECT_EQ(result.delegates.size(), 2U);
}

TEST(Partition, data_movement_alone_is_no_delegate) {
  Builder b;
  b.graph.outputs = {b.view("v", b.input())};
  const Partitioned result = partitioned(b.graph);
  EXPECT_TRUE(result.delegates.empty());
  EXPECT_THAT(result.decisions[0].reason, HasSubstr("only moves data"));
  EXPECT_THAT(result.decisions[0].hint, HasSubstr("--delegate-all"));
  PartitionOptions options;
  options.delegates = options::DelegateMode::kAll;
  const Partitioned asked = partitioned(b.graph, options);
  EXPECT_EQ(asked.delegates.size(), 1U);
  EXPECT_TRUE(asked.decisions[0].runs_on_npu);
}

// Next to CPU nodes, an addition of a few elements is cheaper on the CPU than a call of the NPU. A large one is not.
TEST(Partition, npu_is_used_where_cheaper) {
  for (const bool large : {false, true}) {
    Builder b;
    b.shape = large ? Shape{1, 64, 32, 32} : Shape{1, 4, 2, 2};
    const ValueId x = b.input();
    const ValueId sum = b.add("sum", x, x);
    b.graph.outputs = {b.add("kept", sum, x)};
    PartitionOptions options;
    options.cpu_nodes = {"kept"};
    const Partitioned result = partitioned(b.graph, options);
    EXPECT_EQ(result.decisions[0].runs_on_npu, large);
    EXPECT_EQ(result.decisions[0].rule, large ? "" : "group.cost");
    EXPECT_GT(result.decisions[1].cpu_cycles, 0);
    EXPECT_EQ(result.decisions[0].cpu_cycles == 0, large);
    options.delegates = options::DelegateMode::kAll;
    EXPECT_TRUE(partitioned(b.graph, options).decisions[0].runs_on_npu);
  }
}

// A value without its own parameters costs one quantize node, however many nodes read it. If it is an output of the
// program, it costs one dequantize node.
TEST(Partition, final_quantize_and_dequantize_nodes_are_counted) {
  enum class Last { kModelsOwn, kBorder };
  const auto reason = [](size_t readers, Last last) {
    Builder b;
    b.shape = Shape{1, 4, 2, 2};
    const ValueId x = b.input();
    const ValueId moved = b.view("moved", x);
    b.graph[moved].quantization.reset();
    ValueId result = x;
    for (size_t i = 0; i < readers; ++i) result = b.add("sum_" + std::to_string(i), moved, result);
    if (last == Last::kBorder) {
      result = b.view("result", result);
      b.graph[result].quantization.reset();
    }
    b.graph.outputs = {result};
    PartitionOptions options;
    options.cpu_nodes = {"moved"};
    return partitioned(b.graph, options).decisions[1].reason;
  };
  const auto cost = [](AtenOp op, AtenFamily family) {
    return kCpuCostOfCall + 16 * cpu_cost_of(op, family).per_element;
  };
  const int64_t add = cost(AtenOp::add_Tensor, AtenFamily::kArithmetic);
  const int64_t view = cost(AtenOp::view_default, AtenFamily::kMovement);
  const int64_t quantize = cost(AtenOp::quantize_per_tensor_default, AtenFamily::kQuantization);
  const int64_t dequantize = cost(AtenOp::dequantize_per_tensor_default, AtenFamily::kQuantization);
  const int64_t one = kCpuCostOfDelegateCall + quantize - add;
  EXPECT_THAT(reason(1, Last::kModelsOwn), HasSubstr(" " + std::to_string(one) + " cycles"));
  EXPECT_THAT(reason(2, Last::kModelsOwn), HasSubstr(" " + std::to_string(one - add) + " cycles"));
  EXPECT_THAT(reason(1, Last::kBorder), HasSubstr(" " + std::to_string(one + dequantize - view) + " cycles"));
}

// --cpu-kernels cortex-m: nodes that make int8 have other kernels.
TEST(Partition, int8_kernels_have_their_own_costs) {
  Builder b;
  b.graph.outputs = {b.add("sum", b.input(), ValueId(0))};
  const int64_t elements = Builder{}.shape.elements();
  PartitionOptions options;
  options.delegates = options::DelegateMode::kNothing;
  const auto cycles = [&](CpuArithmetic arithmetic) {
    options.arithmetic = arithmetic;
    return partitioned(b.graph, options).decisions[0].cpu_cycles;
  };
  const auto wanted = [&](CpuCost cost) { return kCpuCostOfCall + elements * cost.per_element; };
  EXPECT_EQ(cycles(CpuArithmetic::kFloats), wanted(cpu_cost_of(AtenOp::add_Tensor, AtenFamily::kArithmetic)));
  EXPECT_EQ(cycles(CpuArithmetic::kInt8), wanted(int8_cpu_cost_of(AtenOp::add_Tensor, AtenFamily::kArithmetic)));
}

// The conversions of the program's inputs and outputs, without those between its parts.
TEST(Partition, boundary_cycles_are_those_of_inputs_and_outputs) {
  const int64_t elements = Builder{}.shape.elements();
  const auto conversion = [&](AtenOp op) {
    return kCpuCostOfCall + elements * cpu_cost_of(op, AtenFamily::kQuantization).per_element;
  };
  for (const bool in_parts : {false, true}) {
    Builder b;
    const ValueId sum = b.add("sum", b.input(), ValueId(0));
    b.graph.outputs = {b.add("last", in_parts ? b.foreign("middle", sum) : sum, ValueId(0))};
    EXPECT_EQ(boundary_cycles_of(partitioned(b.graph).program),
              conversion(AtenOp::quantize_per_tensor_default) + conversion(AtenOp::dequantize_per_tensor_default));
  }
}

TEST(Partition, filtered_nodes_stay_on_cpu) {
  Builder b;
  const ValueId x = b.input();
  b.graph.outputs = {b.add("last", b.add("first", x, x), x)};
  PartitionOptions options;
  options.delegates = options::DelegateMode::kAll;
  options.keep = [](const ir::Node& node) -> std::optional<ir::Rejection> {
    if (node.name != "first") return std::nullopt;
    return ir::Rejection{.rule = "user.module", .reason = "kept", .hint = {}};
  };
  const Partitioned result = partitioned(b.graph, options);
  EXPECT_EQ(result.decisions[0].rule, "user.module");
  EXPECT_TRUE(result.decisions[1].runs_on_npu);
}

TEST(Partition, chosen_nodes_stay_on_cpu) {
  Builder b;
  const ValueId x = b.input();
  b.graph.outputs = {b.add("last", b.add("first", x, x), x)};
  PartitionOptions options;
  options.cpu_nodes = {"first"};
  EXPECT_FALSE(partitioned(b.graph, options).decisions[0].runs_on_npu);
  options = {};
  options.cpu_ops = {"add"};
  EXPECT_TRUE(partitioned(b.graph, options).delegates.empty());
  options = {};
  options.cpu_nodes = {"nothing"};
  const auto rejected = partition(b.graph, legal, options, Log{});
  ASSERT_FALSE(rejected.has_value());
  EXPECT_EQ(rejected.error()[0].fault, Fault::kUsage);
  EXPECT_THAT(rejected.error()[0].hint, HasSubstr("first, last"));
}

// The convolution takes the parameters of the quantize node after its relu.
TEST(Partition, parameters_come_from_next_activation) {
  Builder b;
  const ValueId x = b.input();
  const Shape shape{1, 4, 8, 8};
  ir::Value weight{.name = "w",
                   .dtype = DType::kFp32,
                   .shape = {4, 4, 1, 1},
                   .quantization = int8(0.1),
                   .constant = Tensor::of<int8_t>(DType::kInt8, {4, 4, 1, 1}, std::vector<int8_t>(16, 1))};
  const ValueId w = b.graph.add_value(std::move(weight));
  const ValueId conv = b.node(AtenOp::conv2d_default, "conv", {x, w, ValueId()},
                              {{"stride", std::vector<int64_t>{1, 1}},
                               {"padding", std::vector<int64_t>{0, 0}},
                               {"dilation", std::vector<int64_t>{1, 1}},
                               {"groups", int64_t{1}}});
  b.graph[conv].quantization.reset();
  b.graph.outputs = {b.node(AtenOp::relu_default, "relu", {conv})};
  const Partitioned result = partitioned(b.graph);
  EXPECT_THAT(node_names(result.program), ElementsAre("x_quantized", "delegate_0", "relu_dequantized"));
  PartitionOptions options;
  options.cpu_nodes = {"conv"};
  options.delegates = options::DelegateMode::kAll;
  const Partitioned on_cpu = partitioned(b.graph, options);
  // On the CPU, weights are floats and the input is dequantized.
  EXPECT_THAT(node_names(on_cpu.program),
              ElementsAre("x_quantized", "x_dequantized", "conv", "conv_quantized", "delegate_0", "relu_dequantized"));
  EXPECT_FLOAT_EQ(on_cpu.program[*on_cpu.program.find_value("w")].constant->values<float>()[0], 0.1F);
}

// uint8 weights with a zero point: 254 stays 254 and does not become -2.
TEST(Partition, floats_of_unsigned_constants_go_to_cpu) {
  Builder b;
  const ValueId x = b.input();
  ir::Value constant{.name = "c",
                     .dtype = DType::kFp32,
                     .shape = {2},
                     .quantization = Quantization{.dtype = DType::kUInt8, .scales = {2.0}, .zero_points = {4}},
                     .constant = Tensor::of<uint8_t>(DType::kUInt8, {2}, std::vector<uint8_t>{254, 3})};
  const ValueId c = b.graph.add_value(std::move(constant));
  b.graph.outputs = {b.add("sum", x, c)};
  PartitionOptions options;
  options.delegates = options::DelegateMode::kNothing;
  const Partitioned result = partitioned(b.graph, options);
  EXPECT_THAT(result.program[*result.program.find_value("c")].constant->values<float>(), ElementsAre(500.0F, -2.0F));
}

// A later stage rejected a node: the reason is found by the node's id, not by its name.
TEST(Partition, nodes_rejected_later_stay_on_cpu) {
  Builder b;
  const ValueId x = b.input();
  b.graph.outputs = {b.add("same", b.add("same", x, x), x)};
  PartitionOptions options;
  options.rejected = {{.node = ir::NodeId(1), .rule = "npu", .reason = "too long", .hint = "cut it"}};
  const Partitioned result = partitioned(b.graph, options);
  EXPECT_TRUE(result.decisions[0].runs_on_npu);
  EXPECT_FALSE(result.decisions[1].runs_on_npu);
  EXPECT_EQ(result.decisions[1].reason, "too long");
  EXPECT_EQ(result.decisions[1].hint, "cut it");
  EXPECT_EQ(result.decisions[1].rule, "npu");
}

TEST(Partition, boundary_nodes_keep_their_source) {
  Builder b;
  const ValueId x = b.input();
  const ValueId first = b.add("first", x, x);
  b.graph.outputs = {b.add("last", b.foreign("middle", first), first)};
  const Partitioned result = partitioned(b.graph);
  ASSERT_EQ(result.delegates.size(), 2U);
  EXPECT_EQ(result.delegates[0].nodes[0].origin, ir::NodeId(0));
  EXPECT_EQ(result.delegates[1].nodes[0].origin, ir::NodeId(2));
  const auto middle = std::ranges::find(result.program.nodes, std::string("middle"), &ir::Node::name);
  ASSERT_NE(middle, result.program.nodes.end());
  EXPECT_EQ(middle->origin, ir::NodeId(1));
}

}  // namespace
}  // namespace carina::partition
