// A run of a planned graph allocates memory for its outputs only. The number of allocations does not depend on the
// operators.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "build_graph.h"

namespace {

std::atomic<int64_t> g_allocations{0};

void* counted(size_t size, size_t alignment) {
  ++g_allocations;
  void* const memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment + alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

// Not inlined: otherwise the compiler sees free() of memory from new, and warns.
[[gnu::noinline]] void* operator new(size_t size) {
  return counted(size, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return counted(size, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t /*size*/) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}

namespace carina::interpret {

namespace {

using testing::Builder, testing::i32, testing::shape_of, testing::tensor, testing::zero_point;
using enum DType;
using Id = ir::ValueId;

Tensor zeros(DType dtype, const Shape& shape) {
  MutableTensor tensor(dtype, shape);
  std::ranges::fill(tensor.bytes(), std::byte{0});
  return std::move(tensor).freeze();
}

struct Chain : Builder {
  Shape shape_of_value(Id id) { return graph()[id].shape; }
  Id zero(DType dtype, const Shape& shape) { return constant(zeros(dtype, shape)); }

  Id cast(Id x, DType to) { return add(TosaOp::CAST, {x}, to, shape_of_value(x)); }

  static ir::Attributes window(DType acc_type) {
    return {{"pad", std::vector<int64_t>{1, 1, 1, 1}},
            {"stride", std::vector<int64_t>{1, 1}},
            {"dilation", std::vector<int64_t>{1, 1}},
            {"local_bound", false},
            {"acc_type", acc_type}};
  }

  Id rescale(Id x, DType to) {
    const DType from = graph()[x].dtype;
    return add(TosaOp::RESCALE,
               {x, constant(i32({1}, {1 << 30})), constant(tensor<int8_t>(kInt8, {1}, {40})),
                constant(zero_point(from)), constant(zero_point(to))},
               to, shape_of_value(x),
               {{"scale32", true},
                {"rounding_mode", int64_t{1}},
                {"per_channel", false},
                {"input_unsigned", false},
                {"output_unsigned", false}});
  }

  // int8 operators from [1,8,8,16] to the same shape.
  Id integers(Id x) {
    const Shape shape = shape_of_value(x);
    Id sums =
        add(TosaOp::CONV2D, {x, zero(kInt8, {16, 3, 3, 16}), zero(kInt32, {16}), zero(kInt8, {1}), zero(kInt8, {1})},
            kInt32, shape, window(kInt32));
    x = rescale(sums, kInt8);
    sums = add(TosaOp::DEPTHWISE_CONV2D,
               {x, zero(kInt8, {3, 3, 16, 1}), zero(kInt32, {16}), zero(kInt8, {1}), zero(kInt8, {1})}, kInt32, shape,
               window(kInt32));
    sums = add(TosaOp::ADD, {sums, sums}, kInt32, shape);
    sums = add(TosaOp::SUB, {sums, zero(kInt32, {1, 1, 1, 16})}, kInt32, shape);
    x = add(TosaOp::TABLE, {rescale(sums, kInt8), zero(kInt8, {256})}, kInt8, shape);
    x = add(TosaOp::MAX_POOL2D, {x}, kInt8, shape,
            {{"kernel", std::vector<int64_t>{3, 3}},
             {"stride", std::vector<int64_t>{1, 1}},
             {"pad", std::vector<int64_t>{1, 1, 1, 1}},
             {"nan_mode", int64_t{1}}});
    x = add(TosaOp::AVG_POOL2D, {x, zero(kInt8, {1}), zero(kInt8, {1})}, kInt8, shape,
            {{"kernel", std::vector<int64_t>{3, 3}},
             {"stride", std::vector<int64_t>{1, 1}},
             {"pad", std::vector<int64_t>{1, 1, 1, 1}},
             {"acc_type", kInt32}});
    return moves(x);
  }

  Id moves(Id x) {
    const DType dtype = graph()[x].dtype;
    x = add(TosaOp::TRANSPOSE, {x}, dtype, {1, 16, 8, 8}, {{"perms", std::vector<int64_t>{0, 3, 1, 2}}});
    x = add(TosaOp::PAD, {x, constant(shape_of({0, 0, 1, 1, 0, 0, 0, 0})), constant(zero_point(dtype))}, dtype,
            {1, 18, 8, 8});
    x = add(TosaOp::SLICE, {x, constant(shape_of({0, 2, 0, 0})), constant(shape_of({1, 8, 8, 8}))}, dtype,
            {1, 8, 8, 8});
    x = add(TosaOp::CONCAT, {x, x}, dtype, {1, 16, 8, 8}, {{"axis", int64_t{1}}});
    x = add(TosaOp::REVERSE, {x}, dtype, {1, 16, 8, 8}, {{"axis", int64_t{2}}});
    x = add(TosaOp::TILE, {x, constant(shape_of({1, 1, 1, 2}))}, dtype, {1, 16, 8, 16});
    x = add(TosaOp::RESHAPE, {x, constant(shape_of({1, 128, 16}))}, dtype, {1, 128, 16});
    x = add(TosaOp::GATHER, {x, zero(kInt32, {1, 64})}, dtype, {1, 64, 16});
    return add(TosaOp::RESHAPE, {x, constant(shape_of({1, 8, 8, 16}))}, dtype, {1, 8, 8, 16});
  }

  // fp32 operators from [1,8,8,16] to the same shape.
  Id floats(Id x) {
    const Shape shape = shape_of_value(x);
    x = add(TosaOp::CONV2D, {x, zero(kFp32, {16, 3, 3, 16}), zero(kFp32, {16}), zero(kFp32, {1}), zero(kFp32, {1})},
            kFp32, shape, window(kFp32));
    x = add(TosaOp::DEPTHWISE_CONV2D,
            {x, zero(kFp32, {3, 3, 16, 1}), zero(kFp32, {16}), zero(kFp32, {1}), zero(kFp32, {1})}, kFp32, shape,
            window(kFp32));
    x = add(TosaOp::TRANSPOSE_CONV2D,
            {x, zero(kFp32, {16, 1, 1, 16}), zero(kFp32, {1}), zero(kFp32, {1}), zero(kFp32, {1})}, kFp32, shape,
            {{"out_pad", std::vector<int64_t>{0, 0, 0, 0}},
             {"stride", std::vector<int64_t>{1, 1}},
             {"local_bound", false},
             {"acc_type", kFp32}});
    x = add(TosaOp::EXP, {x}, kFp32, shape);
    x = add(TosaOp::MUL, {x, x, zero(kInt8, {1})}, kFp32, shape);
    const Id sum = add(TosaOp::REDUCE_SUM, {x}, kFp32, {1, 8, 8, 1}, {{"axis", int64_t{3}}});
    x = add(TosaOp::SUB, {x, sum}, kFp32, shape);
    x = add(TosaOp::RESHAPE, {x, constant(shape_of({1, 64, 16}))}, kFp32, {1, 64, 16});
    x = add(TosaOp::MATMUL, {x, zero(kFp32, {1, 16, 16}), zero(kFp32, {1}), zero(kFp32, {1})}, kFp32, {1, 64, 16});
    x = add(TosaOp::FFT2D, {x, x}, kFp32, {1, 64, 16}, {{"inverse", false}, {"local_bound", false}});
    return x;
  }
};

// FFT2D and control flow have several outputs, but Builder::add makes one.
void add_second_output(Builder& b, DType dtype, const Shape& shape) {
  b.graph().nodes.back().outputs.push_back(b.graph().add_value("second", dtype, shape));
}

// A loop for n = 3, 2, 1, 0 whose body is a COND_IF.
void add_loop(Chain& b, Id n) {
  b.add(TosaOp::WHILE_LOOP, {n}, kInt32, {1},
        {{"cond_graph", std::string("more")}, {"body_graph", std::string("step")}});
  Builder more;
  more.graph().name = "more";
  const Id left = more.input("n", kInt32, {1});
  more.output(more.add(TosaOp::GREATER, {left, more.constant(i32({1}, {0}))}, kBool, {1}));
  Builder step;
  step.graph().name = "step";
  const Id before = step.input("n", kInt32, {1});
  const Id always = step.add(TosaOp::EQUAL, {before, before}, kBool, {1});
  step.output(step.add(TosaOp::COND_IF, {always, before}, kInt32, {1},
                       {{"then_graph", std::string("less")}, {"else_graph", std::string("less")}}));
  Builder less;
  less.graph().name = "less";
  less.output(less.add(TosaOp::SUB, {less.input("n", kInt32, {1}), less.constant(i32({1}, {1}))}, kInt32, {1}));
  for (Builder* inner : {&more, &step, &less}) b.module.graphs.push_back(std::move(inner->graph()));
}

ir::Module many_operators() {
  Chain b;
  Id x = b.input("x", kInt8, {1, 8, 8, 16});
  const Id n = b.input("n", kInt32, {1});
  for (int round = 0; round < 3; ++round) {
    x = b.cast(b.integers(x), kFp32);
    x = b.floats(x);
    add_second_output(b, kFp32, {1, 64, 16});
    x = b.add(TosaOp::RESHAPE, {x, b.constant(shape_of({1, 8, 8, 16}))}, kFp32, {1, 8, 8, 16});
    x = b.cast(x, kInt8);
  }
  add_loop(b, n);
  b.output(b.add(TosaOp::ARGMAX, {x}, kInt32, {1, 8, 8}, {{"axis", int64_t{3}}, {"nan_mode", int64_t{1}}}));
  return std::move(b.module);
}

ir::Module one_operator() {
  Chain b;
  const Id x = b.input("x", kInt8, {1, 8, 8, 16});
  b.input("n", kInt32, {1});
  b.output(b.add(TosaOp::ARGMAX, {x}, kInt32, {1, 8, 8}, {{"axis", int64_t{3}}, {"nan_mode", int64_t{1}}}));
  return std::move(b.module);
}

// The number of allocations in the second run.
int64_t allocations_of(const ir::Module& module, int threads) {
  Options options;
  options.threads = threads;
  auto interpreter = Interpreter::create(module, options);
  EXPECT_TRUE(interpreter) << to_string(interpreter.error());
  if (!interpreter) return -1;
  const std::vector<Tensor> inputs{zeros(kInt8, {1, 8, 8, 16}), i32({1}, {3})};
  const auto first = interpreter->run(inputs);
  EXPECT_TRUE(first) << to_string(first.error());
  const int64_t before = g_allocations;
  const auto second = interpreter->run(inputs);
  const int64_t after = g_allocations;
  EXPECT_TRUE(second);
  return after - before;
}

TEST(Allocations, other_operators_same_count) {
  const int64_t min = allocations_of(one_operator(), 1);
  EXPECT_GT(min, 0);
  EXPECT_LT(min, 10);
  for (const int threads : {1, 2, 3}) EXPECT_EQ(allocations_of(many_operators(), threads), min) << threads;
}

}  // namespace

}  // namespace carina::interpret
