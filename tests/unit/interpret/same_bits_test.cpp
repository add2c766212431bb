// A graph gives the same bits on every instruction set of this processor, with any number of threads, with and without
// fusion.

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "build_graph.h"
#include "kernels/micro/microkernels.h"
#include "same_bits.h"
#include "tensor/elements.h"

namespace carina::interpret {

namespace {

using testing::Builder, testing::equal, testing::expect_same_bits, testing::kOneDivision, testing::outputs_of,
    testing::Random, testing::random_floats, testing::random_integers, testing::Ways, testing::zero_point;
using enum DType;

struct Window {
  int64_t kernel;
  int64_t stride;
  int64_t pad;
};

ir::Attributes conv_attributes(const Window& w, DType acc_type) {
  return {{"pad", std::vector<int64_t>{w.pad, w.pad, w.pad, w.pad}},
          {"stride", std::vector<int64_t>{w.stride, w.stride}},
          {"dilation", std::vector<int64_t>{1, 1}},
          {"local_bound", false},
          {"acc_type", acc_type}};
}

int64_t out_size(int64_t in, const Window& w) {
  return (in + 2 * w.pad - w.kernel) / w.stride + 1;
}

ir::ValueId add_rescale(Builder& b, Random& random, ir::ValueId value, DType to, int low_shift, int64_t rounding) {
  const Shape shape = b.graph()[value].shape;
  const DType from = b.graph()[value].dtype;
  const int64_t channels = shape[shape.rank() - 1];
  const Tensor multiplier =
      random_integers<int32_t>(random, kInt32, {channels}, int64_t{1} << 30, (int64_t{1} << 31) - 1);
  const Tensor shift = random_integers<int8_t>(random, kInt8, {channels}, low_shift, low_shift + 3);
  const Tensor output_zp = to == kInt8 ? random_integers<int8_t>(random, kInt8, {1}, -128, 127) : zero_point(to);
  return b.add(TosaOp::RESCALE,
               {value, b.constant(multiplier), b.constant(shift), b.constant(zero_point(from)), b.constant(output_zp)},
               to, shape,
               {{"scale32", true},
                {"rounding_mode", rounding},
                {"per_channel", true},
                {"input_unsigned", false},
                {"output_unsigned", false}});
}

// conv or depthwise -> RESCALE -> CLAMP, int8.
ir::Module integer_module(Random& random, int64_t size, int64_t ic, int64_t oc, const Window& w, bool depthwise) {
  Builder b;
  const ir::ValueId x = b.input("x", kInt8, {2, size, size, ic});
  const int64_t multiplier = 1 + static_cast<int64_t>(random() % 3);  // of a depthwise convolution
  const Shape weights = depthwise ? Shape{w.kernel, w.kernel, ic, multiplier} : Shape{oc, w.kernel, w.kernel, ic};
  const int64_t channels = depthwise ? ic * multiplier : oc;
  const int64_t out = out_size(size, w);
  const ir::ValueId sums = b.add(depthwise ? TosaOp::DEPTHWISE_CONV2D : TosaOp::CONV2D,
                                 {x, b.constant(random_integers<int8_t>(random, kInt8, weights, -128, 127)),
                                  b.constant(random_integers<int32_t>(random, kInt32, {channels}, -100000, 100000)),
                                  b.constant(random_integers<int8_t>(random, kInt8, {1}, -128, 127)),
                                  b.constant(random_integers<int8_t>(random, kInt8, {1}, -3, 3))},
                                 kInt32, {2, out, out, channels}, conv_attributes(w, kInt32));
  const ir::ValueId scaled = add_rescale(b, random, sums, kInt8, 39, 1 + 2 * static_cast<int64_t>(random() % 2));
  b.output(b.add(TosaOp::CLAMP, {scaled}, kInt8, b.graph()[scaled].shape,
                 {{"min_val", int64_t{-100}}, {"max_val", int64_t{90}}, {"nan_mode", int64_t{1}}}));
  b.output(add_rescale(b, random, scaled, kInt32, 12, 1));
  return std::move(b.module);
}

ir::Module float_module(Random& random, int64_t size, int64_t ic, int64_t oc, const Window& w, bool depthwise) {
  Builder b;
  const ir::ValueId x = b.input("x", kFp32, {2, size, size, ic});
  const int64_t multiplier = 1 + static_cast<int64_t>(random() % 3);  // of a depthwise convolution
  const Shape weights = depthwise ? Shape{w.kernel, w.kernel, ic, multiplier} : Shape{oc, w.kernel, w.kernel, ic};
  const int64_t channels = depthwise ? ic * multiplier : oc;
  const int64_t out = out_size(size, w);
  const ir::ValueId sums =
      b.add(depthwise ? TosaOp::DEPTHWISE_CONV2D : TosaOp::CONV2D,
            {x, b.constant(random_floats(random, weights)), b.constant(random_floats(random, {channels})),
             b.constant(zero_point(kFp32)), b.constant(zero_point(kFp32))},
            kFp32, {2, out, out, channels}, conv_attributes(w, kFp32));
  const ir::ValueId clamped = b.add(TosaOp::CLAMP, {sums}, kFp32, b.graph()[sums].shape,
                                    {{"min_val", -1.5}, {"max_val", 3.0}, {"nan_mode", int64_t{1}}});
  b.output(b.add(TosaOp::TANH, {clamped}, kFp32, b.graph()[sums].shape));
  return std::move(b.module);
}

constexpr Window kWindows[] = {{.kernel = 1, .stride = 1, .pad = 0},
                               {.kernel = 3, .stride = 1, .pad = 1},
                               {.kernel = 3, .stride = 2, .pad = 1},
                               {.kernel = 5, .stride = 5, .pad = 2}};

// Runs each number of channels with two of the windows, and each window with a small and a large number. The last
// vector of channels is empty, partly filled or full.
template <typename Function>
void for_channels_and_windows(std::span<const int64_t> channels, const Function& function) {
  for (size_t i = 0; i < channels.size(); ++i) {
    function(channels[i], kWindows[i % 4]);
    function(channels[i], kWindows[(i + i / 3 + 1) % 4]);
  }
}

TEST(SameBits, integer_convolutions_match) {
  Random random(1);
  constexpr int64_t kChannels[] = {1, 3, 8, 24, 67, 130};
  for_channels_and_windows(kChannels, [&](int64_t channels, const Window& w) {
    const int64_t oc = 1 + static_cast<int64_t>(random() % 140);
    const Tensor x = random_integers<int8_t>(random, kInt8, {2, 11, 11, channels}, -128, 127);
    expect_same_bits(integer_module(random, 11, channels, oc, w, false), {x});
    expect_same_bits(integer_module(random, 11, channels, oc, w, true), {x});
  });
}

TEST(SameBits, float_convolutions_match) {
  Random random(2);
  constexpr int64_t kChannels[] = {1, 3, 16, 45, 32};
  for_channels_and_windows(kChannels, [&](int64_t channels, const Window& w) {
    const int64_t oc = 1 + static_cast<int64_t>(random() % 100);
    const Tensor x = random_floats(random, {2, 11, 11, channels});
    expect_same_bits(float_module(random, 11, channels, oc, w, false), {x});
    expect_same_bits(float_module(random, 11, channels, oc, w, true), {x});
  });
}

// A transposed convolution of int8 or fp32 with constant weights, then RESCALE or CLAMP.
ir::Module transposed_module(Random& random, DType type, const Shape& image, const Shape& weights,
                             const std::vector<int64_t>& stride, const std::vector<int64_t>& out_pad) {
  Builder b;
  const ir::ValueId x = b.input("x", type, image);
  const bool is_float = type == kFp32;
  const DType sums = is_float ? kFp32 : kInt32;
  const auto zero = [&](int64_t low, int64_t high) {
    return b.constant(is_float ? zero_point(kFp32) : random_integers<int8_t>(random, kInt8, {1}, low, high));
  };
  const Shape result{image[0], (image[1] - 1) * stride[0] + out_pad[0] + out_pad[1] + weights[1],
                     (image[2] - 1) * stride[1] + out_pad[2] + out_pad[3] + weights[2], weights[0]};
  const ir::ValueId w = b.constant(is_float ? random_floats(random, weights)
                                            : random_integers<int8_t>(random, kInt8, weights, -128, 127));
  const ir::ValueId bias = b.constant(is_float ? random_floats(random, {weights[0]})
                                               : random_integers<int32_t>(random, kInt32, {weights[0]}, -9999, 9999));
  const ir::ValueId input_zp = zero(-128, 127), weight_zp = zero(-3, 3);
  const ir::ValueId out = b.add(TosaOp::TRANSPOSE_CONV2D, {x, w, bias, input_zp, weight_zp}, sums, result,
                                {{"stride", stride}, {"out_pad", out_pad}, {"local_bound", false}, {"acc_type", sums}});
  b.output(is_float ? b.add(TosaOp::CLAMP, {out}, kFp32, result,
                            {{"min_val", -2.0}, {"max_val", 5.0}, {"nan_mode", int64_t{1}}})
                    : add_rescale(b, random, out, kInt8, 40, 1));
  return std::move(b.module);
}

// Kernels smaller than, equal to and larger than the stride, cut and extended outputs, and channels that fill no
// vector, one or several.
TEST(SameBits, transposed_convolutions_match) {
  Random random(9);
  using Numbers = std::vector<int64_t>;
  struct Case {
    Shape image;
    Shape weights;
    Numbers stride;
    Numbers out_pad;
  };
  const Case cases[] = {
      {.image = {1, 5, 4, 3}, .weights = {7, 2, 2, 3}, .stride = {2, 2}, .out_pad = {0, 0, 0, 0}},
      {.image = {2, 6, 7, 16}, .weights = {16, 3, 3, 16}, .stride = {2, 2}, .out_pad = {-1, 0, -1, 0}},
      {.image = {1, 4, 9, 20}, .weights = {67, 4, 4, 20}, .stride = {2, 2}, .out_pad = {-1, -1, -1, -1}},
      {.image = {1, 3, 80, 8}, .weights = {5, 1, 2, 8}, .stride = {2, 3}, .out_pad = {1, 2, 0, 1}},
      {.image = {1, 4, 4, 6}, .weights = {9, 5, 3, 6}, .stride = {1, 2}, .out_pad = {-4, -2, 3, -2}},
      {.image = {1, 1, 1, 4}, .weights = {4, 3, 3, 4}, .stride = {4, 5}, .out_pad = {0, 1, 2, 2}},
      {.image = {1, 2, 2, 33}, .weights = {1, 7, 7, 33}, .stride = {3, 3}, .out_pad = {-6, 0, 0, -6}},
  };
  for (const Case& c : cases) {
    const Tensor integers = random_integers<int8_t>(random, kInt8, c.image, -128, 127);
    expect_same_bits(transposed_module(random, kInt8, c.image, c.weights, c.stride, c.out_pad), {integers});
    expect_same_bits(transposed_module(random, kFp32, c.image, c.weights, c.stride, c.out_pad),
                     {random_floats(random, c.image)});
  }
}

// The output is larger than any cache, and so are the weights. Kernels for such sizes read and write them in another
// way.
TEST(SameBits, large_float_convolutions_match) {
  Random random(7);
  const Window one{.kernel = 1, .stride = 1, .pad = 0};
  const Ways ways{.threads = kOneDivision};
  expect_same_bits(float_module(random, 360, 2, 32, one, false), {random_floats(random, {2, 360, 360, 2})}, ways);
  expect_same_bits(float_module(random, 5, 1024, 272, one, false), {random_floats(random, {2, 5, 5, 1024})}, ways);
}

// 3x3 windows with stride 1 on an image whose size is not a multiple of the tile. The sums differ slightly from those
// of the direct kernel, but are equal on all processors.
ir::Module window_module(Random& random, const Shape& image, int64_t oc, const std::vector<int64_t>& pad) {
  Builder b;
  const ir::ValueId x = b.input("x", kFp32, image);
  const Shape shape{image[0], image[1] + pad[0] + pad[1] - 2, image[2] + pad[2] + pad[3] - 2, oc};
  ir::Attributes attributes = conv_attributes({.kernel = 3, .stride = 1, .pad = 0}, kFp32);
  attributes.set("pad", pad);
  const ir::ValueId sums =
      b.add(TosaOp::CONV2D,
            {x, b.constant(random_floats(random, {oc, 3, 3, image[3]})), b.constant(random_floats(random, {oc})),
             b.constant(zero_point(kFp32)), b.constant(zero_point(kFp32))},
            kFp32, shape, attributes);
  b.output(b.add(TosaOp::CLAMP, {sums}, kFp32, shape, {{"min_val", -9.0}, {"max_val", 1e9}, {"nan_mode", int64_t{1}}}));
  return std::move(b.module);
}

TEST(SameBits, winograd_windows_match) {
  Random random(5);
  Options few;
  few.sums = Sums::kFewMultiplications;
  // Sizes just above the limit from which on this kernel is used.
  for (const auto& [image, oc, pad] :
       {std::tuple{Shape{1, 31, 31, 32}, int64_t{64}, std::vector<int64_t>{2, 0, 0, 1}},
        std::tuple{Shape{2, 31, 30, 32}, int64_t{48}, std::vector<int64_t>{0, 0, 0, 0}},
        std::tuple{Shape{1, 19, 16, 64}, int64_t{112}, std::vector<int64_t>{1, 0, 0, 2}}}) {
    const ir::Module module = window_module(random, image, oc, pad);
    const Tensor x = random_floats(random, image);
    const std::vector<Tensor> direct = outputs_of(module, {x}, {}), other = outputs_of(module, {x}, few);
    EXPECT_FALSE(equal(direct, other)) << "not what is to be tested";
    const auto a = direct.front().values<float>(), b = other.front().values<float>();
    const auto [min, max] = std::ranges::minmax(a);
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5F * (max - min));
    expect_same_bits(module, {x}, {.sums = Sums::kFewMultiplications, .threads = kOneDivision});
  }
}

TEST(SameBits, clamped_sums_match) {
  Random random(3);
  for (const int64_t channels : {1, 24, 67}) {
    const Shape shape{2, 40, 5, channels};
    Builder b;
    const ir::ValueId sum = b.add(TosaOp::ADD, {b.input("x", kFp32, shape), b.input("y", kFp32, shape)}, kFp32, shape);
    const ir::ValueId clamped =
        b.add(TosaOp::CLAMP, {sum}, kFp32, shape, {{"min_val", 0.0}, {"max_val", 1.0}, {"nan_mode", int64_t{1}}});
    b.output(b.add(TosaOp::TANH, {clamped}, kFp32, shape));
    expect_same_bits(b.module, {random_floats(random, shape), random_floats(random, shape)});
  }
}

// A NaN stays a NaN, and the watch reports it.
TEST(SameBits, watch_finds_nan) {
  Random random(4);
  const ir::Module module = float_module(random, 11, 3, 17, {.kernel = 3, .stride = 1, .pad = 1}, false);
  MutableTensor x(kFp32, {2, 11, 11, 3});
  std::ranges::fill(x.values<float>(), 1.0F);
  x.values<float>()[100] = NAN;
  Options options;
  bool numbers = true;
  options.watch = Watch{.values = std::vector<bool>(module.main().values.size(), true),
                        .see = [&](ir::ValueId value, const Tensor&, const kernels::Extremes& found) {
                          if (value == module.main().nodes.front().outputs.front()) numbers = found.numbers;
                        }};
  outputs_of(module, {std::move(x).freeze()}, options);
  EXPECT_FALSE(numbers);
}

TEST(SameBits, depthwise_convolutions_of_16_bits_match) {
  Random random(21);
  constexpr int64_t kSize = 11;
  for (const Window& w : kWindows) {
    for (const int64_t channels : {1, 3, 16, 70, 130}) {
      Builder b;
      const Shape shape{2, kSize, kSize, channels};
      const int64_t out = out_size(kSize, w);
      const ir::ValueId x = b.input("x", kInt16, shape);
      const Tensor bias = integer_tensor(kInt48, Shape{1}, std::vector<int64_t>{int64_t{-7} << 35});
      b.output(
          b.add(TosaOp::DEPTHWISE_CONV2D,
                {x, b.constant(random_integers<int8_t>(random, kInt8, {w.kernel, w.kernel, channels, 1}, -128, 127)),
                 b.constant(bias), b.constant(zero_point(kInt16)), b.constant(zero_point(kInt8))},
                kInt48, {2, out, out, channels}, conv_attributes(w, kInt48)));
      expect_same_bits(b.module, {random_integers<int16_t>(random, kInt16, shape, -32768, 32767)});
    }
  }
}

// MATMUL of two inputs, int8 with a RESCALE or fp32.
ir::Module matmul_module(Random& random, DType dtype, const Shape& a_shape, const Shape& b_shape) {
  Builder b;
  const ir::ValueId x = b.input("x", dtype, a_shape);
  const ir::ValueId y = b.input("y", dtype, b_shape);
  const DType out = dtype == kInt8 ? kInt32 : kFp32;
  const auto zero = [&] {
    return b.constant(dtype == kInt8 ? random_integers<int8_t>(random, kInt8, {1}, -128, 127) : zero_point(kFp32));
  };
  const ir::ValueId product = b.add(TosaOp::MATMUL, {x, y, zero(), zero()}, out, {a_shape[0], a_shape[1], b_shape[2]});
  b.output(dtype == kInt8 ? add_rescale(b, random, product, kInt8, 39, 1) : product);
  return std::move(b.module);
}

TEST(SameBits, matmuls_match) {
  Random random(3);
  for (const auto& [h, c, w] : {std::array{1, 300, 500}, {50, 37, 150}, {200, 64, 24}, {7, 3, 1}}) {
    const Shape a{2, h, c};
    const Shape b{2, c, w};
    expect_same_bits(matmul_module(random, kInt8, a, b), {random_integers<int8_t>(random, kInt8, a, -128, 127),
                                                          random_integers<int8_t>(random, kInt8, b, -128, 127)});
    expect_same_bits(matmul_module(random, kFp32, a, b), {random_floats(random, a), random_floats(random, b)});
  }
}

// The nodes of a softmax along the last axis.
TEST(SameBits, softmaxes_match) {
  Random random(8);
  for (const Shape& shape : {Shape{1, 1, 3}, Shape{4, 50, 37}, Shape{2, 90, 128}}) {
    Builder b;
    const Shape rows{shape[0], shape[1], 1};
    const ir::Attributes last{{"axis", int64_t{2}}};
    const ir::ValueId x = b.input("x", kFp32, shape);
    const ir::ValueId row_max =
        b.add(TosaOp::REDUCE_MAX, {x}, kFp32, rows, {{"axis", int64_t{2}}, {"nan_mode", int64_t{1}}});
    const ir::ValueId power = b.add(TosaOp::EXP, {b.add(TosaOp::SUB, {x, row_max}, kFp32, shape)}, kFp32, shape);
    const ir::ValueId part =
        b.add(TosaOp::RECIPROCAL, {b.add(TosaOp::REDUCE_SUM, {power}, kFp32, rows, last)}, kFp32, rows);
    b.output(b.add(TosaOp::MUL, {power, part, b.constant(zero_point(kInt8))}, kFp32, shape));
    expect_same_bits(b.module, {random_floats(random, shape)});
  }
}

// RESCALE of int32 with shifts below 32, which only small inputs may have: as small as allowed, at their limits, one
// beyond (an error), and lengths around those of vectors.
ir::Module rescale_module(DType to, const std::vector<int8_t>& shifts, const std::vector<int32_t>& multipliers,
                          int64_t rows, int64_t rounding) {
  Builder b;
  const auto channels = static_cast<int64_t>(shifts.size());
  const Shape shape{rows, channels};
  const ir::ValueId x = b.input("x", kInt32, shape);
  const auto constant = [&]<typename T>(DType type, const std::vector<T>& values) {
    return b.constant(Tensor::of<T>(type, {static_cast<int64_t>(values.size())}, values));
  };
  b.output(b.add(TosaOp::RESCALE,
                 {x, constant(kInt32, multipliers), constant(kInt8, shifts), b.constant(zero_point(kInt32)),
                  b.constant(zero_point(to))},
                 to, shape,
                 {{"scale32", true},
                  {"rounding_mode", rounding},
                  {"per_channel", true},
                  {"input_unsigned", false},
                  {"output_unsigned", false}}));
  return std::move(b.module);
}

TEST(SameBits, rescales_of_small_sums_match) {
  Random random(11);
  for (const int64_t channels : {1, 7, 16, 33}) {
    for (const int low : {2, 9, 17, 29, 31}) {
      std::vector<int8_t> shifts;
      std::vector<int32_t> multipliers;
      for (int64_t c = 0; c < channels; ++c) {
        shifts.push_back(static_cast<int8_t>(low + static_cast<int>(random() % 8)));
        multipliers.push_back(c == 0 ? std::numeric_limits<int32_t>::max()
                                     : static_cast<int32_t>(random() % (uint64_t{1} << 31)));
      }
      shifts[static_cast<size_t>(channels) - 1] = static_cast<int8_t>(low);
      const int64_t bound = int64_t{1} << (low - 1);
      for (const DType to : {kInt8, kInt16, kInt32}) {
        for (const int64_t rounding : {1, 3}) {
          const Shape shape{41, channels};
          Tensor values = random_integers<int32_t>(random, kInt32, shape, -bound, bound - 1);
          const ir::Module module = rescale_module(to, shifts, multipliers, shape[0], rounding);
          expect_same_bits(module, {values});
          const auto numbers = values.values<int32_t>();
          std::vector<int32_t> ends(numbers.begin(), numbers.end());
          ends.front() = static_cast<int32_t>(-bound);
          ends.back() = static_cast<int32_t>(bound - 1);
          expect_same_bits(module, {Tensor::of<int32_t>(kInt32, shape, ends)});
        }
      }
    }
  }
}

// Scales of 2^(m - shift) round nothing where m >= shift, as those of the operands of an addition.
TEST(SameBits, rescales_by_powers_of_two_match) {
  Random random(17);
  const Shape shape{3, 1501};
  const auto one = [](DType type, int64_t value) { return integer_tensor(type, Shape{1}, std::vector{value}); };
  for (const auto& [from, to] : {std::pair{kInt8, kInt32},
                                 {kInt8, kInt16},
                                 {kInt8, kInt8},
                                 {kInt16, kInt32},
                                 {kInt32, kInt8},
                                 {kInt32, kInt16},
                                 {kInt32, kInt32}}) {
    for (const auto& [power, shift] : {std::pair{30, 30}, {30, 28}, {30, 11}, {20, 20}, {30, 31}, {14, 16}}) {
      const int64_t bound = from == kInt8 ? 128 : from == kInt16 ? 32'768 : int64_t{1} << (shift - 1);
      if (bound > int64_t{1} << (shift - 1)) continue;
      Builder b;
      const ir::ValueId x = b.input("x", from, shape);
      b.output(b.add(TosaOp::RESCALE,
                     {x, b.constant(one(kInt32, int64_t{1} << power)), b.constant(one(kInt8, shift)),
                      b.constant(one(from, from == kInt8 ? -7 : 0)), b.constant(one(to, to == kInt8 ? 5 : 0))},
                     to, shape,
                     {{"scale32", true},
                      {"rounding_mode", int64_t{1}},
                      {"per_channel", false},
                      {"input_unsigned", false},
                      {"output_unsigned", false}}));
      std::vector<int64_t> values(static_cast<size_t>(shape.elements()));
      for (int64_t& value : values) value = static_cast<int64_t>(random() % static_cast<uint64_t>(2 * bound)) - bound;
      values.front() = -bound;
      values.back() = bound - 1;
      expect_same_bits(b.module, {integer_tensor(from, shape, values)});
    }
  }
}

// The vector kernel takes values up to the limit of the channel with the smallest shift. A larger value in another
// channel is computed by the plain kernel. In that channel it is an error.
TEST(SameBits, rescale_of_a_value_for_one_channel_only) {
  const ir::Module module = rescale_module(kInt8, {10, 30}, {1 << 30, 1 << 30}, 2, 1);
  expect_same_bits(module, {Tensor::of<int32_t>(kInt32, {2, 2}, std::vector<int32_t>{511, 100'000, -512, -100'000})});
  auto interpreter = Interpreter::create(module, {});
  ASSERT_TRUE(interpreter);
  const std::vector<Tensor> beyond{Tensor::of<int32_t>(kInt32, {2, 2}, std::vector<int32_t>{512, 0, 0, 0})};
  EXPECT_FALSE(interpreter->run(beyond));
}

// RESCALE of 48-bit sums to `to`, with one factor or one per channel.
ir::Module wide_rescale_module(DType to, const std::vector<int8_t>& shifts, const std::vector<int16_t>& multipliers,
                               const Shape& shape) {
  Builder b;
  const ir::ValueId x = b.input("x", DType::kInt48, shape);
  const auto constant = [&]<typename T>(DType type, const std::vector<T>& values) {
    return b.constant(Tensor::of<T>(type, {static_cast<int64_t>(values.size())}, values));
  };
  const auto factors = constant(kInt16, multipliers), right = constant(kInt8, shifts);
  b.output(b.add(TosaOp::RESCALE,
                 {x, factors, right, b.constant(zero_point(DType::kInt48)), b.constant(zero_point(to))}, to, shape,
                 {{"scale32", false},
                  {"rounding_mode", int64_t{1}},
                  {"per_channel", shifts.size() > 1},
                  {"input_unsigned", false},
                  {"output_unsigned", false}}));
  return std::move(b.module);
}

TEST(SameBits, rescales_of_48_bits_match) {
  constexpr int64_t kLargest = (int64_t{1} << 47) - 1;
  Random random(12);
  for (const int64_t channels : {1, 7, 16, 33}) {
    for (const int low : {20, 31, 55}) {
      std::vector<int8_t> shifts;
      std::vector<int16_t> multipliers;
      for (int64_t c = 0; c < channels; ++c) {
        shifts.push_back(static_cast<int8_t>(low + static_cast<int>(random() % 8)));
        multipliers.push_back(c == 0 ? int16_t{32'767} : static_cast<int16_t>(random() % 32'768));
      }
      const int64_t bound = low == 55 ? kLargest : (int64_t{1} << (low + 31 - 16)) - 1;
      const Shape shape{41, channels};
      std::vector<int64_t> values;
      for (int64_t i = 0; i < shape.elements(); ++i)
        values.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(2 * bound)) - bound);
      values.front() = -bound;
      values.back() = bound;
      for (const DType to : {kInt8, kInt16, kInt32})
        expect_same_bits(wide_rescale_module(to, shifts, multipliers, shape),
                         {Tensor::of<int64_t>(DType::kInt48, shape, values)});
    }
  }
}

