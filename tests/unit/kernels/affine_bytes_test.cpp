// Affine functions of bytes beside 64-bit arithmetic, and sums of narrow rows.

#include "kernels/micro/affine_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/affine.h"

namespace carina::kernels {

namespace {

using Random = std::mt19937_64;

int64_t any_in(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

std::vector<int8_t> any_bytes(Random& random, int64_t count) {
  std::vector<int8_t> bytes(static_cast<size_t>(count));
  std::ranges::generate(bytes, [&] { return static_cast<int8_t>(any_in(random, -128, 127)); });
  return bytes;
}

// A function whose results are about as wide as a byte.
struct Function {
  int64_t factor, addend;
  int shift;

  [[nodiscard]] int8_t operator()(int8_t x, int8_t low, int8_t high) const {
    return static_cast<int8_t>(std::clamp<int64_t>((x * factor + addend) >> shift, low, high));
  }
  [[nodiscard]] Affine parts() const { return *Affine::create(factor, addend, shift); }
};
Function any_function(Random& random) {
  const int shift = static_cast<int>(any_in(random, 22, 42));
  const int64_t one = int64_t{1} << shift;
  return {.factor = any_in(random, -2 * one, 2 * one), .addend = any_in(random, -200 * one, 200 * one), .shift = shift};
}

constexpr int64_t kSizes[] = {1, 3, 8, 31, 32, 33, 64, 65, 127, 300};

TEST(AffineBytes, rows_have_the_results_of_64_bits) {
  Random random(1);
  for (const int64_t columns : kSizes) {
    constexpr int64_t kRows = 5;
    const auto low = static_cast<int8_t>(columns % 2 == 0 ? -128 : -20), high = static_cast<int8_t>(127);
    const std::vector<int8_t> in = any_bytes(random, kRows * (columns + 2));
    std::vector<Function> functions;
    std::vector<Affine> factors;
    for (int64_t r = 0; r < kRows; ++r) {
      functions.push_back(any_function(random));
      factors.push_back(functions.back().parts());
    }
    std::vector<int8_t> out(static_cast<size_t>(kRows * columns));
    affine_rows({.in = in.data(),
                 .in_stride = columns + 2,
                 .out = out.data(),
                 .rows = kRows,
                 .columns = columns,
                 .factors = factors.data(),
                 .low = low,
                 .high = high});
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t c = 0; c < columns; ++c)
        ASSERT_EQ(out[static_cast<size_t>(r * columns + c)],
                  functions[static_cast<size_t>(r)](in[static_cast<size_t>(r * (columns + 2) + c)], low, high))
            << columns << " columns, row " << r << ", column " << c;
    }
  }
}

TEST(AffineBytes, columns_have_the_results_of_64_bits) {
  Random random(2);
  for (const int64_t columns : kSizes) {
    for (const int64_t stride : {columns, columns + 3}) {
      constexpr int64_t kRows = 70;
      const std::vector<int8_t> in = any_bytes(random, kRows * stride);
      std::vector<Function> functions;
      std::vector<Affine> factors;
      for (int64_t c = 0; c < columns; ++c) {
        functions.push_back(any_function(random));
        factors.push_back(functions.back().parts());
      }
      std::vector<int8_t> out(static_cast<size_t>(kRows * columns));
      AffineColumns(factors).run({.in = in.data(), .in_stride = stride, .out = out.data(), .rows = kRows});
      for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t c = 0; c < columns; ++c)
          ASSERT_EQ(out[static_cast<size_t>(r * columns + c)],
                    functions[static_cast<size_t>(c)](in[static_cast<size_t>(r * stride + c)], -128, 127))
              << columns << " columns, row " << r << ", column " << c;
      }
    }
  }
}

TEST(AffineBytes, parts_that_do_not_fit_are_none) {
  EXPECT_FALSE(Affine::create(1, 0, Affine::kLowBits - 1));
  EXPECT_FALSE(Affine::create(int64_t{1} << 46, 0, 50));
  EXPECT_FALSE(Affine::create(0, int64_t{1} << 52, 50));
  EXPECT_TRUE(Affine::create((int64_t{1} << 39) - 1, int64_t{1} << 46, 40));
}

TEST(AffineBytes, squares_round_to_even) {
  std::vector<int8_t> in(256);
  std::iota(in.begin(), in.end(), int8_t{-128});
  for (const float factor : {1.0F, 0.5F, 0.0037F}) {
    std::vector<int16_t> out(in.size());
    square_bytes({.in = in.data(),
                  .zero_point = 3,
                  .factor = factor,
                  .addend = -7,
                  .out = out.data(),
                  .to_bytes = false,
                  .count = std::ssize(in)});
    for (size_t i = 0; i < in.size(); ++i) {
      const auto x = static_cast<float>(in[i] - 3);
      EXPECT_EQ(out[i], static_cast<int16_t>(std::nearbyint(x * x * factor) - 7)) << factor << " " << int{in[i]};
    }
  }
}

TEST(ReduceIntegers, rows_of_bytes_and_shorts_have_their_sums) {
  Random random(3);
  for (const int64_t length : kSizes) {
    constexpr int64_t kRows = 3;
    const std::vector<int8_t> bytes = any_bytes(random, kRows * length);
    std::vector<int16_t> shorts(bytes.size());
    std::ranges::generate(shorts, [&] { return static_cast<int16_t>(any_in(random, INT16_MIN, INT16_MAX)); });
    std::vector<int32_t> of_bytes(kRows), of_shorts(kRows);
    reduce_integers({.op = Reduction::kSum,
                     .type = DType::kInt8,
                     .in = bytes.data(),
                     .out = of_bytes.data(),
                     .length = length,
                     .stride = 1,
                     .count = kRows});
    reduce_integers({.op = Reduction::kSum,
                     .type = DType::kInt16,
                     .in = shorts.data(),
                     .out = of_shorts.data(),
                     .length = length,
                     .stride = 1,
                     .count = kRows});
    for (int64_t r = 0; r < kRows; ++r) {
      const auto at = r * length;
      EXPECT_EQ(of_bytes[static_cast<size_t>(r)],
                std::accumulate(bytes.begin() + at, bytes.begin() + at + length, int32_t{0}));
      EXPECT_EQ(of_shorts[static_cast<size_t>(r)],
                std::accumulate(shorts.begin() + at, shorts.begin() + at + length, int32_t{0}));
    }
  }
}

}  // namespace

}  // namespace carina::kernels
