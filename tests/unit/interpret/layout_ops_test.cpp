// A chain of nodes that only move data is one copy with the same result.

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "build_graph.h"

namespace carina::interpret {

namespace {

using testing::Builder;
using enum DType;

// Each element is its own index.
template <typename T>
Tensor numbered(DType dtype, const Shape& shape) {
  std::vector<T> values(static_cast<size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), T{0});
  return Tensor::of<T>(dtype, shape, values);
}

ir::ValueId transpose(Builder& b, ir::ValueId x, const std::vector<int64_t>& perms) {
  const ir::Value from = b.graph()[x];
  Shape shape = from.shape;
  for (size_t axis = 0; axis < perms.size(); ++axis) shape[axis] = from.shape[static_cast<size_t>(perms[axis])];
  return b.add(TosaOp::TRANSPOSE, {x}, from.dtype, shape, {{"perms", perms}});
}
ir::ValueId reshape(Builder& b, ir::ValueId x, const std::vector<int64_t>& dims) {
  const Shape rank{static_cast<int64_t>(dims.size())};
  return b.add(TosaOp::RESHAPE, {x, b.constant(Tensor::of<int64_t>(kShape, rank, dims))}, b.graph()[x].dtype,
               Shape(dims));
}
ir::ValueId slice(Builder& b, ir::ValueId x, const std::vector<int64_t>& start, const std::vector<int64_t>& size) {
  const Shape rank{static_cast<int64_t>(size.size())};
  return b.add(
      TosaOp::SLICE,
      {x, b.constant(Tensor::of<int64_t>(kShape, rank, start)), b.constant(Tensor::of<int64_t>(kShape, rank, size))},
      b.graph()[x].dtype, Shape(size));
}

std::vector<Tensor> run(const ir::Module& module, const Tensor& input, const Options& options) {
  auto interpreter = Interpreter::create(module, options);
  EXPECT_TRUE(interpreter) << to_string(interpreter.error());
  auto outputs = interpreter->run(std::vector{input});
  EXPECT_TRUE(outputs);
  return *std::move(outputs);
}

// With an observer, every node runs on its own, without fusion.
void expect_same_alone(const ir::Module& module, const Tensor& input) {
  Options alone;
  alone.observer = [](const ir::Graph&, ir::ValueId, const Tensor&) {};
  Options threads;
  threads.threads = 3;
  const std::vector<Tensor> wanted = run(module, input, alone);
  for (const Options& options : {Options{}, threads}) {
    const std::vector<Tensor> got = run(module, input, options);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(identical(got[i], wanted[i])) << "output " << i;
  }
}

size_t kernels_of(const ir::Module& module, const Tensor& input) {
  Options options;
  options.profiling = Profiling::kOn;
  auto interpreter = Interpreter::create(module, options);
  EXPECT_TRUE(interpreter);
  EXPECT_TRUE(interpreter->run(std::vector{input}));
  return interpreter->profile().size();
}

// Splits rows into query, key and value, and each into heads; the key is transposed.
ir::Module attention(DType dtype, int64_t tokens, int64_t heads, int64_t depth) {
  Builder b;
  const ir::ValueId x = b.input("x", dtype, {1, tokens, 1, 3 * heads * depth});
  const ir::ValueId parts = transpose(b, reshape(b, x, {tokens, 3, heads * depth}), {1, 0, 2});
  for (int64_t part = 0; part < 3; ++part) {
    const ir::ValueId one = slice(b, parts, {part, 0, 0}, {1, tokens, heads * depth});
    const ir::ValueId head = transpose(b, reshape(b, one, {tokens, heads, depth}), {1, 0, 2});
    b.output(part != 1 ? head : transpose(b, reshape(b, head, {1, heads, tokens, depth}), {0, 1, 3, 2}));
  }
  return std::move(b.module);
}

TEST(LayoutOps, attention_heads_take_one_copy_each) {
  for (const int64_t tokens : {1, 7, 50}) {
    const ir::Module floats = attention(kFp32, tokens, 3, 20);
    const Tensor x = numbered<float>(kFp32, {1, tokens, 1, 180});
    expect_same_alone(floats, x);
    EXPECT_EQ(kernels_of(floats, x), 3U);
    expect_same_alone(attention(kInt8, tokens, 3, 20), numbered<int8_t>(kInt8, {1, tokens, 1, 180}));
    expect_same_alone(attention(kInt16, tokens, 3, 20), numbered<int16_t>(kInt16, {1, tokens, 1, 180}));
  }
}

TEST(LayoutOps, observed_value_is_computed) {
  Builder b;
  const Shape shape{20, 30};
  const ir::ValueId first = transpose(b, b.input("x", kFp32, shape), {1, 0});
  b.output(transpose(b, slice(b, first, {3, 0}, {10, 20}), {1, 0}));
  b.output(first);
  expect_same_alone(b.module, numbered<float>(kFp32, shape));
}

// No strides merge the middle axes, so the reshape copies.
TEST(LayoutOps, reshape_without_strides_is_a_copy) {
  Builder b;
  const Shape shape{4, 5, 6};
  const ir::ValueId mixed = reshape(b, transpose(b, b.input("x", kInt32, shape), {1, 0, 2}), {20, 6});
  const ir::ValueId merged = reshape(b, transpose(b, mixed, {1, 0}), {3, 2, 1, 20});
  b.output(transpose(b, merged, {1, 3, 2, 0}));
  expect_same_alone(b.module, numbered<int32_t>(kInt32, shape));
}

// The convolution's kernel also computes the clamp. The reshape of their result needs no copy.
TEST(LayoutOps, reshape_of_fused_node_copies_nothing) {
  Builder b;
  const ir::ValueId x = b.input("x", kFp32, {1, 2, 2, 4});
  const ir::ValueId sums =
      b.add(TosaOp::CONV2D,
            {x, b.constant(numbered<float>(kFp32, {3, 1, 1, 4})), b.constant(numbered<float>(kFp32, {3})),
             b.constant(testing::zero_point(kFp32)), b.constant(testing::zero_point(kFp32))},
            kFp32, {1, 2, 2, 3},
            {{"pad", std::vector<int64_t>{0, 0, 0, 0}},
             {"stride", std::vector<int64_t>{1, 1}},
             {"dilation", std::vector<int64_t>{1, 1}},
             {"local_bound", false},
             {"acc_type", kFp32}});
  const ir::ValueId clamped =
      b.add(TosaOp::CLAMP, {sums}, kFp32, {1, 2, 2, 3}, {{"min_val", 0.0}, {"max_val", 9.0}, {"nan_mode", int64_t{1}}});
  b.output(reshape(b, clamped, {4, 3}));
  const Tensor input = numbered<float>(kFp32, {1, 2, 2, 4});
  expect_same_alone(b.module, input);
  auto interpreter = Interpreter::create(b.module, {.profiling = Profiling::kOn});
  ASSERT_TRUE(interpreter);
  ASSERT_TRUE(interpreter->run(std::vector{input}));
  const std::vector<NodeTime> times = interpreter->profile();
  ASSERT_EQ(times.size(), 1);
  EXPECT_EQ(times.front().op, "tosa.CONV2D");
  EXPECT_EQ(times.front().with, std::vector<std::string_view>{"tosa.CLAMP"});
}

TEST(LayoutOps, other_readers_see_computed_value) {
  Builder b;
  const Shape shape{6, 40};
  const ir::ValueId turned = transpose(b, b.input("x", kFp32, shape), {1, 0});
  const ir::ValueId flat = reshape(b, turned, {1, 240});
  b.output(b.add(TosaOp::EXP, {flat}, kFp32, {1, 240}));
  b.output(slice(b, flat, {0, 7}, {1, 100}));
  expect_same_alone(b.module, numbered<float>(kFp32, shape));
}

TEST(LayoutOps, random_sequences_match_reference) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    Builder b;
    const Shape shape{2, 3, 4, 20};
    ir::ValueId x = b.input("x", kFp32, shape);
    for (int step = 0; step < 6; ++step) {
      const Shape now = b.graph()[x].shape;
      std::vector<int64_t> dims(now.dims().begin(), now.dims().end()), start(dims.size(), 0), perms(dims.size());
      std::iota(perms.begin(), perms.end(), 0);
      const size_t axis = random() % dims.size();
      switch (random() % 3) {
        case 0:
          std::ranges::shuffle(perms, random);
          x = transpose(b, x, perms);
          break;
        case 1:
          start[axis] = dims[axis] / 3;
          dims[axis] -= start[axis];
          x = slice(b, x, start, dims);
          break;
        default:
          if (dims[axis] % 2 == 0) {
            dims[axis] /= 2;
            dims.insert(dims.begin() + static_cast<int64_t>(axis), 2);
          } else if (axis > 0 && dims.size() > 2) {
            dims[axis - 1] *= dims[axis];
            dims.erase(dims.begin() + static_cast<int64_t>(axis));
          }
          if (dims.size() <= 6) x = reshape(b, x, dims);
      }
      if (random() % 8 == 0) b.output(x);
    }
    b.output(x);
    expect_same_alone(b.module, numbered<float>(kFp32, shape));
  }
}

// Whole tiles of the vector kernels, and sizes that leave a remainder.
TEST(LayoutOps, transposed_matrices_are_correct) {
  for (const Shape& shape : {Shape{16, 16}, Shape{17, 33}, Shape{3, 100}, Shape{100, 3}, Shape{64, 197}}) {
    Builder b;
    b.output(transpose(b, b.input("x", kFp32, shape), {1, 0}));
    const std::vector<Tensor> out = run(b.module, numbered<float>(kFp32, shape), {});
    for (int64_t i = 0; i < shape.elements(); ++i) {
      const auto at = static_cast<size_t>(i % shape[1] * shape[0] + i / shape[1]);
      ASSERT_EQ(out.front().values<float>()[at], static_cast<float>(i)) << to_string(shape);
    }
  }
}

}  // namespace

}  // namespace carina::interpret