TEST(SameBits, rescale_of_48_bits_beyond_32_bits_is_an_error) {
  const Shape shape{1, 40};
  auto interpreter = Interpreter::create(wide_rescale_module(kInt16, {29}, {1 << 14}, shape), {});
  ASSERT_TRUE(interpreter);
  // Times 2^14 >> 29: 2^31 - 1 and 2^31.
  constexpr int64_t kMost = (int64_t{1} << 46) - (1 << 15), kBeyond = int64_t{1} << 46;
  for (const int64_t value : {kMost, kBeyond}) {
    std::vector<int64_t> values(40, 5);
    values[33] = value;
    const std::vector<Tensor> inputs{Tensor::of<int64_t>(DType::kInt48, shape, values)};
    EXPECT_EQ(interpreter->run(inputs).has_value(), value == kMost);
  }
}

// Adds two rescaled int8 values, with transposes before and after.
TEST(SameBits, sums_and_transposes_match) {
  Random random(4);
  for (const Shape& shape : {Shape{1, 60, 70, 3}, Shape{2, 33, 17, 40}}) {
    Builder b;
    const ir::ValueId x = b.input("x", kInt8, shape);
    const ir::ValueId y = b.input("y", kInt8, shape);
    const ir::ValueId sum =
        b.add(TosaOp::ADD, {add_rescale(b, random, x, kInt32, 20, 1), add_rescale(b, random, y, kInt32, 20, 1)}, kInt32,
              shape);
    const ir::ValueId narrow = add_rescale(b, random, sum, kInt8, 42, 1);
    const Shape moved{shape[0], shape[3], shape[1], shape[2]};
    const ir::ValueId there =
        b.add(TosaOp::TRANSPOSE, {narrow}, kInt8, moved, {{"perms", std::vector<int64_t>{0, 3, 1, 2}}});
    b.output(narrow);
    b.output(there);
    b.output(b.add(TosaOp::TRANSPOSE, {there}, kInt8, shape, {{"perms", std::vector<int64_t>{0, 2, 3, 1}}}));
    const std::vector<Tensor> inputs{random_integers<int8_t>(random, kInt8, shape, -128, 127),
                                     random_integers<int8_t>(random, kInt8, shape, -128, 127)};
    expect_same_bits(b.module, inputs);
    const std::vector<Tensor> out = outputs_of(b.module, inputs, {});
    EXPECT_TRUE(identical(out[0], out[2]));
    const auto from = out[0].values<int8_t>();
    const auto to = out[1].values<int8_t>();
    const int64_t pixels = shape[1] * shape[2];
    for (int64_t i = 0; i < shape.elements(); ++i) {
      const int64_t n = i / (pixels * shape[3]);
      const int64_t pixel = i / shape[3] % pixels;
      ASSERT_EQ(from[static_cast<size_t>(i)], to[static_cast<size_t>((n * shape[3] + i % shape[3]) * pixels + pixel)]);
    }
  }
}

