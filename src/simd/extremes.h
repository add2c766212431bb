#pragma once

#include <limits>
#include <span>

namespace carina::simd {

// Least and greatest of fp32 elements (a zero is +0), and whether each is a number. Where one is not, the other two
// mean nothing.
struct Extremes {
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  bool numbers = true;

  void add(const Extremes& other) {
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
    numbers = numbers && other.numbers;
  }
  // Whether there is no infinity, nor what is no number.
  [[nodiscard]] bool are_finite() const {
    return numbers && min > -std::numeric_limits<float>::infinity() && max < std::numeric_limits<float>::infinity();
  }
};

// The same on every processor. No elements: a least one above the greatest one.
Extremes extremes_of(std::span<const float> elements);

}  // namespace carina::simd
