#pragma once

#include "runtime/kernels/triangle_internal.h"
#include "runtime/kernels/window_internal.h"

namespace carina::runtime {

// Resizes a byte image along one axis, with the arithmetic of eager PyTorch. Weights are fixed-point int16 with as many
// fraction bits as the largest weight allows. The sum along each axis is rounded to a byte. `TriangleOf` maps an index
// to its Triangle<double>.
template <typename TriangleOf>
class ByteAxis {
 public:
  ByteAxis(TriangleOf triangle_of, int64_t outputs) : triangle_of_(triangle_of) {
    double largest = 0;
    for (int64_t i = 0; i < outputs; ++i) {
      const Triangle<double> triangle = triangle_of_(i);
      for (int64_t k = 0; k < triangle.count; ++k) largest = std::max(largest, triangle.weight(k));
    }
    constexpr int kMaxBits = 22;
    while (bits_ < kMaxBits && 0.5 + largest * static_cast<double>(int64_t{2} << bits_) < 32768) ++bits_;
  }

  // `read` maps the index of an input element to its byte.
  template <typename Read>
  int64_t resized(int64_t index, const Read& read) const {
    const Triangle<double> triangle = triangle_of_(index);
    const double one = static_cast<double>(int64_t{1} << bits_);
    int64_t sum = bits_ == 0 ? 0 : int64_t{1} << (bits_ - 1);
    for (int64_t k = 0; k < triangle.count; ++k)
      sum += to_int64(0.5 + triangle.weight(k) * one) * read(triangle.begin + k);
    return std::clamp<int64_t>(sum >> bits_, 0, 255);
  }

 private:
  TriangleOf triangle_of_;
  int bits_ = 0;
};

// Resizes a byte image, along rows first, then along columns.
template <typename RowsOf, typename ColumnsOf>
void resize_bytes(const Tensor& in, const Image& from, const RowsOf& rows_of, const ColumnsOf& columns_of,
                  const Tensor& out, const Image& to) {
  const ByteAxis rows(rows_of, to.height);
  const ByteAxis columns(columns_of, to.width);
  const auto* bytes = in.as<const uint8_t>();
  for_each(to, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
    const auto across = [&](int64_t row) {
      return columns.resized(x, [&](int64_t column) { return int64_t{bytes[index_in(from, n, c, row, column)]}; });
    };
    out.as<uint8_t>()[index_in(to, n, c, y, x)] = static_cast<uint8_t>(rows.resized(y, across));
  });
}

}  // namespace carina::runtime