// Every panel holds its columns, with zeros after the last one, also if rows and columns do not fill a vector.
TEST(SameBits, packed_matrices_hold_their_columns) {
  constexpr int64_t kLanes = 16;
  const int64_t supported = hwy::SupportedTargets();
  for (int64_t rest = supported; rest != 0; rest &= rest - 1) {
    hwy::SetSupportedTargetsForTest(rest);
    hwy::GetChosenTarget().Update(rest);
    for (const int64_t k : {1, 4, 15, 16, 18, 67}) {
      for (const int64_t n : {16, 35}) {
        const int64_t panels = (n + kLanes - 1) / kLanes, stride = k + 3;
        std::vector<float> columns(static_cast<size_t>(n * stride)), packed(static_cast<size_t>(panels * k * kLanes));
        for (size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<float>(i + 1);
        kernels::pack_matrix_f32(columns.data(), 1, stride, k, n, packed.data());
        for (int64_t c = 0; c < panels * kLanes; ++c) {
          for (int64_t row = 0; row < k; ++row) {
            const float expected = c < n ? columns[static_cast<size_t>(c * stride + row)] : 0.0F;
            ASSERT_EQ(packed[static_cast<size_t>((c / kLanes * k + row) * kLanes + c % kLanes)], expected) << c;
          }
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// A bilinear RESIZE by the formula of the specification.
std::vector<int32_t> resized(const Tensor& in, const Shape& out, const std::vector<int64_t>& scale,
                             const std::vector<int64_t>& offset) {
  const auto values = in.values<int8_t>();
  std::vector<int32_t> results;
  const auto neighbors = [&](size_t axis, int64_t at) {
    const int64_t position = at * scale[2 * axis + 1] + offset[axis], n = scale[2 * axis];
    const int64_t whole = position >= 0 ? position / n : -((n - 1 - position) / n);
    const auto inside = [&](int64_t i) { return std::clamp<int64_t>(i, 0, in.shape[axis + 1] - 1); };
    return std::array{inside(whole), inside(whole + 1), position - whole * n};
  };
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t y = 0; y < out[1]; ++y) {
      for (int64_t x = 0; x < out[2]; ++x) {
        const auto rows = neighbors(0, y), columns = neighbors(1, x);
        for (int64_t c = 0; c < out[3]; ++c) {
          const auto at = [&](int64_t row, int64_t column) {
            return int64_t{
                values[static_cast<size_t>(((n * in.shape[1] + row) * in.shape[2] + column) * in.shape[3] + c)]};
          };
          const auto along = [&](int64_t row) {
            return at(row, columns[0]) * (scale[2] - columns[2]) + at(row, columns[1]) * columns[2];
          };
          results.push_back(static_cast<int32_t>(along(rows[0]) * (scale[0] - rows[2]) + along(rows[1]) * rows[2]));
        }
      }
    }
  }
  return results;
}

TEST(SameBits, bilinear_bytes_follow_the_specification) {
  struct Size {
    Shape in;
    std::vector<int64_t> out;
    std::vector<int64_t> scale, offset, border;
  };
  Random random(31);
  for (const Size& size : {Size{{2, 7, 9, 5}, {14, 18}, {4, 2, 4, 2}, {-1, -1}, {1, 1}},
                           Size{{1, 5, 6, 33}, {9, 11}, {2, 1, 2, 1}, {0, 0}, {0, 0}},
                           Size{{1, 1, 4, 64}, {2, 10}, {2, 1, 3, 1}, {0, 0}, {1, 0}},
                           Size{{1, 8, 8, 3}, {4, 3}, {2, 4, 2, 6}, {1, 1}, {-1, -1}}}) {
    Builder b;
    const Tensor in = random_integers<int8_t>(random, kInt8, size.in, -128, 127);
    const Shape out{size.in[0], size.out[0], size.out[1], size.in[3]};
    const auto list = [&](const std::vector<int64_t>& numbers) {
      return b.constant(Tensor::of<int64_t>(kShape, {std::ssize(numbers)}, numbers));
    };
    const ir::ValueId x = b.input("x", kInt8, size.in);
    b.output(b.add(TosaOp::RESIZE, {x, list(size.scale), list(size.offset), list(size.border)}, kInt32, out,
                   {{"mode", int64_t{2}}}));
    const auto got = outputs_of(b.module, {in}, {});
    ASSERT_EQ(testing::values_of<int32_t>(got.front()), resized(in, out, size.scale, size.offset)) << to_string(out);
    expect_same_bits(b.module, {in});
  }
}

}  // namespace

}  // namespace carina::interpret
