#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/kernels/element_internal.h"

namespace carina::runtime {

// The input elements of one output element of a bilinear resize along an axis, with triangular weights. T is the type
// of coordinates and weights.
template <typename T>
struct Triangle {
  int64_t begin = 0, count = 0;
  T center = 0, inverse_width = 1, total = 0;

  [[nodiscard]] T raw(int64_t i) const {
    const T x = (static_cast<T>(begin + i) - center + T{0.5}) * inverse_width;
    return std::max(1 - std::fabs(x), T{0});
  }
  [[nodiscard]] T weight(int64_t i) const { return total == 0 ? 0 : raw(i) / total; }
};

template <typename T>
Triangle<T> summed(Triangle<T> triangle) {
  for (int64_t i = 0; i < triangle.count; ++i) triangle.total += triangle.raw(i);
  return triangle;
}

// The triangle is wider if the image shrinks, which avoids aliasing. `scale`: input elements per output element.
template <typename T>
Triangle<T> wide_triangle(T scale, int64_t index, int64_t size) {
  Triangle<T> triangle;
  const T support = std::max(scale, T{1});
  triangle.inverse_width = 1 / support;
  triangle.center = scale * (static_cast<T>(index) + T{0.5});
  triangle.begin = std::max<int64_t>(to_int64(static_cast<double>(triangle.center - support + T{0.5})), 0);
  triangle.count = std::min(to_int64(static_cast<double>(triangle.center + support + T{0.5})), size) - triangle.begin;
  return summed(triangle);
}

// The two neighbors of a coordinate, or one at the end of the axis. Corners are aligned, or pixels have half-pixel
// centers.
inline Triangle<double> narrow_triangle(double scale, bool align_corners, int64_t index, int64_t size) {
  const double at = static_cast<double>(index);
  const double position = align_corners ? scale * at : std::max(scale * (at + 0.5) - 0.5, 0.0);
  Triangle<double> triangle;
  triangle.center = position + 0.5;
  triangle.begin = std::min(to_int64(position), size - 1);
  triangle.count = std::min<int64_t>(size - triangle.begin, 2);
  return summed(triangle);
}

}  // namespace carina::runtime
