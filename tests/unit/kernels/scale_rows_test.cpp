// RESCALE of i32 to i8 by one factor, on every processor, against the specification's formula: all values where the
// bound is small (there the kernel may compute in floats), and values around each change of the result where it is not.

#include <algorithm>
#include <random>
#include <vector>

#include "every_target.h"
#include "kernels/micro/microkernels.h"
#include "tensor/fixed_point.h"

namespace carina::kernels {

namespace {

using testing::on_every_target;

struct Factor {
  int32_t multiplier;
  int shift;
  int32_t zero_point;
  int64_t bound;
};

Scales scales_of(const Factor& f) {
  const auto shift = static_cast<int8_t>(f.shift);
  auto scales = make_scales({.multiplier = {&f.multiplier, 1},
                             .shift = {&shift, 1},
                             .rounding = Rounding::kSingle,
                             .bound = f.bound,
                             .channels = 1});
  EXPECT_TRUE(scales);
  scales->output_zp = f.zero_point;
  scales->low = -128;
  scales->high = 127;
  find_float_form(*scales);
  settle(*scales, DType::kInt8);
  return *std::move(scales);
}

int8_t expected(const Factor& f, int64_t value) {
  const int64_t scaled = apply_scale_32(value, f.multiplier, f.shift, Rounding::kSingle);
  return static_cast<int8_t>(std::clamp<int64_t>(scaled + f.zero_point, -128, 127));
}

// Also with rests of vectors: two rows with a gap between them.
void expect_results(const Factor& f, const Scales& scales, const std::vector<int32_t>& values) {
  const auto columns = static_cast<int64_t>(values.size()) / 2;
  std::vector<int8_t> out(values.size(), 99);
  on_every_target([&] {
    scale_rows({.scales = scales,
                .in_type = DType::kInt32,
                .out_type = DType::kInt8,
                .in = values.data(),
                .out = out.data(),
                .in_stride = columns,
                .out_stride = columns,
                .rows = 2,
                .first = 0,
                .channels = columns});
    for (size_t i = 0; i < static_cast<size_t>(2 * columns); ++i)
      ASSERT_EQ(expected(f, values[i]), out[i]) << values[i] << " * " << f.multiplier << " >> " << f.shift;
  });
}

std::vector<int32_t> all_values(int64_t bound) {
  std::vector<int32_t> values;
  for (int64_t v = -bound - 1; v <= bound; ++v) values.push_back(static_cast<int32_t>(v));
  return values;
}

// Values at which the result changes, and their neighbors.
std::vector<int32_t> values_around_changes(const Factor& f) {
  std::vector<int32_t> values{static_cast<int32_t>(-f.bound - 1), static_cast<int32_t>(f.bound), 0};
  for (int64_t t = -128 - f.zero_point; t <= 128 - f.zero_point; ++t) {
    const int64_t begin = (t * (int64_t{1} << f.shift) - (int64_t{1} << (f.shift - 1))) / f.multiplier;
    for (int64_t v = begin - 2; v <= begin + 2; ++v) {
      if (v >= -f.bound - 1 && v <= f.bound) values.push_back(static_cast<int32_t>(v));
    }
  }
  return values;
}

int32_t any_multiplier(std::mt19937& random) {
  return std::uniform_int_distribution<int32_t>(1 << 30, INT32_MAX)(random);
}

TEST(ScaleRows, products_of_bytes_scale_as_the_specification_says) {
  std::mt19937 random(5);
  int in_floats = 0;
  constexpr int kFactors = 60;
  for (int i = 0; i < kFactors; ++i) {
    const Factor f{.multiplier = i % 6 == 0 ? 1 << 30 : any_multiplier(random),
                   .shift = 31 + i % 12,
                   .zero_point = std::uniform_int_distribution<int32_t>(-128, 127)(random),
                   .bound = i % 2 == 0 ? 66'000 : 500};
    const Scales scales = scales_of(f);
    in_floats += scales.in_floats ? 1 : 0;
    expect_results(f, scales, all_values(f.bound));
  }
  EXPECT_GT(in_floats, kFactors / 2);
}

TEST(ScaleRows, sums_scale_as_the_specification_says) {
  std::mt19937 random(6);
  for (int shift = 30; shift <= 53; ++shift) {
    const Factor f{.multiplier = any_multiplier(random),
                   .shift = shift,
                   .zero_point = std::uniform_int_distribution<int32_t>(-128, 127)(random),
                   .bound = (1 << 29) - 1};
    const Scales scales = scales_of(f);
    EXPECT_FALSE(scales.in_floats);
    expect_results(f, scales, values_around_changes(f));
  }
}

}  // namespace

}  // namespace carina::kernels
