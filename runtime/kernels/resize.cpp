#include <algorithm>
#include <cmath>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/window_internal.h"

namespace carina::runtime {

namespace {

// What both resizes share: pictures of the same batches and channels, and along each axis how many input elements one
// output element spans. As in PyTorch: the inverse of the given factor, else the ratio of the sizes, in float.
struct Resize {
  Picture in, out;
  float row_scale = 1, column_scale = 1;
};

float scale_of(std::span<const double> factors, size_t axis, int64_t in, int64_t out) {
  if (axis < factors.size() && factors[axis] > 0) return static_cast<float>(1.0 / factors[axis]);
  return static_cast<float>(in) / static_cast<float>(out);
}

// (.., output_size or None, ..., scale_factors or None, out): exactly one of the two is given.
Error plan_resize(Call& call, const Tensor& in, size_t factors_at, const Tensor& out, Resize& resize) {
  const std::span<const int64_t> size = call.integers(1);
  const std::span<const double> factors = call.numbers(factors_at);
  call.require(in.rank() == 4 && out.rank() == 4 && in.type == out.type && picture_of(in, Missing::kBatch, resize.in) &&
               picture_of(out, Missing::kBatch, resize.out));
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

int64_t nearest(float scale, int64_t index, int64_t size) {
  return std::min(static_cast<int64_t>(std::floor(static_cast<float>(index) * scale)), size - 1);
}

// Two neighbours of an axis and the weight of the second.
struct Blend {
  int64_t first, second;
  float weight;
};

// `scale`: input elements per output element, corners aligned or centres.
Blend blend_of(float scale, bool align_corners, int64_t index, int64_t size) {
  const float place = align_corners ? scale * static_cast<float>(index)
                                    : std::max(scale * (static_cast<float>(index) + 0.5F) - 0.5F, 0.0F);
  const int64_t first = std::min(static_cast<int64_t>(place), size - 1);
  return {.first = first, .second = std::min(first + 1, size - 1), .weight = place - static_cast<float>(first)};
}

float corner_scale(int64_t in, int64_t out) {
  return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0F;
}

}  // namespace

// (input [N, C, H, W], output_size [2] or None, scale_factors [2] or None, out)
Error upsample_nearest2d(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& out = call.out(3);
  Resize resize;
  CARINA_RT_TRY(plan_resize(call, in, 2, out, resize));
  const Picture &from = resize.in, &to = resize.out;
  in_domain(
      [&](auto domain) {
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        for_each(to, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
          write(index_in(to, n, c, y, x), read(index_in(from, n, c, nearest(resize.row_scale, y, from.height),
                                                        nearest(resize.column_scale, x, from.width))));
        });
      },
      in, out);
  return Error::kOk;
}

// (input [N, C, H, W], output_size [2] or None, align_corners, scale_factors [2] or None, out); floats only.
Error upsample_bilinear2d(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const bool align_corners = call.flag(2);
  const Tensor& out = call.out(4);
  call.support(is_floating(in.type));
  Resize resize;
  CARINA_RT_TRY(plan_resize(call, in, 3, out, resize));
  const Picture &from = resize.in, &to = resize.out;
  if (align_corners) {
    resize.row_scale = corner_scale(from.height, to.height);
    resize.column_scale = corner_scale(from.width, to.width);
  }
  in_domain(
      [&](auto domain) {
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        for_each(to, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
          const Blend rows = blend_of(resize.row_scale, align_corners, y, from.height);
          const Blend columns = blend_of(resize.column_scale, align_corners, x, from.width);
          using Value = typename decltype(domain)::Value;
          const auto row = [&](int64_t at) {
            return static_cast<Value>(1 - columns.weight) * read(index_in(from, n, c, at, columns.first)) +
                   static_cast<Value>(columns.weight) * read(index_in(from, n, c, at, columns.second));
          };
          write(index_in(to, n, c, y, x), static_cast<Value>(1 - rows.weight) * row(rows.first) +
                                              static_cast<Value>(rows.weight) * row(rows.second));
        });
      },
      in, out);
  return Error::kOk;
}

}  // namespace carina::runtime
