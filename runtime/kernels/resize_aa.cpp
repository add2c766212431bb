#include <algorithm>
#include <cmath>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/window_internal.h"

namespace carina::runtime {

namespace {

// A triangle over the input elements that one output element takes in, wider where the picture shrinks.
struct Triangle {
  int64_t begin = 0, count = 0;
  double centre = 0, inverse_width = 1, total = 0;

  [[nodiscard]] double raw(int64_t i) const {
    const double x = (static_cast<double>(begin + i) - centre + 0.5) * inverse_width;
    return std::max(1 - std::fabs(x), 0.0);
  }
  [[nodiscard]] double weight(int64_t i) const { return total == 0 ? 0 : raw(i) / total; }
};

Triangle triangle_of(double scale, int64_t index, int64_t size) {
  Triangle triangle;
  const double support = std::max(scale, 1.0);
  triangle.inverse_width = 1 / support;
  triangle.centre = scale * (static_cast<double>(index) + 0.5);
  triangle.begin = std::max<int64_t>(to_int64(triangle.centre - support + 0.5), 0);
  triangle.count = std::min(to_int64(triangle.centre + support + 0.5), size) - triangle.begin;
  for (int64_t i = 0; i < triangle.count; ++i) triangle.total += triangle.raw(i);
  return triangle;
}

double scale_of(bool align_corners, double factor, int64_t in, int64_t out) {
  if (align_corners) return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  return factor > 0 ? 1 / factor : static_cast<double>(in) / static_cast<double>(out);
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
  Picture from, to;
  call.require(size.size() == 2 && in.rank() == 4 && in.type == out.type);
  call.support(is_floating(in.type) || in.type == PteScalarType::kByte);
  CARINA_RT_TRY(call.error());
  call.fit(out, {in.sizes()[0], in.sizes()[1], size[0], size[1]});
  call.require(picture_of(in, Missing::kBatch, from) && picture_of(out, Missing::kBatch, to) &&
               ((from.height > 0 && from.width > 0) || out.elements() == 0));
  CARINA_RT_TRY(call.error());
  const double row_scale = scale_of(align_corners, row_factor, from.height, to.height);
  const double column_scale = scale_of(align_corners, column_factor, from.width, to.width);
  const auto read = Numbers::reader(in);
  const auto write = Numbers::writer(out);
  for_each(to, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
    const Triangle rows = triangle_of(row_scale, y, from.height), columns = triangle_of(column_scale, x, from.width);
    double sum = 0;
    for (int64_t i = 0; i < rows.count; ++i) {
      double row = 0;
      for (int64_t j = 0; j < columns.count; ++j)
        row += columns.weight(j) * read(index_in(from, n, c, rows.begin + i, columns.begin + j));
      sum += rows.weight(i) * row;
    }
    write(index_in(to, n, c, y, x), is_floating(out.type) ? sum : std::floor(sum + 0.5));
  });
  return Error::kOk;
}

}  // namespace carina::runtime
