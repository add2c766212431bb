#include "tensor/float_formats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace carina {

namespace {

// Which values the all-ones exponent holds.
enum class Specials {
  kInfinity,  // infinity and NaN, as in IEEE 754
  kNan,       // finite values, and NaN if the mantissa is all ones too
  kNone,      // finite values only
};

// A narrow IEEE-like binary format.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  Specials specials;
};
constexpr Format kFp16{.exponent_bits = 5, .mantissa_bits = 10, .specials = Specials::kInfinity};
constexpr Format kBf16{.exponent_bits = 8, .mantissa_bits = 7, .specials = Specials::kInfinity};
constexpr Format kE4M3{.exponent_bits = 4, .mantissa_bits = 3, .specials = Specials::kNan};
constexpr Format kE5M2{.exponent_bits = 5, .mantissa_bits = 2, .specials = Specials::kInfinity};
constexpr Format kE2M3{.exponent_bits = 2, .mantissa_bits = 3, .specials = Specials::kNone};
constexpr Format kE3M2{.exponent_bits = 3, .mantissa_bits = 2, .specials = Specials::kNone};
constexpr Format kE2M1{.exponent_bits = 2, .mantissa_bits = 1, .specials = Specials::kNone};

// fp8ue8m0: an exponent only.
constexpr int kBiasE8M0 = 127;
constexpr uint8_t kNanE8M0 = 0xFF;

constexpr int bias_of(Format f) {
  return (1 << (f.exponent_bits - 1)) - 1;
}

// Widens a number. Its fields are moved to the fields of fp32; then only the bias of the exponent is wrong. A product
// with a power of two corrects it exactly, also for subnormal values.
constexpr float widen(uint32_t bits, Format f) {
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  const uint32_t sign = bits >> magnitude_bits << 31;
  const uint32_t magnitude = bits & ((1U << magnitude_bits) - 1);
  const uint32_t infinity = ((1U << f.exponent_bits) - 1) << f.mantissa_bits;
  const uint32_t fields = magnitude << (23 - f.mantissa_bits);
  if (f.specials == Specials::kNan && magnitude == (1U << magnitude_bits) - 1)
    return std::bit_cast<float>(sign | 0x7FC00000U);
  if (f.specials == Specials::kInfinity && magnitude >= infinity)
    return std::bit_cast<float>(sign | 0x7F800000U | fields);
  const auto scale = std::bit_cast<float>(static_cast<uint32_t>(127 + 127 - bias_of(f)) << 23);
  return std::bit_cast<float>(sign | fields) * scale;
}

constexpr std::array<float, 256> widen_all(Format f) {
  std::array<float, 256> all{};
  for (uint32_t bits = 0; bits < all.size(); ++bits) all[bits] = widen(bits, f);
  return all;
}
constexpr std::array<float, 256> kWideE4M3 = widen_all(kE4M3);
constexpr std::array<float, 256> kWideE5M2 = widen_all(kE5M2);

uint32_t narrow(float value, Format f) {
  const uint32_t exponent_mask = (1U << f.exponent_bits) - 1;
  const uint32_t sign = (std::bit_cast<uint32_t>(value) >> 31) << (f.mantissa_bits + f.exponent_bits);
  const uint32_t infinity = exponent_mask << f.mantissa_bits;
  const uint32_t all_ones = infinity | ((1U << f.mantissa_bits) - 1);
  const auto [nan, largest, overflow] = [&]() -> std::array<uint32_t, 3> {
    switch (f.specials) {
      case Specials::kInfinity:
        return {sign | infinity | (1U << (f.mantissa_bits - 1)), infinity - 1, infinity};
      case Specials::kNan:
        return {sign | all_ones, all_ones - 1, all_ones};
      case Specials::kNone:
        return {0, all_ones, all_ones};
    }
    return {};
  }();
  if (std::isnan(value)) return nan;
  if (std::isinf(value)) return sign | overflow;
  if (value == 0) return sign;
  int exponent = 0;
  const float magnitude = std::fabs(value);
  std::frexp(magnitude, &exponent);  // magnitude in [2^(exponent-1), 2^exponent)
  const int unit = std::max(exponent - 1, 1 - bias_of(f)) - f.mantissa_bits;
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(static_cast<double>(magnitude), -unit)));
  // A carry from the mantissa increments the exponent field correctly, because the encodings of one sign are
  // consecutive integers.
  const uint32_t exponent_field = static_cast<uint32_t>(unit + f.mantissa_bits + bias_of(f) - 1);
  const uint32_t bits = steps + (exponent_field << f.mantissa_bits);
  return sign | (bits > largest ? overflow : bits);
}

}  // namespace

float fp16_to_fp32(uint16_t bits) {
  return widen(bits, kFp16);
}
uint16_t fp32_to_fp16(float value) {
  return static_cast<uint16_t>(narrow(value, kFp16));
}
uint16_t fp32_to_bf16(float value) {
  return static_cast<uint16_t>(narrow(value, kBf16));
}
float fp8e4m3_to_fp32(uint8_t bits) {
  return kWideE4M3[bits];
}
uint8_t fp32_to_fp8e4m3(float value) {
  return static_cast<uint8_t>(narrow(value, kE4M3));
}
float fp8e5m2_to_fp32(uint8_t bits) {
  return kWideE5M2[bits];
}
uint8_t fp32_to_fp8e5m2(float value) {
  return static_cast<uint8_t>(narrow(value, kE5M2));
}
float fp6e2m3_to_fp32(uint8_t bits) {
  return widen(bits & 0x3F, kE2M3);
}
uint8_t fp32_to_fp6e2m3(float value) {
  return static_cast<uint8_t>(narrow(value, kE2M3));
}
float fp6e3m2_to_fp32(uint8_t bits) {
  return widen(bits & 0x3F, kE3M2);
}
uint8_t fp32_to_fp6e3m2(float value) {
  return static_cast<uint8_t>(narrow(value, kE3M2));
}
float fp4e2m1_to_fp32(uint8_t bits) {
  return widen(bits & 0xF, kE2M1);
}
uint8_t fp32_to_fp4e2m1(float value) {
  return static_cast<uint8_t>(narrow(value, kE2M1));
}
float fp8ue8m0_to_fp32(uint8_t bits) {
  return bits == kNanE8M0 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0F, bits - kBiasE8M0);
}
uint8_t fp32_to_fp8ue8m0(float value) {
  if (std::isnan(value)) return kNanE8M0;
  if (!(value > 0)) return 0;
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);  // value = fraction * 2^exponent, fraction in [0.5, 1)
  if (std::isinf(value)) exponent = 128;
  return static_cast<uint8_t>(std::clamp(exponent - (fraction == 0.5F ? 1 : 0) + kBiasE8M0, 0, kNanE8M0 - 1));
}

}  // namespace carina
