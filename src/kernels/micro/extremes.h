#pragma once

#include <limits>
#include <span>

// Extremes of fp32 values.
namespace carina::kernels {

// The minimum and maximum of fp32 elements (a zero counts as +0), and whether every element is a number. If one is NaN,
// minimum and maximum are meaningless.
struct Extremes {
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  bool numbers = true;

  void add(const Extremes& other) {
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
    numbers = numbers && other.numbers;
  }
  // Returns whether there is neither an infinity nor a NaN.
  [[nodiscard]] bool are_finite() const {
    return numbers && min > -std::numeric_limits<float>::infinity() && max < std::numeric_limits<float>::infinity();
  }
};

// Returns the same on every processor. Without elements, the minimum is greater than the maximum.
Extremes extremes_of(std::span<const float> elements);

}  // namespace carina::kernels
