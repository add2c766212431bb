// Integer operators between RESCALE nodes: RESCALE on either operand, the operator, then RESCALE and CLAMP. Kernels
// fuse some of these chains. Every chain gives the same bits as its nodes alone.

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../sampled.h"
#include "build_graph.h"
#include "same_bits.h"

namespace carina::interpret {

namespace {

using testing::Builder, testing::expect_same_bits, testing::Random, testing::random_integers, testing::zero_point;
using enum DType;
using ir::ValueId;

// Makes a RESCALE by `multiplier` / 2^shift, one for all channels or one for each.
ValueId add_rescale(Builder& b, Random& random, ValueId value, DType to, int shift) {
  const Shape shape = b.graph()[value].shape;
  const DType from = b.graph()[value].dtype;
  const bool per_channel = random() % 3 == 0;
  const int64_t count = per_channel ? shape.dims().back() : 1;
  const bool scale32 = from != kInt48;
  const Tensor multiplier =
      scale32 ? random_integers<int32_t>(random, kInt32, {count}, int64_t{1} << 30, (int64_t{1} << 31) - 1)
              : random_integers<int16_t>(random, kInt16, {count}, int64_t{1} << 14, (int64_t{1} << 15) - 1);
  const Tensor shifts = random_integers<int8_t>(random, kInt8, {count}, shift, shift + 3);
  const auto zero_of = [&](DType type) {
    return type == kInt8 ? random_integers<int8_t>(random, kInt8, {1}, -128, 127) : zero_point(type);
  };
  const int64_t rounding = scale32 && random() % 2 == 0 ? 3 : 1;
  return b.add(TosaOp::RESCALE,
               {value, b.constant(multiplier), b.constant(shifts), b.constant(zero_of(from)), b.constant(zero_of(to))},
               to, shape,
               {{"scale32", scale32},
                {"rounding_mode", rounding},
                {"per_channel", per_channel},
                {"input_unsigned", false},
                {"output_unsigned", false}});
}

struct Case {
  std::string name;
  TosaOp op;
  DType in;   // of the elements that it reads
  DType out;  // of the result
  std::vector<Shape> operands;
  Shape result;
  // Appends the operands that are always constants.
  std::function<void(Builder&, Random&, std::vector<ValueId>&)> constants = [](Builder&, Random&, auto&) {};
  ir::Attributes attributes = {};
  int first_shift = 38;  // of a RESCALE of the result: keeps the result's range in a byte
};

void add_zero_points(Builder& b, Random& random, std::vector<ValueId>& operands, DType dtype) {
  for (int i = 0; i < 2; ++i)
    operands.push_back(
        b.constant(dtype == kInt8 ? random_integers<int8_t>(random, kInt8, {1}, -128, 127) : zero_point(dtype)));
}

Case matmul(DType in, DType out, int first_shift) {
  return {.name = "matmul",
          .op = TosaOp::MATMUL,
          .in = in,
          .out = out,
          .operands = {{2, 7, 19}, {2, 19, 37}},
          .result = {2, 7, 37},
          .constants = [in](Builder& b, Random& random, auto& operands) { add_zero_points(b, random, operands, in); },
          .first_shift = first_shift};
}

Case convolution(TosaOp op, const Shape& image, const Shape& weights, const Shape& result, ir::Attributes attributes) {
  return {.name = "convolution",
          .op = op,
          .in = kInt8,
          .out = kInt32,
          .operands = {image, weights},
          .result = result,
          .constants =
              [channels = result.dims().back()](Builder& b, Random& random, auto& operands) {
                operands.push_back(b.constant(random_integers<int32_t>(random, kInt32, {channels}, -9999, 9999)));
                add_zero_points(b, random, operands, kInt8);
              },
          .attributes = std::move(attributes),
          .first_shift = 44};
}

Case elementwise(TosaOp op, DType in, DType out, size_t operands, int first_shift) {
  const Shape shape{2, 3, 17, 67};
  return {.name = "elementwise",
          .op = op,
          .in = in,
          .out = out,
          .operands = std::vector<Shape>(operands, shape),
          .result = shape,
          .attributes = op == TosaOp::MAXIMUM || op == TosaOp::MINIMUM ? ir::Attributes{{"nan_mode", int64_t{1}}}
                                                                       : ir::Attributes{},
          .first_shift = first_shift};
}

std::vector<Case> cases() {
  const auto windows = [](size_t axes) {
    return ir::Attributes{{"pad", std::vector<int64_t>(2 * axes, 1)},
                          {"stride", std::vector<int64_t>(axes, 1)},
                          {"dilation", std::vector<int64_t>(axes, 1)},
                          {"local_bound", false},
                          {"acc_type", kInt32}};
  };
  std::vector<Case> all{
      matmul(kInt8, kInt32, 42),
      matmul(kInt16, kInt48, 36),
      convolution(TosaOp::CONV2D, {2, 6, 7, 5}, {19, 3, 3, 5}, {2, 6, 7, 19}, windows(2)),
      convolution(TosaOp::DEPTHWISE_CONV2D, {2, 6, 7, 19}, {3, 3, 19, 1}, {2, 6, 7, 19}, windows(2)),
      convolution(TosaOp::CONV3D, {1, 4, 5, 6, 3}, {18, 3, 3, 3, 3}, {1, 4, 5, 6, 18}, windows(3)),
      convolution(TosaOp::TRANSPOSE_CONV2D, {2, 5, 4, 6}, {17, 3, 2, 6}, {2, 11, 8, 17},
                  {{"out_pad", std::vector<int64_t>{0, 0, 0, 0}},
                   {"stride", std::vector<int64_t>{2, 2}},
                   {"local_bound", false},
                   {"acc_type", kInt32}}),
      elementwise(TosaOp::ADD, kInt32, kInt32, 2, 38),
      elementwise(TosaOp::SUB, kInt32, kInt32, 2, 38),
      elementwise(TosaOp::MAXIMUM, kInt32, kInt32, 2, 38),
      elementwise(TosaOp::MINIMUM, kInt32, kInt32, 2, 38),
      elementwise(TosaOp::BITWISE_XOR, kInt32, kInt32, 2, 38),
      elementwise(TosaOp::ABS, kInt32, kInt32, 1, 38),
      elementwise(TosaOp::CLZ, kInt32, kInt32, 1, 34),
  };
  for (const auto& [in, shift] : {std::pair{kInt8, 44}, {kInt16, 54}, {kInt32, 46}}) {
    Case mul = elementwise(TosaOp::MUL, in, kInt32, 2, shift);
    mul.constants = [](Builder& b, Random&, auto& operands) { operands.push_back(b.constant(zero_point(kInt8))); };
    all.push_back(std::move(mul));
  }
  Case broadcast = elementwise(TosaOp::ADD, kInt32, kInt32, 2, 38);
  broadcast.operands[1] = {1, 3, 1, 67};
  all.push_back(std::move(broadcast));
  Case negate = elementwise(TosaOp::NEGATE, kInt32, kInt32, 1, 38);
  negate.constants = [](Builder& b, Random& random, auto& operands) { add_zero_points(b, random, operands, kInt32); };
  all.push_back(std::move(negate));
  Case sum = elementwise(TosaOp::REDUCE_SUM, kInt32, kInt32, 1, 42);
  sum.attributes.set("axis", int64_t{2});
  sum.result = {2, 3, 1, 67};
  all.push_back(std::move(sum));
  Case concat = elementwise(TosaOp::CONCAT, kInt8, kInt8, 2, 30);
  concat.attributes.set("axis", int64_t{1});
  concat.result = {2, 6, 17, 67};
  all.push_back(std::move(concat));
  return all;
}

struct Chain {
  ir::Module module;
  std::vector<Tensor> inputs;
};

// Which nodes stand around the operator. Bit i of `rescaled`: a RESCALE computes operand i.
struct Surroundings {
  unsigned rescaled;
  bool constant_second;  // the second operand is a constant, as weights are
  std::optional<DType> to;
  bool clamped;
};

Tensor random_operand(Random& random, DType dtype, const Shape& shape) {
  if (dtype == kInt8) return random_integers<int8_t>(random, kInt8, shape, -128, 127);
  if (dtype == kInt16) return random_integers<int16_t>(random, kInt16, shape, -32768, 32767);
  return random_integers<int32_t>(random, kInt32, shape, -9999, 9999);
}

Chain chain_of(Random& random, const Case& c, const Surroundings& around) {
  Builder b;
  Chain chain;
  std::vector<ValueId> operands;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    if (i == 1 && around.constant_second) {
      operands.push_back(b.constant(random_operand(random, c.in, c.operands[i])));
      continue;
    }
    const bool rescaled = (around.rescaled >> i & 1) != 0;
    const DType from = !rescaled ? c.in : random() % 4 == 0 ? kInt16 : kInt8;
    chain.inputs.push_back(random_operand(random, from, c.operands[i]));
    const ValueId input = b.input("x", from, c.operands[i]);
    // Results in i32 have up to 13 bits, so that products fit.
    const int shift = c.in == kInt32 ? (from == kInt8 ? 26 : 34) : from == kInt8 ? 31 : 38;
    operands.push_back(rescaled ? add_rescale(b, random, input, c.in, shift) : input);
  }
  c.constants(b, random, operands);
  ValueId last = b.add(c.op, operands, c.out, c.result, c.attributes);
  if (around.to) last = add_rescale(b, random, last, *around.to, c.first_shift);
  if (around.clamped) {
    const int64_t bound = 1 + static_cast<int64_t>(random() % 120);
    last = b.add(TosaOp::CLAMP, {last}, b.graph()[last].dtype, c.result,
                 {{"min_val", -bound}, {"max_val", bound}, {"nan_mode", int64_t{1}}});
  }
  b.output(last);
  chain.module = std::move(b.module);
  return chain;
}

TEST(FusedChains, rescaled_operands_and_results_match_their_nodes) {
  Random random(21);
  size_t number = 0;
  for (const Case& c : cases()) {
    for (unsigned rescaled = 0; rescaled < 1U << c.operands.size(); ++rescaled) {
      for (const bool constant : {false, true}) {
        if (constant && (c.operands.size() < 2 || (rescaled & 2) != 0)) continue;
        for (const auto to : {std::optional<DType>(), std::optional(kInt8), std::optional(kInt16)}) {
          for (const bool clamped : {false, true}) {
            // The interpreter has no CLAMP of these types.
            if (clamped && !to && c.out != kInt8) continue;
            if (number++ % tests::kOneOf != 0) continue;
            SCOPED_TRACE(std::string(name_of(c.op)) + ", operands rescaled: " + std::to_string(rescaled));
            const Chain chain =
                chain_of(random, c, {.rescaled = rescaled, .constant_second = constant, .to = to, .clamped = clamped});
            expect_same_bits(chain.module, chain.inputs, {.threads = testing::kOneDivision});
          }
        }
      }
    }
  }
}

// A RESCALE by 2^bits of bytes.
ValueId add_shift(Builder& b, Random& random, ValueId value, int bits) {
  const Shape shape = b.graph()[value].shape;
  const Tensor zero = b.graph()[value].dtype == kInt8 ? random_integers<int8_t>(random, kInt8, {1}, -128, 127)
                                                      : zero_point(b.graph()[value].dtype);
  return b.add(
      TosaOp::RESCALE,
      {value, b.constant(testing::i32({1}, {1 << 30})), b.constant(testing::i8({1}, {static_cast<int8_t>(30 - bits)})),
       b.constant(zero), b.constant(zero_point(kInt32))},
      kInt32, shape,
      {{"scale32", true},
       {"rounding_mode", int64_t{1}},
       {"per_channel", false},
       {"input_unsigned", false},
       {"output_unsigned", false}});
}

// The operators of a norm: the RESCALE of the input has three readers, a sum, a square and a difference, whose second
// operand repeats along `axis`.
Chain norm_of(Random& random, const Shape& shape, int64_t axis, DType type, bool is_seen) {
  Builder b;
  Chain chain;
  const ValueId x = b.input("x", type, shape);
  chain.inputs.push_back(random_operand(random, type, shape));
  Shape reduced = shape;
  reduced[static_cast<size_t>(axis)] = 1;
  const ValueId wide = add_shift(b, random, x, 0);
  if (is_seen) b.output(wide);
  const ValueId sum = b.add(TosaOp::REDUCE_SUM, {wide}, kInt32, reduced, {{"axis", axis}});
  const ValueId mean = add_rescale(b, random, sum, kInt8, 38);
  const ValueId product_shift = b.constant(zero_point(kInt8));
  const ValueId square = b.add(TosaOp::MUL, {wide, wide, product_shift}, kInt32, shape);
  b.output(add_rescale(b, random, square, random() % 2 == 0 ? kInt8 : kInt16, type == kInt8 ? 40 : 54));
  std::vector<ValueId> difference{add_shift(b, random, x, 5), add_rescale(b, random, mean, kInt32, 26)};
  if (random() % 2 == 0) std::swap(difference[0], difference[1]);
  const ValueId centered = b.add(TosaOp::SUB, difference, kInt32, shape);
  b.output(add_rescale(b, random, centered, kInt8, 38));
  for (const TosaOp op : {TosaOp::REDUCE_MAX, TosaOp::REDUCE_MIN})
    b.output(b.add(op, {x}, type, reduced, {{"axis", axis}, {"nan_mode", int64_t{1}}}));
  chain.module = std::move(b.module);
  return chain;
}

TEST(FusedChains, norms_match_their_nodes) {
  Random random(22);
  for (const Shape& shape : {Shape{3, 70, 41}, Shape{2, 5, 3000}, Shape{1, 33, 4}}) {
    for (int64_t axis = 0; axis < 3; ++axis) {
      for (const DType type : {kInt8, kInt16}) {
        SCOPED_TRACE(to_string(shape) + ", axis " + std::to_string(axis));
        const Chain chain = norm_of(random, shape, axis, type, random() % 3 == 0);
        expect_same_bits(chain.module, chain.inputs, {.threads = testing::kOneDivision});
      }
    }
  }
}

// Bytes and a second operand that broadcasts, as a value for each row or a constant for each column, or does not.
Chain affine_of(Random& random, TosaOp op, const Shape& shape, const Shape& second, bool is_constant) {
  Builder b;
  Chain chain;
  const ValueId x = b.input("x", kInt8, shape);
  chain.inputs.push_back(random_operand(random, kInt8, shape));
  ValueId other = {};
  if (is_constant) {
    other = b.constant(random_operand(random, kInt8, second));
  } else {
    other = b.input("other", kInt8, second);
    chain.inputs.push_back(random_operand(random, kInt8, second));
  }
  const bool is_product = op == TosaOp::MUL;
  std::vector<ValueId> operands{
      add_shift(b, random, x, is_product ? 0 : static_cast<int>(random() % 20)),
      is_product ? add_shift(b, random, other, 0) : add_rescale(b, random, other, kInt32, 24)};
  if (random() % 2 == 0) std::swap(operands[0], operands[1]);
  if (is_product) operands.push_back(b.constant(zero_point(kInt8)));
  ValueId last = add_rescale(b, random, b.add(op, operands, kInt32, shape), kInt8, is_product ? 38 : 40);
  if (random() % 2 == 0)
    last = b.add(TosaOp::CLAMP, {last}, kInt8, shape,
                 {{"min_val", int64_t{-50}}, {"max_val", int64_t{101}}, {"nan_mode", int64_t{1}}});
  b.output(last);
  chain.module = std::move(b.module);
  return chain;
}

// Bytes of one scale, whose sums and differences are rescaled as they are.
TEST(FusedChains, sums_of_bytes_match_their_nodes) {
  Random random(24);
  for (const TosaOp op : {TosaOp::ADD, TosaOp::SUB}) {
    for (const Shape& shape : {Shape{5, 303}, Shape{3}, Shape{2, 70, 66}, Shape{1, 31}}) {
      for (int i = 0; i < 4; ++i) {
        SCOPED_TRACE(std::string(name_of(op)) + " " + to_string(shape));
        Builder b;
        Chain chain;
        std::vector<ValueId> operands;
        for (int n = 0; n < 2; ++n) {
          chain.inputs.push_back(random_operand(random, kInt8, shape));
          operands.push_back(add_shift(b, random, b.input("x", kInt8, shape), 0));
        }
        b.output(add_rescale(b, random, b.add(op, operands, kInt32, shape), kInt8, 30 + i));
        chain.module = std::move(b.module);
        expect_same_bits(chain.module, chain.inputs, {.threads = testing::kOneDivision});
      }
    }
  }
}

TEST(FusedChains, operands_of_rows_and_columns_match_their_nodes) {
  Random random(23);
  for (const TosaOp op : {TosaOp::ADD, TosaOp::SUB, TosaOp::MUL}) {
    for (const auto& [shape, second] : {std::pair<Shape, Shape>{{5, 300}, {5, 1}},
                                        {{5, 300}, {1, 300}},
                                        {{200, 7}, {1, 7}},
                                        {{2, 3, 70, 66}, {1, 3, 1, 1}},
                                        {{2, 3, 70, 66}, {1, 1, 1, 66}},
                                        {{2, 3, 70, 66}, {2, 1, 70, 1}},
                                        {{9, 130}, {1, 1}},
                                        {{5, 303}, {5, 303}},
                                        {{3, 0}, {1, 0}}}) {
      for (int i = 0; i < 4; ++i) {
        SCOPED_TRACE(std::string(name_of(op)) + " " + to_string(shape) + " " + to_string(second));
        const Chain chain = affine_of(random, op, shape, second, i % 2 == 0);
        expect_same_bits(chain.module, chain.inputs, {.threads = testing::kOneDivision});
      }
    }
  }
}

// TRANSPOSE, a depthwise convolution of one tap with what follows it, TRANSPOSE. Before and after these there are
// further movements, which are fused with each other.
Chain channels_of(Random& random, DType type, const Shape& shape, const std::vector<int64_t>& axes) {
  Builder b;
  Chain chain;
  const Shape turned{shape[1], shape[0], shape[2], shape[3]};
  const ValueId input = b.input("x", type, turned);
  chain.inputs.push_back(type == kInt8 ? random_operand(random, type, turned) : testing::random_floats(random, turned));
  const std::vector<int64_t> turn{1, 0, 2, 3};
  const ValueId x = b.add(TosaOp::TRANSPOSE, {input}, type, shape, {{"perms", turn}});
  b.output(b.add(TosaOp::TRANSPOSE, {x}, type, turned, {{"perms", turn}}));
  Shape moved = shape;
  std::vector<int64_t> back(4);
  for (size_t i = 0; i < 4; ++i) {
    moved[i] = shape[static_cast<size_t>(axes[i])];
    back[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
  }
  const int64_t channels = moved[3];
  std::vector<ValueId> operands{b.add(TosaOp::TRANSPOSE, {x}, type, moved, {{"perms", axes}})};
  if (type == kInt8) {
    operands.push_back(b.constant(random_operand(random, kInt8, {1, 1, channels, 1})));
    operands.push_back(b.constant(random_integers<int32_t>(random, kInt32, {channels}, -9999, 9999)));
    add_zero_points(b, random, operands, kInt8);
  } else {
    operands.push_back(b.constant(testing::random_floats(random, {1, 1, channels, 1})));
    operands.push_back(b.constant(testing::random_floats(random, {channels})));
    for (int i = 0; i < 2; ++i) operands.push_back(b.constant(zero_point(kFp32)));
  }
  const DType sums = type == kInt8 ? kInt32 : kFp32;
  ValueId last = b.add(TosaOp::DEPTHWISE_CONV2D, operands, sums, moved,
                       {{"pad", std::vector<int64_t>{0, 0, 0, 0}},
                        {"stride", std::vector<int64_t>{1, 1}},
                        {"dilation", std::vector<int64_t>{1, 1}},
                        {"local_bound", false},
                        {"acc_type", sums}});
  if (type == kInt8) last = add_rescale(b, random, last, kInt8, 38);
  const DType result = b.graph()[last].dtype;
  const ValueId restored = b.add(TosaOp::TRANSPOSE, {last}, result, shape, {{"perms", back}});
  b.output(b.add(TosaOp::TRANSPOSE, {restored}, result, turned, {{"perms", turn}}));
  chain.module = std::move(b.module);
  return chain;
}

TEST(FusedChains, channels_between_transposes_match_their_nodes) {
  Random random(24);
  for (const DType type : {kInt8, kFp32}) {
    for (const std::vector<int64_t>& axes :
         {std::vector<int64_t>{0, 2, 3, 1}, {1, 2, 3, 0}, {0, 1, 3, 2}, {0, 2, 1, 3}}) {
      SCOPED_TRACE(std::string(row_of(type).name) + ", channels on axis " + std::to_string(axes.back()));
      const Chain chain = channels_of(random, type, {2, 21, 9, 13}, axes);
      expect_same_bits(chain.module, chain.inputs, {.threads = testing::kOneDivision});
    }
  }
}

}  // namespace

}  // namespace carina::interpret
