#include "kernels/micro/float_math.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace carina::kernels {

namespace {

constexpr double kLn2High = 0x1.62e42fefap-1;  // 35 bits: n * kLn2High is exact for |n| < 2^18
constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;

// Horner's scheme from the highest coefficient down.
template <size_t N>
double polynomial(const std::array<double, N>& lowest_first, double x) {
  double sum = lowest_first[N - 1];
  for (size_t i = N - 1; i-- > 0;) sum = sum * x + lowest_first[i];
  return sum;
}

constexpr double inverse_factorial(int n) {
  return n <= 1 ? 1.0 : inverse_factorial(n - 1) / n;
}

template <size_t N>
constexpr std::array<double, N> exp_series() {
  std::array<double, N> series{};
  for (size_t i = 0; i < N; ++i) series[i] = inverse_factorial(static_cast<int>(i));
  return series;
}

// 2^n for n in the range of normal doubles.
double power_of_two(int n) {
  return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

// e^x for any number x; 0 and infinity outside of the range of double.
double exp_of(double x) {
  if (x > 709) return std::numeric_limits<double>::infinity();
  if (x < -708) return 0;
  const double n = std::floor(x * std::numbers::log2e + 0.5);
  const double r = (x - n * kLn2High) - n * kLn2Low;  // |r| <= ln2 / 2
  static constexpr auto kSeries = exp_series<14>();
  return polynomial(kSeries, r) * power_of_two(static_cast<int>(n));
}

// ln x for finite x > 0.
double log_of(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < std::numbers::sqrt2 / 2) {
    mantissa *= 2;
    --exponent;
  }
  const double f = (mantissa - 1) / (mantissa + 1);  // ln m = 2 (f + f^3/3 + f^5/5 ...), |f| < 0.172
  static constexpr std::array<double, 13> kSeries{2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                                  2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23, 2.0 / 25};
  return exponent * kLn2High + (f * polynomial(kSeries, f * f) + exponent * kLn2Low);
}

// x = quadrant * pi/2 + rest, |rest| <= pi/4 (a little more at the edges).
struct Reduced {
  int quadrant;
  double rest;
};

// Payne and Hanek's reduction: multiplies the mantissa by the relevant bits of 2/pi, modulo 4. |x| >= 2^20.
Reduced reduce_large(float x) {
  static constexpr std::array<uint32_t, 8> kTwoOverPi{0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0,
                                                      0xDB629599, 0x3C439041, 0xFE5163AB, 0xDEBBC561};
  const auto bits = std::bit_cast<uint32_t>(std::fabs(x));
  const uint64_t mantissa = (bits & 0x7FFFFFU) | 0x800000U;
  const int exponent = static_cast<int>(bits >> 23) - 150;  // |x| = mantissa * 2^exponent, exponent >= -3
  const int skip = exponent - 2 < 0 ? 0 : exponent - 2;     // bits of 2/pi whose product is a multiple of 4
  const auto word = [&](int index) {                        // 32 bits of 2/pi from bit skip + 32 * index
    const int at = skip + 32 * index;
    const uint64_t pair =
        (uint64_t{kTwoOverPi[static_cast<size_t>(at / 32)]} << 32) | kTwoOverPi[static_cast<size_t>(at / 32 + 1)];
    return (pair >> (32 - at % 32)) & 0xFFFFFFFFU;
  };
  const uint64_t low = mantissa * word(2);
  const uint64_t middle = mantissa * word(1) + (low >> 32);
  const uint64_t high = mantissa * word(0) + (middle >> 32);
  // high:middle is mantissa * 2/pi * 2^(64 + skip) modulo 2^64. `point` is the position of the binary point of x *
  // 2/pi.
  const uint64_t product = (high << 32) | (middle & 0xFFFFFFFFU);
  const int point = exponent - skip;  // 2, or less for small exponents
  const uint64_t scaled = point >= 0 ? product : product >> -point;
  const int integer_bits = point >= 0 ? point : 0;
  uint64_t quadrant = integer_bits == 0 ? 0 : scaled >> (64 - integer_bits);
  auto fraction = static_cast<int64_t>(scaled << integer_bits);  // as a signed number in [-1/2, 1/2)
  if (fraction < 0) ++quadrant;
  const double rest = static_cast<double>(fraction) * 0x1p-64 * (std::numbers::pi / 2);
  const int q = static_cast<int>(quadrant & 3);
  return x < 0 ? Reduced{(4 - q) & 3, -rest} : Reduced{q, rest};
}

Reduced reduce(float x) {
  if (std::fabs(x) >= 0x1p20F) return reduce_large(x);
  constexpr double kHigh = 0x1.921fb544p+0;  // the first 33 bits of pi/2: products with n are exact
  constexpr double kMiddle = 0x1.0b4611a6p-34;
  constexpr double kLow = 0x1.3198a2e037073p-69;
  const double n = std::floor(x * (2 * std::numbers::inv_pi) + 0.5);
  const double rest = ((x - n * kHigh) - n * kMiddle) - n * kLow;
  return {.quadrant = static_cast<int>(static_cast<int64_t>(n) & 3), .rest = rest};
}

template <size_t N>
constexpr std::array<double, N> alternating_series(int first) {
  std::array<double, N> series{};
  for (size_t i = 0; i < N; ++i) series[i] = (i % 2 == 0 ? 1 : -1) * inverse_factorial(first + 2 * static_cast<int>(i));
  return series;
}

double sine(double r) {
  static constexpr auto kSeries = alternating_series<10>(1);
  return r * polynomial(kSeries, r * r);
}

double cosine(double r) {
  static constexpr auto kSeries = alternating_series<10>(0);
  return polynomial(kSeries, r * r);
}

float sine_of_quadrant(const Reduced& angle, int add) {
  switch ((angle.quadrant + add) & 3) {
    case 0:
      return static_cast<float>(sine(angle.rest));
    case 1:
      return static_cast<float>(cosine(angle.rest));
    case 2:
      return static_cast<float>(-sine(angle.rest));
    default:
      return static_cast<float>(-cosine(angle.rest));
  }
}

bool is_odd_integer(float y) {
  return std::fabs(y) < 0x1p24F && std::floor(y) == y && (static_cast<int64_t>(y) & 1) != 0;
}

}  // namespace

