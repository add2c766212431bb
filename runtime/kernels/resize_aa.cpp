#include <algorithm>
#include <cmath>

#include "runtime/kernels/byte_image_internal.h"
#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/window_internal.h"

namespace carina::runtime {

namespace {

// Input elements per output element.
struct Scales {
  double rows, columns;
};

double scale_of(bool align_corners, double factor, int64_t in, int64_t out) {
  if (align_corners) return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  return factor > 0 ? 1 / factor : static_cast<double>(in) / static_cast<double>(out);
}

void resize_numbers(const Tensor& in, const Image& from, const Scales& scales, const Tensor& out, const Image& to) {
  const auto read = Numbers::reader(in);
  const auto write = Numbers::writer(out);
  for_each(to, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
    const Triangle rows = wide_triangle(scales.rows, y, from.height);
    const Triangle columns = wide_triangle(scales.columns, x, from.width);
    double sum = 0;
    for (int64_t i = 0; i < rows.count; ++i) {
      double row = 0;
      for (int64_t j = 0; j < columns.count; ++j)
        row += columns.weight(j) * read(index_in(from, n, c, rows.begin + i, columns.begin + j));
      sum += rows.weight(i) * row;
    }
    write(index_in(to, n, c, y, x), sum);
  });
}

// Integers other than uint8, with the arithmetic of ExecuTorch's kernel, which truncates the sum at each step. Eager
// PyTorch supports uint8 only.
void resize_integers(const Tensor& in, const Image& from, const Scales& scales, const Tensor& out, const Image& to) {
  const auto read = Integers::reader(in);
  const auto write = Integers::writer(out);
  for_each(to, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
    const Triangle rows = wide_triangle(static_cast<float>(scales.rows), y, from.height);
    const Triangle columns = wide_triangle(static_cast<float>(scales.columns), x, from.width);
    int64_t sum = 0;
    for (int64_t i = 0; i < rows.count; ++i) {
      for (int64_t j = 0; j < columns.count; ++j) {
        const auto element = static_cast<float>(read(index_in(from, n, c, rows.begin + i, columns.begin + j)));
        sum = to_int64(static_cast<float>(sum) + element * rows.weight(i) * columns.weight(j));
      }
    }
    write(index_in(to, n, c, y, x), sum);
  });
}

}  // namespace

// (input [N, C, H, W], output_size, align_corners, scales_h or None, scales_w or None, out): bilinear, antialiased
Error upsample_bilinear2d_aa(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> size = call.integers(1);
  const bool align_corners = call.flag(2);
  const double row_factor = call.number_or(3, 0), column_factor = call.number_or(4, 0);
  const Tensor& out = call.out(5);
  Image from, to;
  call.require(size.size() == 2 && in.rank() == 4 && in.type == out.type);
  call.support(is_floating(in.type) || is_integer(in.type));
  CARINA_RT_TRY(call.error());
  call.fit(out, {in.sizes()[0], in.sizes()[1], size[0], size[1]});
  call.require(image_of(in, Missing::kBatch, from) && image_of(out, Missing::kBatch, to) &&
               ((from.height > 0 && from.width > 0) || out.elements() == 0));
  CARINA_RT_TRY(call.error());
  const Scales scales{.rows = scale_of(align_corners, row_factor, from.height, to.height),
                      .columns = scale_of(align_corners, column_factor, from.width, to.width)};
  if (in.type == PteScalarType::kByte) {
    resize_bytes(
        in, from, [&](int64_t y) { return wide_triangle(scales.rows, y, from.height); },
        [&](int64_t x) { return wide_triangle(scales.columns, x, from.width); }, out, to);
  } else if (is_floating(in.type)) {
    resize_numbers(in, from, scales, out, to);
  } else {
    resize_integers(in, from, scales, out, to);
  }
  return Error::kOk;
}

}  // namespace carina::runtime
