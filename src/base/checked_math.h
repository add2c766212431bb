// Sums and products that detect overflow.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

namespace carina {

// Adds or multiplies sizes that come from a file. Returns no value if the exact result does not fit.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) {
  T out{};
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) {
  T out{};
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

// The product of all factors (1 for none).
[[nodiscard]] constexpr std::optional<int64_t> checked_product(std::span<const int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  return product;
}

template <std::integral T>
[[nodiscard]] constexpr T round_up(T value, T multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

template <std::integral T>
[[nodiscard]] constexpr T ceil_div(T value, T divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace carina
