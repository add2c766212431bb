// The vector kernels of fp32 element operators, alone and in chains, give the bits of plain loops.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "build_graph.h"
#include "kernels/micro/float_math.h"

namespace carina::interpret {

namespace {

using testing::Builder, testing::f32;
using enum DType;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor random_floats(const Shape& shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> any;
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (float& value : values) value = any(random);
  return Tensor::of<float>(kFp32, shape, values);
}

std::vector<float> floats_of(const ir::Module& module, const std::vector<Tensor>& inputs, const Options& options = {}) {
  auto interpreter = Interpreter::create(module, options);
  EXPECT_TRUE(interpreter) << to_string(interpreter.error());
  auto outputs = interpreter->run(inputs);
  EXPECT_TRUE(outputs);
  return testing::values_of<float>(outputs->front());
}

// The expected element at index `at`, with the indices of its elements in the column [1,1,C] and in the row [A,B,1].
using Plain = std::function<float(size_t at, size_t column, size_t row)>;
void expect_plain(const std::vector<float>& got, const Shape& shape, const Plain& plain) {
  ASSERT_EQ(got.size(), static_cast<size_t>(shape.elements()));
  const auto columns = static_cast<size_t>(shape[2]);
  for (size_t at = 0; at < got.size(); ++at) {
    ASSERT_EQ(std::bit_cast<uint32_t>(got[at]), std::bit_cast<uint32_t>(plain(at, at % columns, at / columns)))
        << to_string(shape) << " at " << at;
  }
}

ir::ValueId mul(Builder& b, ir::ValueId x, ir::ValueId y, const Shape& shape) {
  return b.add(TosaOp::MUL, {x, y, b.constant(testing::zero_point(kInt8))}, kFp32, shape);
}

const Shape kShapes[] = {{1, 1, 1}, {2, 3, 5}, {3, 40, 17}, {1, 1, 5000}, {6, 197, 197}, {2, 3, 1500}, {1500, 1, 3}};

// The last nodes of a layer norm: (x - row) * column + one.
TEST(ElementsF32, rows_and_columns_broadcast) {
  for (const Shape& shape : kShapes) {
    const Tensor x = random_floats(shape, 1), column = random_floats({1, 1, shape[2]}, 2);
    const Tensor row = random_floats({shape[0], shape[1], 1}, 3);
    Builder b;
    const ir::ValueId in = b.input("x", kFp32, shape), rows = b.input("rows", kFp32, row.shape);
    const ir::ValueId centered = b.add(TosaOp::SUB, {in, rows}, kFp32, shape);
    const ir::ValueId scaled = mul(b, b.constant(column), centered, shape);
    b.output(b.add(TosaOp::ADD, {scaled, b.constant(f32({1, 1, 1}, {0.75F}))}, kFp32, shape));
    const Plain plain = [&](size_t at, size_t c, size_t r) {
      return column.values<float>()[c] * (x.values<float>()[at] - row.values<float>()[r]) + 0.75F;
    };
    for (const int threads : {1, 3}) {
      Options options;
      options.threads = threads;
      expect_plain(floats_of(b.module, {x, row}, options), shape, plain);
      options.observer = [](const ir::Graph&, ir::ValueId, const Tensor&) {};
      expect_plain(floats_of(b.module, {x, row}, options), shape, plain);
    }
  }
}

// x / 2 * (1 + erf(x)): both ends of the chain read x.
TEST(ElementsF32, functions_fuse_into_chains) {
  for (const Shape& shape : kShapes) {
    const Tensor x = random_floats(shape, 4);
    Builder b;
    const ir::ValueId in = b.input("x", kFp32, shape);
    const ir::ValueId one = b.constant(f32({1, 1, 1}, {1.0F})), half = b.constant(f32({1, 1, 1}, {0.5F}));
    const ir::ValueId erf = b.add(TosaOp::ERF, {in}, kFp32, shape);
    const ir::ValueId sum = b.add(TosaOp::ADD, {one, erf}, kFp32, shape);
    b.output(mul(b, mul(b, in, half, shape), sum, shape));
    expect_plain(floats_of(b.module, {x}), shape, [&](size_t at, size_t, size_t) {
      const float value = x.values<float>()[at];
      return value * 0.5F * (1.0F + kernels::exact_erf(value));
    });
  }
}

// A chain that is longer than one kernel supports. One value on the way is an output, and one is used twice.
TEST(ElementsF32, chain_ends_at_observed_value) {
  const Shape shape{2, 30, 70};
  const Tensor x = random_floats(shape, 5);
  for (const int seen : {-1, 0, 4, 19}) {
    Builder b;
    const ir::ValueId in = b.input("x", kFp32, shape);
    ir::ValueId value = in;
    std::vector<ir::ValueId> outputs;
    for (int i = 0; i < 20; ++i) {
      value = b.add(TosaOp::ADD, {value, i % 3 == 0 ? value : in}, kFp32, shape);
      if (i == seen) outputs.push_back(value);
    }
    b.output(value);
    for (const ir::ValueId output : outputs) b.output(output);
    expect_plain(floats_of(b.module, {x}), shape, [&](size_t at, size_t, size_t) {
      float sum = x.values<float>()[at];
      for (int i = 0; i < 20; ++i) sum += i % 3 == 0 ? sum : x.values<float>()[at];
      return sum;
    });
  }
}

// The profile shows which nodes one kernel computes: all five nodes of GELU.
TEST(ElementsF32, chain_is_one_kernel) {
  const Shape shape{1, 4, 64};
  Builder b;
  const ir::ValueId in = b.input("x", kFp32, shape);
  const ir::ValueId erf = b.add(TosaOp::ERF, {mul(b, in, b.constant(f32({1, 1, 1}, {0.7F})), shape)}, kFp32, shape);
  const ir::ValueId half = mul(b, in, b.constant(f32({1, 1, 1}, {0.5F})), shape);
  b.output(mul(b, half, b.add(TosaOp::ADD, {erf, b.constant(f32({1, 1, 1}, {1.0F}))}, kFp32, shape), shape));
  Options options;
  options.profiling = Profiling::kOn;
  auto interpreter = Interpreter::create(b.module, options);
  ASSERT_TRUE(interpreter);
  ASSERT_TRUE(interpreter->run(std::vector{random_floats(shape, 6)}));
  ASSERT_EQ(interpreter->profile().size(), 1U);
  EXPECT_EQ(interpreter->profile().front().with.size(), 4U);
}

// EXP overwrites its operand because no later node reads it, so the arena holds one buffer for both.
TEST(ElementsF32, result_may_overwrite_its_operand) {
  const Shape shape{1, 300, 400}, turned{1, 400, 300};
  Builder b;
  const ir::Attributes perms{{"perms", std::vector<int64_t>{0, 2, 1}}};
  const ir::ValueId first = b.add(TosaOp::TRANSPOSE, {b.input("x", kFp32, shape)}, kFp32, turned, perms);
  const ir::ValueId power = b.add(TosaOp::EXP, {first}, kFp32, turned);
  b.output(b.add(TosaOp::TRANSPOSE, {power}, kFp32, shape, perms));
  const auto interpreter = Interpreter::create(b.module, {});
  ASSERT_TRUE(interpreter);
  EXPECT_LT(interpreter->planned_bytes(), size_t{2} * 300 * 400 * sizeof(float));
  const Tensor x = random_floats(shape, 9);
  expect_plain(floats_of(b.module, {x}), shape,
               [&](size_t at, size_t, size_t) { return kernels::exact_exp(x.values<float>()[at]); });
}

// A node after the sum of exponentials reads the difference again.
TEST(ElementsF32, operand_read_later_is_kept) {
  for (const Shape& shape : kShapes) {
    const Tensor x = random_floats(shape, 10);
    const Shape rows{shape[0], shape[1], 1};
    Builder b;
    const ir::ValueId in = b.input("x", kFp32, shape);
    const ir::ValueId twice = b.add(TosaOp::ADD, {in, in}, kFp32, shape);
    const ir::ValueId power = b.add(TosaOp::EXP, {twice}, kFp32, shape);
    const ir::ValueId sum = b.add(TosaOp::REDUCE_SUM, {power}, kFp32, rows, {{"axis", int64_t{2}}});
    b.output(b.add(TosaOp::SUB, {twice, b.add(TosaOp::LOG, {sum}, kFp32, rows)}, kFp32, shape));
    expect_plain(floats_of(b.module, {x}), shape, [&](size_t at, size_t, size_t row) {
      const auto values = x.values<float>();
      float total = 0;
      for (size_t c = 0; c < static_cast<size_t>(shape[2]); ++c) {
        const float value = values[row * static_cast<size_t>(shape[2]) + c];
        total += kernels::exact_exp(value + value);
      }
      return values[at] + values[at] - kernels::exact_log(total);
    });
  }
}

std::vector<float> reduce(TosaOp op, const Tensor& x, ir::Attributes attributes) {
  attributes.set("axis", int64_t{2});
  return testing::values_of<float>(
      testing::run_one(op, {x}, {}, {{kFp32, {x.shape[0], x.shape[1], 1}}}, attributes)->front());
}

TEST(ElementsF32, row_sums_keep_their_order) {
  std::vector<Shape> shapes(std::begin(kShapes), std::end(kShapes));
  shapes.push_back({1, 16 + 8 + 4 + 3, 9});  // rows of each number of vectors, and some alone
  for (const Shape& shape : shapes) {
    const Tensor x = random_floats(shape, 7);
    const auto columns = static_cast<size_t>(shape[2]);
    expect_plain(reduce(TosaOp::REDUCE_SUM, x, {}), {shape[0], shape[1], 1}, [&](size_t at, size_t, size_t) {
      float sum = 0;
      for (size_t c = 0; c < columns; ++c) sum += x.values<float>()[at * columns + c];
      return sum;
    });
  }
}

// When several elements are extreme (zeros of both signs, NaNs), the result has the sign and bits of the first one.
TEST(ElementsF32, equal_extremes_give_first_index) {
  const float other_nan = std::bit_cast<float>(0x7fc00123U);
  std::vector<float> values;
  constexpr size_t kColumns = 37;
  std::mt19937 random(8);
  for (size_t row = 0; row < 64; ++row) {
    for (size_t c = 0; c < kColumns; ++c) {
      const float some[] = {-0.0F, 0.0F, row % 4 == 0 ? -1.0F : 1.0F, row % 5 == 0 ? kNan : -2.0F,
                            row % 10 == 0 ? other_nan : -0.0F};
      values.push_back(row % 7 == 0 ? kNan : some[random() % std::size(some)]);
    }
  }
  const Tensor x = Tensor::of<float>(kFp32, {1, 64, kColumns}, values);
  const auto chain = [&](size_t row, float start, auto&& is_better, bool ignores) {
    float best = ignores ? kNan : start;
    for (size_t c = 0; c < kColumns; ++c) {
      const float next = values[row * kColumns + c];
      if (std::isnan(best) || std::isnan(next)) {
        if (ignores ? std::isnan(best) : !std::isnan(best)) best = next;
      } else if (is_better(next, best)) {
        best = next;
      }
    }
    return best;
  };
  for (const bool ignores : {false, true}) {
    const ir::Attributes mode{{"nan_mode", int64_t{ignores ? 2 : 1}}};
    expect_plain(reduce(TosaOp::REDUCE_MAX, x, mode), {1, 64, 1}, [&](size_t row, size_t, size_t) {
      return chain(row, -INFINITY, [](float next, float best) { return next > best; }, ignores);
    });
    expect_plain(reduce(TosaOp::REDUCE_MIN, x, mode), {1, 64, 1}, [&](size_t row, size_t, size_t) {
      return chain(row, INFINITY, [](float next, float best) { return next <= best; }, ignores);
    });
  }
}

}  // namespace

}  // namespace carina::interpret
