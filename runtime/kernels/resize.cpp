#include "runtime/kernels/resize.h"
#include "runtime/kernels/byte_image_internal.h"
#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/window_internal.h"

namespace carina::runtime {

namespace {

// The common part of both resizes: images of equal batches and channels, and the number of input elements per output
// element along each axis. The computation is in double for double tensors, otherwise in float.
struct Resize {
  Image in, out;
  double row_scale = 1, column_scale = 1;
};

void fit_to_resize(Call& call, const Image& in, std::span<const int64_t> size, std::span<const double> factors,
                   const Tensor& out) {
  const auto length = [&](size_t axis, int64_t old) {
    if (axis < size.size()) return size[axis];
    return axis < factors.size() ? to_int64(static_cast<double>(old) * factors[axis]) : -1;
  };
  fit_to_image(
      call, out, Missing::kBatch,
      {.batches = in.batches, .channels = in.channels, .height = length(0, in.height), .width = length(1, in.width)});
}

// (..., output_size or None, ..., scale_factors or None, out); exactly one of the two is given
Error plan_resize(Call& call, const Tensor& in, size_t factors_at, const Tensor& out, Resize& resize) {
  const std::span<const int64_t> size = call.integers(1);
  const std::span<const double> factors = call.numbers(factors_at);
  call.require(in.rank() == 4 && out.rank() == 4 && in.type == out.type && image_of(in, Missing::kBatch, resize.in));
  CARINA_RT_TRY(call.error());
  fit_to_resize(call, resize.in, size, factors, out);
  call.require(image_of(out, Missing::kBatch, resize.out));
  call.require(size.empty() ? factors.size() == 2
                            : factors.empty() && size.size() == 2 && size[0] == resize.out.height &&
                                  size[1] == resize.out.width);
  CARINA_RT_TRY(call.error());
  call.require(resize.in.batches == resize.out.batches && resize.in.channels == resize.out.channels &&
               ((resize.in.height > 0 && resize.in.width > 0) || out.elements() == 0));
  resize.row_scale = scale_of(factors, 0, resize.in.height, resize.out.height);
  resize.column_scale = scale_of(factors, 1, resize.in.width, resize.out.width);
  return call.error();
}

// Calls function(double) for double tensors, otherwise function(float).
template <typename Function>
void with_positions(const Tensor& tensor, const Function& function) {
  tensor.type == PteScalarType::kDouble ? function(double{}) : function(float{});
}

// T is the type of coordinates and weights.
template <typename T>
void copy_nearest(const Resize& resize, const Tensor& in, const Tensor& out) {
  const Image &from = resize.in, &to = resize.out;
  in_domain(
      [&](auto domain) {
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        for_each(to, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
          write(index_in(to, n, c, y, x), read(index_in(from, n, c, nearest<T>(resize.row_scale, y, from.height),
                                                        nearest<T>(resize.column_scale, x, from.width))));
        });
      },
      in, out);
}

// Integers other than uint8, with the arithmetic of ExecuTorch's kernel: computed in float and truncated. Eager PyTorch
// does not support them.
template <typename T>
void interpolate(const Resize& resize, bool align_corners, const Tensor& in, const Tensor& out) {
  const Image &from = resize.in, &to = resize.out;
  in_domain(
      [&](auto domain) {
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        for_each(to, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
          const Interpolation rows = interpolation_of<T>(resize.row_scale, align_corners, y, from.height);
          const Interpolation columns = interpolation_of<T>(resize.column_scale, align_corners, x, from.width);
          using Value = typename decltype(domain)::Value;
          using Real = std::conditional_t<std::is_same_v<Value, int64_t>, float, Value>;
          const auto element = [&](int64_t row, int64_t column) {
            return static_cast<Real>(read(index_in(from, n, c, row, column)));
          };
          const auto row = [&](int64_t at) {
            return static_cast<Real>(1 - columns.weight) * element(at, columns.first) +
                   static_cast<Real>(columns.weight) * element(at, columns.second);
          };
          const Real value =
              static_cast<Real>(1 - rows.weight) * row(rows.first) + static_cast<Real>(rows.weight) * row(rows.second);
          if constexpr (std::is_same_v<Value, int64_t>) {
            write(index_in(to, n, c, y, x), to_int64(value));
          } else {
            write(index_in(to, n, c, y, x), value);
          }
        });
      },
      in, out);
}

}  // namespace

// (input [N, C, H, W], output_size [2] or None, scale_factors [2] or None, out)
Error upsample_nearest2d(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& out = call.out(3);
  Resize resize;
  CARINA_RT_TRY(plan_resize(call, in, 2, out, resize));
  resize.row_scale = nearest_scale(resize.row_scale, resize.in.height, resize.out.height);
  resize.column_scale = nearest_scale(resize.column_scale, resize.in.width, resize.out.width);
  with_positions(in, [&](auto kind) { copy_nearest<decltype(kind)>(resize, in, out); });
  return Error::kOk;
}

// (input [N, C, H, W], output_size [2] or None, align_corners, scale_factors [2] or None, out)
Error upsample_bilinear2d(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const bool align_corners = call.flag(2);
  const Tensor& out = call.out(4);
  call.support(is_floating(in.type) || is_integer(in.type));
  Resize resize;
  CARINA_RT_TRY(plan_resize(call, in, 3, out, resize));
  const Image &from = resize.in, &to = resize.out;
  if (align_corners) {
    resize.row_scale = corner_scale(from.height, to.height);
    resize.column_scale = corner_scale(from.width, to.width);
  }
  if (in.type == PteScalarType::kByte) {
    resize_bytes(
        in, from, [&](int64_t y) { return narrow_triangle(resize.row_scale, align_corners, y, from.height); },
        [&](int64_t x) { return narrow_triangle(resize.column_scale, align_corners, x, from.width); }, out, to);
    return Error::kOk;
  }
  with_positions(in, [&](auto kind) { interpolate<decltype(kind)>(resize, align_corners, in, out); });
  return Error::kOk;
}

}  // namespace carina::runtime
