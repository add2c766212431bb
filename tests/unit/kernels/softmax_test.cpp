// Checks softmax on every processor, bit by bit against one element at a time: rows and columns of all widths around a
// vector's, large differences, infinities and NaN.
#include <algorithm>
#include <limits>

#include "every_target.h"
#include "kernels/micro/microkernels.h"

namespace carina::kernels {

namespace {

using testing::Guarded, testing::on_every_target;

// e^x for x <= 0, within 2 ULP of the exact value: 2^n * polynomial(r).
float exponential(float x) {
  if (std::isnan(x)) return x;
  if (x < -87.0F) return 0;
  const float n = std::nearbyint(x * 1.44269504F);
  const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  for (const float c : {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F})
    p = p * r + c;
  return (p * (r * r) + r + 1.0F) * std::ldexp(1.0F, static_cast<int>(n));
}

// `count` elements `stride` apart. The sum of a row is eight sums of every eighth element, that of a column is one.
std::vector<float> expected(const float* in, int64_t count, int64_t stride, int64_t sums, bool log) {
  float max = in[0];
  for (int64_t i = 0; i < count; ++i) max = in[i * stride] > max || std::isnan(in[i * stride]) ? in[i * stride] : max;
  std::vector<double> parts(static_cast<size_t>(sums), 0.0);
  for (int64_t i = 0; i < count; ++i) parts[static_cast<size_t>(i % sums)] += exponential(in[i * stride] - max);
  double sum = 0;
  for (const double part : parts) sum += part;
  const auto total = static_cast<float>(sum);
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(log ? in[i * stride] - max - std::log(total) : exponential(in[i * stride] - max) / total);
  return out;
}

// NaN equals NaN of any bits: processors choose the sign.
void expect_equal(float wanted, float got, int64_t i) {
  if (std::isnan(wanted) && std::isnan(got)) return;
  ASSERT_EQ(std::bit_cast<uint32_t>(wanted), std::bit_cast<uint32_t>(got)) << i << ": " << wanted << ' ' << got;
}

// Random numbers, among them some that are far below the others. `special` replaces one of the first row's.
void fill(std::span<float> numbers, std::mt19937& random, float special) {
  std::normal_distribution<float> near, far(0, 60);
  for (float& value : numbers) value = random() % 4 == 0 ? far(random) : near(random);
  if (special != 0) numbers[random() % numbers.size()] = special;
}

constexpr float kSpecial[] = {0, -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};

TEST(Softmax, rows_have_the_bits_of_single_elements) {
  std::mt19937 random(1);
  for (int64_t count = 1; count < 70; ++count) {
    for (const float special : kSpecial) {
      Guarded in(count);
      fill(in.numbers(), random, special);
      for (const bool log : {false, true}) {
        const auto wanted = expected(in.data(), count, 1, 8, log);
        on_every_target([&] {
          Guarded out(count);
          softmax_row(in.data(), out.data(), count, log);
          for (int64_t i = 0; i < count; ++i) expect_equal(wanted[static_cast<size_t>(i)], out.data()[i], i);
          out.expect_margins();
        });
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Softmax, columns_have_the_bits_of_single_elements) {
  std::mt19937 random(2);
  constexpr int64_t kRows = 9;
  for (int64_t columns = 1; columns <= kSoftmaxColumns; ++columns) {
    for (const float special : kSpecial) {
      Guarded in(kRows * columns);
      fill(in.numbers(), random, special);
      for (const bool log : {false, true}) {
        on_every_target([&] {
          Guarded out(kRows * columns);
          softmax_columns(
              {.in = in.data(), .out = out.data(), .rows = kRows, .stride = columns, .columns = columns, .log = log});
          for (int64_t c = 0; c < columns; ++c) {
            const auto wanted = expected(in.data() + c, kRows, columns, 1, log);
            for (int64_t r = 0; r < kRows; ++r)
              expect_equal(wanted[static_cast<size_t>(r)], out.data()[r * columns + c], r * columns + c);
          }
          out.expect_margins();
        });
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace

}  // namespace carina::kernels
