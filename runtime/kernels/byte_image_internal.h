#pragma once

#include "runtime/kernels/triangle_internal.h"
#include "runtime/kernels/window_internal.h"

namespace carina::runtime {

// Along one axis of an image of bytes, as eager PyTorch resizes them: weights are integers with as many bits behind the
// point as the largest leaves in 15, and each axis rounds its sum to a byte. `TriangleOf`: index -> Triangle<double>.
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

  // `read`: index of an input element -> its byte.
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

// Resizes an image of bytes: along rows first, then along columns.
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