float exact_exp(float x) {
  return std::isnan(x) ? x : static_cast<float>(exp_of(x));
}

float exact_log(float x) {
  if (std::isnan(x)) return x;
  if (x < 0) return std::numeric_limits<float>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<float>::infinity();
  return std::isinf(x) ? x : static_cast<float>(log_of(x));
}

float exact_sin(float x) {
  if (!std::isfinite(x)) return std::numeric_limits<float>::quiet_NaN();
  return x == 0 ? x : sine_of_quadrant(reduce(x), 0);
}

float exact_cos(float x) {
  if (!std::isfinite(x)) return std::numeric_limits<float>::quiet_NaN();
  return sine_of_quadrant(reduce(x), 1);
}

float exact_tanh(float x) {
  if (std::isnan(x)) return x;
  const double v = x;
  if (std::fabs(x) < 1e-3F) return static_cast<float>(v - v * v * v / 3);
  const double e = exp_of(-2 * std::fabs(v));
  const double t = (1 - e) / (1 + e);
  return static_cast<float>(x < 0 ? -t : t);
}

float exact_sigmoid(float x) {
  return std::isnan(x) ? x : static_cast<float>(1 / (1 + exp_of(-static_cast<double>(x))));
}

// erf x = 2/sqrt(pi) e^(-x^2) (x + 2 x^3/3 + 4 x^5/15 + ...). All terms are positive, so there is no cancellation.
float exact_erf(float x) {
  if (std::isnan(x)) return x;
  if (std::fabs(x) >= 4) return x < 0 ? -1.0F : 1.0F;
  const double v = x;
  double term = v;
  double sum = v;
  for (int n = 1; n < 100 && std::fabs(term) > std::fabs(sum) * 1e-17; ++n) {
    term *= 2 * v * v / (2 * n + 1);
    sum += term;
  }
  return static_cast<float>(2 * std::numbers::inv_sqrtpi * exp_of(-v * v) * sum);
}

float exact_pow(float x, float y) {
  const bool special =
      x == 0 || y == 0 || x == 1 || !std::isfinite(x) || !std::isfinite(y) || (x < 0 && std::floor(y) != y);
  if (special) return std::pow(x, y);  // exact by the standard: only 0, 1, infinities and NaN
  const double magnitude = exp_of(static_cast<double>(y) * log_of(std::fabs(x)));
  return static_cast<float>(x < 0 && is_odd_integer(y) ? -magnitude : magnitude);
}

float exact_rsqrt(float x) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(x)));
}

}  // namespace carina::kernels
