#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "build_graph.h"

namespace carina::interpret {

namespace {

using testing::boolean, testing::Builder, testing::f32, testing::i32, testing::i8, testing::values_of;
using ::testing::ElementsAre, ::testing::HasSubstr;
using enum DType;

const ir::Attributes kNoAttributes{};

// Sixteen additions in a row. The arena holds few of the values at a time.
ir::Module chain(int length) {
  Builder b;
  ir::ValueId value = b.input("x", kInt32, {1024});
  for (int i = 0; i < length; ++i) value = b.add(TosaOp::ADD, {value, value}, kInt32, {1024});
  b.output(value);
  return std::move(b.module);
}

TEST(Arena, values_with_disjoint_live_ranges_share_memory) {
  auto interpreter = Interpreter::create(chain(16), {});
  ASSERT_TRUE(interpreter);
  EXPECT_LE(interpreter->planned_bytes(), 2 * 1024 * sizeof(int32_t));
  std::vector<int32_t> ones(1024, 1);
  const auto out = interpreter->run(std::vector{Tensor::of<int32_t>(kInt32, {1024}, ones)});
  ASSERT_TRUE(out);
  EXPECT_THAT(values_of<int32_t>(out->front()), ::testing::Each(65536));
}

TEST(Budget, graph_above_budget_is_an_error) {
  Options options;
  options.memory_budget_bytes = 4096;
  const auto rejected = Interpreter::create(chain(4), options);
  ASSERT_FALSE(rejected);
  EXPECT_THAT(to_string(rejected.error()), HasSubstr("memory budget"));
}

TEST(Budget, huge_shape_is_an_error_without_allocation) {
  Builder b;
  const ir::ValueId x = b.input("x", kInt8, {1});
  const Shape huge{int64_t{1} << 40};
  b.output(b.add(TosaOp::TILE, {x, b.constant(testing::shape_of({int64_t{1} << 40}))}, kInt8, huge));
  const auto rejected = Interpreter::create(b.module, {});
  ASSERT_FALSE(rejected);
  EXPECT_THAT(to_string(rejected.error()), HasSubstr("memory budget"));
}

TEST(Observer, values_are_observed_before_they_are_overwritten) {
  std::vector<int32_t> seen;
  Options options;
  options.observer = [&](const ir::Graph&, ir::ValueId, const Tensor& tensor) {
    seen.push_back(tensor.values<int32_t>()[0]);
  };
  auto interpreter = Interpreter::create(chain(4), options);
  ASSERT_TRUE(interpreter);
  std::vector<int32_t> ones(1024, 1);
  ASSERT_TRUE(interpreter->run(std::vector{Tensor::of<int32_t>(kInt32, {1024}, ones)}));
  EXPECT_THAT(seen, ElementsAre(1, 2, 4, 8, 16));
}

TEST(Inputs, wrong_inputs_are_errors) {
  auto interpreter = Interpreter::create(chain(1), {});
  ASSERT_TRUE(interpreter);
  EXPECT_FALSE(interpreter->run({}));
  const auto rejected = interpreter->run(std::vector{i32({2}, {1, 2})});
  ASSERT_FALSE(rejected);
  EXPECT_THAT(to_string(rejected.error()), HasSubstr("expected i32 [1024], got i32 [2]"));
}

TEST(Reshape, bytes_are_shared_with_input_and_outputs_may_repeat) {
  Builder b;
  const ir::ValueId x = b.input("x", kInt32, {2, 3});
  const ir::ValueId flat = b.add(TosaOp::RESHAPE, {x, b.constant(testing::shape_of({6}))}, kInt32, {6});
  const ir::ValueId sum = b.add(TosaOp::ADD, {flat, flat}, kInt32, {6});
  for (const ir::ValueId value : {flat, sum, sum, x}) b.output(value);
  auto interpreter = Interpreter::create(b.module, {});
  ASSERT_TRUE(interpreter);
  const auto out = interpreter->run(std::vector{i32({2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(out);
  EXPECT_THAT(values_of<int32_t>((*out)[0]), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(values_of<int32_t>((*out)[1]), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_TRUE(identical((*out)[1], (*out)[2]));
  EXPECT_TRUE((*out)[3].shape == (Shape{2, 3}));
}

// sum = 0; n: while (n > 0) { sum += n; n -= 1 }
ir::Module loop_module() {
  Builder b;
  const Shape scalar{1};
  const ir::ValueId n = b.input("n", kInt32, scalar);
  const ir::ValueId zero = b.constant(i32({1}, {0}));
  const ir::ValueId left = b.graph().add_value("left", kInt32, scalar);
  const ir::ValueId sum = b.graph().add_value("sum", kInt32, scalar);
  b.graph().add_node({.op = TosaOp::WHILE_LOOP,
                      .name = "loop",
                      .inputs = {n, zero},
                      .outputs = {left, sum},
                      .attributes = {{"cond_graph", std::string("more")}, {"body_graph", std::string("step")}},
                      .source = {}});
  b.output(sum);
  Builder more;
  more.graph().name = "more";
  const ir::ValueId more_n = more.input("n", kInt32, scalar);
  more.input("sum", kInt32, scalar);
  more.output(more.add(TosaOp::GREATER, {more_n, more.constant(i32({1}, {0}))}, kBool, scalar));
  Builder step;
  step.graph().name = "step";
  const ir::ValueId step_n = step.input("n", kInt32, scalar);
  const ir::ValueId step_sum = step.input("sum", kInt32, scalar);
  step.output(step.add(TosaOp::SUB, {step_n, step.constant(i32({1}, {1}))}, kInt32, scalar));
  step.output(step.add(TosaOp::ADD, {step_sum, step_n}, kInt32, scalar));
  b.module.graphs.push_back(std::move(more.graph()));
  b.module.graphs.push_back(std::move(step.graph()));
  return std::move(b.module);
}

TEST(WhileLoop, runs_until_condition_fails) {
  auto interpreter = Interpreter::create(loop_module(), {});
  ASSERT_TRUE(interpreter) << to_string(interpreter.error());
  for (const int32_t n : {0, 1, 10, 101}) {
    const auto out = interpreter->run(std::vector{i32({1}, {n})});
    ASSERT_TRUE(out) << to_string(out.error());
    EXPECT_THAT(values_of<int32_t>(out->front()), ElementsAre(n * (n + 1) / 2));
  }
}

TEST(WhileLoop, iteration_limit_stops_loop) {
  Options options;
  options.loop_limit = 5;
  auto interpreter = Interpreter::create(loop_module(), options);
  ASSERT_TRUE(interpreter);
  const auto out = interpreter->run(std::vector{i32({1}, {6})});
  ASSERT_FALSE(out);
  EXPECT_THAT(to_string(out.error()), HasSubstr("not ended after 5"));
}

TEST(CondIf, recursive_graph_is_an_error) {
  Builder b;
  const ir::ValueId condition = b.input("c", kBool, {1});
  b.output(b.add(TosaOp::COND_IF, {condition, condition}, kBool, {1},
                 {{"then_graph", std::string("main")}, {"else_graph", std::string("main")}}));
  const auto rejected = Interpreter::create(b.module, {});
  ASSERT_FALSE(rejected);
  EXPECT_THAT(to_string(rejected.error()), HasSubstr("runs itself"));
}

TEST(Variable, value_persists_between_runs) {
  Builder b;
  const ir::ValueId x = b.input("x", kInt32, {1});
  const ir::ValueId first = b.constant(i32({1}, {100}));
  const ir::Attributes named{{"name", std::string("state")}};
  b.graph().add_node(
      {.op = TosaOp::VARIABLE,
       .name = "state",
       .inputs = {first},
       .outputs = {},
       .attributes = {{"name", std::string("state")}, {"var_shape", std::vector<int64_t>{1}}, {"type", kInt32}},
       .source = {}});
  const ir::ValueId old = b.add(TosaOp::VARIABLE_READ, {}, kInt32, {1}, named);
  const ir::ValueId sum = b.add(TosaOp::ADD, {old, x}, kInt32, {1});
  b.graph().add_node({.op = TosaOp::VARIABLE_WRITE,
                      .name = "write",
                      .inputs = {sum},
                      .outputs = {},
                      .attributes = named,
                      .source = {}});
  b.output(old);
  auto interpreter = Interpreter::create(b.module, {});
  ASSERT_TRUE(interpreter) << to_string(interpreter.error());
  const auto next = [&] { return interpreter->run(std::vector{i32({1}, {5})}).value().front().values<int32_t>()[0]; };
  EXPECT_EQ(next(), 100);
  EXPECT_EQ(next(), 105);
  interpreter->reset_variables();
  EXPECT_EQ(next(), 100);
}

// The slice is a view of the input, which only the variable reads.
TEST(Variable, slice_is_written) {
  Builder b;
  const ir::ValueId x = b.input("x", kInt32, {2});
  const ir::ValueId first = b.constant(i32({1}, {100}));
  const ir::Attributes named{{"name", std::string("state")}};
  b.graph().add_node(
      {.op = TosaOp::VARIABLE,
       .name = "state",
       .inputs = {first},
       .outputs = {},
       .attributes = {{"name", std::string("state")}, {"var_shape", std::vector<int64_t>{1}}, {"type", kInt32}},
       .source = {}});
  b.output(b.add(TosaOp::VARIABLE_READ, {}, kInt32, {1}, named));
  const ir::ValueId slice =
      b.add(TosaOp::SLICE, {x, b.constant(testing::shape_of({1})), b.constant(testing::shape_of({1}))}, kInt32, {1});
  b.graph().add_node({.op = TosaOp::VARIABLE_WRITE,
                      .name = "write",
                      .inputs = {slice},
                      .outputs = {},
                      .attributes = named,
                      .source = {}});
  auto interpreter = Interpreter::create(b.module, {});
  ASSERT_TRUE(interpreter) << to_string(interpreter.error());
  const auto next = [&] {
    return interpreter->run(std::vector{i32({2}, {5, 7})}).value().front().values<int32_t>()[0];
  };
  EXPECT_EQ(next(), 100);
  EXPECT_EQ(next(), 7);
}

TEST(Profile, each_node_is_counted) {
  Options options;
  options.profiling = Profiling::kOn;
  auto interpreter = Interpreter::create(chain(3), options);
  ASSERT_TRUE(interpreter);
  std::vector<int32_t> ones(1024, 1);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(interpreter->run(std::vector{Tensor::of<int32_t>(kInt32, {1024}, ones)}));
  const auto times = interpreter->profile();
  ASSERT_EQ(times.size(), 3U);
  EXPECT_EQ(times[0].calls, 2);
  EXPECT_EQ(times[0].op, "tosa.ADD");
}

}  // namespace

}  // namespace carina::interpret
