#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "../plan/networks.h"
#include "../sampled.h"
#include "check/check_network.h"
#include "plan/compile.h"

// Each optimization can be left out: the plan without it is right, and there is a network whose plan it changes.
namespace carina::check {
namespace {

using LeftOut = std::bitset<plan::kOptimizations>;

// The small networks of the planner's tests, and ones that need what these do not: cascades, transposed results,
// weights in slow memory, padding that is written, and unsigned bytes.
std::vector<plan::NamedNetwork> networks() {
  std::vector<plan::NamedNetwork> all = plan::small_networks();
  all.push_back({.name = "transposed result", .npu = "ethos-u85-256", .build = [] {
                   plan::GraphBuilder b;
                   const auto y = b.conv(b.input("x", DType::kInt8, {1, 12, 12, 8}), 24, 3, 1);
                   b.graph.outputs = {b.op(TosaOp::TRANSPOSE, {y}, DType::kInt8, {1, 24, 12, 12},
                                           {{"perms", std::vector<int64_t>{0, 3, 1, 2}}})};
                   return std::move(b.graph);
                 }});
  all.push_back({.name = "large images", .npu = "ethos-u55-128", .build = [] {
                   plan::GraphBuilder b;
                   auto x = b.input("x", DType::kInt8, {1, 160, 160, 16});
                   for (int i = 0; i < 3; ++i) x = b.conv(x, 16, 3, 1, 40, i);
                   b.graph.outputs = {x};
                   return std::move(b.graph);
                 }});
  all.push_back({.name = "four gates", .npu = "ethos-u55-128", .build = [] {
                   plan::GraphBuilder b;
                   const Shape shape{1, 20, 20, 16};
                   const auto x = b.input("x", DType::kInt8, {1, 20, 20, 8});
                   const auto wide = [&](ir::ValueId v) { return b.rescale(v, DType::kInt32, 1 << 30, 11); };
                   std::vector<ir::ValueId> gates;
                   for (int i = 0; i < 4; ++i) gates.push_back(b.conv(x, 16, 3, 1, 40, i));
                   ir::ValueId sum = gates[0];
                   for (int i = 1; i < 4; ++i)
                     sum = b.rescale(
                         b.op(TosaOp::ADD, {wide(sum), wide(gates[static_cast<size_t>(i)])}, DType::kInt32, shape),
                         DType::kInt8, 1 << 30, 50);
                   b.graph.outputs = {sum};
                   return std::move(b.graph);
                 }});
  all.push_back({.name = "sparse weights", .npu = "ethos-u85-256", .build = [] {
                   plan::GraphBuilder b;
                   b.graph.outputs = {b.conv(b.input("x", DType::kInt8, {1, 8, 8, 64}), 64, 3, 1)};
                   for (ir::Value& value : b.graph.values) {
                     if (!value.constant || value.shape.rank() != 4) continue;
                     std::vector<int8_t> weights(static_cast<size_t>(value.shape.elements()));
                     for (size_t i = 0; i < weights.size(); i += 2) weights[i] = static_cast<int8_t>(i * 7 % 251 - 125);
                     value.constant = Tensor::of<int8_t>(DType::kInt8, value.shape, weights);
                   }
                   return std::move(b.graph);
                 }});
  all.push_back({.name = "unsigned bytes", .npu = "ethos-u55-128", .build = [] {
                   plan::GraphBuilder b;
                   // The same numbers in the other type: unsigned bytes have the zero point 128, which is stored as
                   // -128.
                   const auto converted = [&](ir::ValueId x, bool to_unsigned) {
                     const Shape shape = b.graph[x].shape;
                     const int8_t from = to_unsigned ? 0 : -128, to = to_unsigned ? -128 : 0;
                     return b.op(TosaOp::RESCALE,
                                 {x, b.scalar<int32_t>(DType::kInt32, 1 << 30), b.scalar<int8_t>(DType::kInt8, 30),
                                  b.scalar<int8_t>(DType::kInt8, from), b.scalar<int8_t>(DType::kInt8, to)},
                                 DType::kInt8, shape,
                                 {{"scale32", true},
                                  {"rounding_mode", int64_t{1}},
                                  {"per_channel", false},
                                  {"input_unsigned", !to_unsigned},
                                  {"output_unsigned", to_unsigned}});
                   };
                   const auto x = converted(b.input("x", DType::kInt8, {1, 12, 12, 8}), false);
                   b.graph.outputs = {converted(b.conv(x, 16, 3, 1), true)};
                   return std::move(b.graph);
                 }});
  all.push_back({.name = "large pools", .npu = "ethos-u55-128", .build = [] {
                   plan::GraphBuilder b;
                   const auto x = b.input("x", DType::kInt8, {1, 20, 20, 16});
                   const auto largest = b.op(TosaOp::MAX_POOL2D, {x}, DType::kInt8, {1, 20, 20, 16},
                                             {{"kernel", std::vector<int64_t>{9, 7}},
                                              {"stride", std::vector<int64_t>{1, 1}},
                                              {"pad", std::vector<int64_t>{4, 4, 3, 3}},
                                              {"nan_mode", int64_t{1}}});
                   // Zero points for which the sums of rows are as large as they can be.
                   b.graph.outputs = {
                       b.op(TosaOp::AVG_POOL2D,
                            {largest, b.scalar<int8_t>(DType::kInt8, 127), b.scalar<int8_t>(DType::kInt8, -5)},
                            DType::kInt8, {1, 1, 1, 16},
                            {{"kernel", std::vector<int64_t>{20, 20}},
                             {"stride", std::vector<int64_t>{1, 1}},
                             {"pad", std::vector<int64_t>{0, 0, 0, 0}},
                             {"acc_type", DType::kInt32}})};
                   return std::move(b.graph);
                 }});
  all.push_back({.name = "ring of rows", .npu = "ethos-u55-128", .build = plan::ring_of_rows});
  all.push_back({.name = "one pixel", .npu = "ethos-u85-256", .build = [] {
                   plan::GraphBuilder b;
                   b.graph.outputs = {b.conv(b.input("x", DType::kInt8, {1, 1, 1, 576}), 1024, 1, 0)};
                   return std::move(b.graph);
                 }});
  all.push_back({.name = "small constants", .npu = "ethos-u65-256", .build = [] {
                   plan::GraphBuilder b;
                   const Shape shape{1, 4, 4, 5};
                   auto x = b.input("x", DType::kInt32, shape);
                   for (int i = 0; i < 12; ++i) {
                     const std::vector<int32_t> values{i, 2, 3, 5, 7};
                     x = b.op(TosaOp::ADD, {x, b.constant<int32_t>(DType::kInt32, {1, 1, 1, 5}, values)}, DType::kInt32,
                              shape);
                   }
                   b.graph.outputs = {x};
                   return std::move(b.graph);
                 }});
  all.push_back({.name = "several elementwise operations", .npu = "ethos-u85-256", .build = [] {
                   plan::GraphBuilder b;
                   const Shape shape{1, 2, 2, 8};
                   const auto x = b.input("x", DType::kInt32, shape);
                   auto y = x;
                   for (const auto op : {TosaOp::SUB, TosaOp::ADD, TosaOp::SUB})
                     y = b.op(op, {y, b.constant<int32_t>(DType::kInt32, {1, 1, 1, 1}, std::vector<int32_t>{7})},
                              DType::kInt32, shape);
                   b.graph.outputs = {b.op(TosaOp::SUB, {y, x}, DType::kInt32, shape)};
                   return std::move(b.graph);
                 }});
  all.push_back({.name = "many weights", .npu = "ethos-u65-512", .build = [] {
                   plan::GraphBuilder b;
                   auto x = b.input("x", DType::kInt8, {1, 12, 12, 64});
                   for (int i = 0; i < 4; ++i) x = b.conv(x, 160, 3, 1, 40, i);
                   b.graph.outputs = {x};
                   return std::move(b.graph);
                 }});
  all.push_back(
      {.name = "clamped and padded", .npu = "ethos-u55-128", .build = [] {
         plan::GraphBuilder b;
         const auto y = b.conv(b.input("x", DType::kInt8, {1, 8, 8, 8}), 16, 3, 1);
         const auto clamped = b.op(TosaOp::CLAMP, {y}, DType::kInt8, {1, 8, 8, 16},
                                   {{"min_val", int64_t{-20}}, {"max_val", int64_t{70}}, {"nan_mode", int64_t{1}}});
         const auto padding = b.graph.add_constant(
             "padding", Tensor::of<int64_t>(DType::kShape, {8}, std::vector<int64_t>{0, 0, 1, 1, 1, 1, 0, 0}));
         const auto padded =
             b.op(TosaOp::PAD, {clamped, padding, b.scalar<int8_t>(DType::kInt8, 0)}, DType::kInt8, {1, 10, 10, 16});
         b.graph.outputs = {b.op(TosaOp::AVG_POOL2D,
                                 {padded, b.scalar<int8_t>(DType::kInt8, 0), b.scalar<int8_t>(DType::kInt8, 0)},
                                 DType::kInt8, {1, 5, 5, 16},
                                 {{"kernel", std::vector<int64_t>{2, 2}},
                                  {"stride", std::vector<int64_t>{2, 2}},
                                  {"pad", std::vector<int64_t>{0, 0, 0, 0}},
                                  {"acc_type", DType::kInt32}})};
         return std::move(b.graph);
       }});
  return all;
}

npu::CompiledNetwork compiled(const plan::NamedNetwork& network, const ir::Graph& graph, plan::Optimize optimize,
                              const LeftOut& left_out) {
  plan::Options options;
  options.optimize = optimize;
  options.left_out = left_out;
  return plan::compile(graph, *plan::find_target(network.npu, "", ""), options, {}).value();
}

void expect_right(const plan::NamedNetwork& network, const ir::Graph& graph, const npu::CompiledNetwork& made) {
  const auto report = check_network({.tosa = graph, .network = made}, {});
  ASSERT_TRUE(report) << network.name << ": " << to_string(report.error());
  EXPECT_EQ(report->unchecked, "") << network.name;
}

constexpr std::array kGoals{plan::Optimize::kSpeed, plan::Optimize::kSize};

TEST(LeftOut, each_optimization_alone_gives_a_right_plan) {
  LeftOut changed;
  const std::vector<plan::NamedNetwork> all = networks();
  for (size_t n = 0; n < all.size(); n += tests::kOneOf) {
    const plan::NamedNetwork& network = all[n];
    const ir::Graph graph = network.build();
    for (const plan::Optimize goal : kGoals) {
      const npu::CompiledNetwork baseline = compiled(network, graph, goal, {});
      expect_right(network, graph, baseline);
      for (size_t i = 0; i < plan::kOptimizations; ++i) {
        SCOPED_TRACE(plan::name_of(static_cast<plan::Optimization>(i)));
        const npu::CompiledNetwork without = compiled(network, graph, goal, LeftOut().set(i));
        if (without.command_payload == baseline.command_payload && without.weights == baseline.weights) continue;
        changed.set(i);
        expect_right(network, graph, without);
      }
    }
  }
  for (size_t i = 0; i < plan::kOptimizations && tests::kOneOf == 1; ++i)
    EXPECT_TRUE(changed[i]) << "no network here uses " << plan::name_of(static_cast<plan::Optimization>(i));
}

TEST(LeftOut, all_optimizations_give_a_right_plan) {
  for (const plan::NamedNetwork& network : networks()) {
    const ir::Graph graph = network.build();
    for (const plan::Optimize goal : kGoals)
      expect_right(network, graph, compiled(network, graph, goal, LeftOut().set()));
  }
}

}  // namespace
}  // namespace carina::check
