#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/kernels/element_internal.h"

// Positions of a resized image's elements in the image.
namespace carina::runtime {

// The number of input elements per output element. As in PyTorch, it is the inverse of the given factor, or else the
// ratio of the sizes.
inline double scale_of(std::span<const double> factors, size_t axis, int64_t in, int64_t out) {
  if (in == out) return 1;  // independent of the factor
  if (axis < factors.size() && factors[axis] > 0) return 1.0 / factors[axis];
  return static_cast<double>(in) / static_cast<double>(out);
}

// If the size doubles, each element occurs twice, independent of the factor.
inline double nearest_scale(double scale, int64_t in, int64_t out) {
  return out == 2 * in ? 0.5 : scale;
}

template <typename T>
int64_t nearest(double scale, int64_t index, int64_t size) {
  return std::min(to_int64(static_cast<double>(std::floor(static_cast<T>(index) * static_cast<T>(scale)))), size - 1);
}

// Two neighbors of an axis and the weight of the second.
template <typename T>
struct Interpolation {
  int64_t first, second;
  T weight;
};

// `scale` is in input elements per output element; corners are aligned, or pixels have half-pixel centers.
template <typename T>
Interpolation<T> interpolation_of(double scale, bool align_corners, int64_t index, int64_t size) {
  const T step = static_cast<T>(scale);
  const T position =
      align_corners ? step * static_cast<T>(index) : std::max(step * (static_cast<T>(index) + T{0.5}) - T{0.5}, T{0});
  const int64_t first = std::min(to_int64(static_cast<double>(position)), size - 1);
  return {.first = first, .second = std::min(first + 1, size - 1), .weight = position - static_cast<T>(first)};
}

// Of aligned corners.
inline double corner_scale(int64_t in, int64_t out) {
  return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
}

}  // namespace carina::runtime
