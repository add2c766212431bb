// Gradients of convolution and max pooling.
#include <algorithm>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/window_internal.h"

namespace carina::runtime {

namespace {

// A convolution between two images. Each position of `few` has a window of positions of `many`. A plain convolution
// computes `few` from `many`; a transposed one computes `many` from `few`. The weight is [channels of few, channels of
// many per group, kernel].
struct TwoEnds {
  Image few, many, weight;
  Window rows, columns;
  int64_t groups = 1;

  [[nodiscard]] int64_t few_per_group() const { return few.channels / groups; }
  [[nodiscard]] int64_t many_per_group() const { return weight.channels; }
  // The row of `many` in the window of row y of `few` at tap ky, or -1 if it is outside.
  [[nodiscard]] int64_t row(int64_t y, int64_t ky) const { return position(rows, y, ky, many.height); }
  [[nodiscard]] int64_t column(int64_t x, int64_t kx) const { return position(columns, x, kx, many.width); }

 private:
  static int64_t position(const Window& window, int64_t at, int64_t k, int64_t size) {
    const int64_t seen = at * window.stride - window.padding + k * window.dilation;
    return seen >= 0 && seen < size ? seen : -1;
  }
};

// Calls function(y, x, row, column) for each position of `few` whose tap (ky, kx) is inside of `many`.
template <typename Function>
void for_tap(const TwoEnds& ends, int64_t ky, int64_t kx, const Function& function) {
  for (int64_t y = 0; y < ends.few.height; ++y) {
    const int64_t row = ends.row(y, ky);
    for (int64_t x = 0; row >= 0 && x < ends.few.width; ++x) {
      const int64_t column = ends.column(x, kx);
      if (column >= 0) function(y, x, row, column);
    }
  }
}

// The gradient with respect to `few`: the convolution of `many`.
void gradient_of_few(const TwoEnds& ends, const Tensor& many, const Tensor& weight, const Tensor& out,
                     const Image& to) {
  const auto read = Numbers::reader(many), read_weight = Numbers::reader(weight);
  const auto write = Numbers::writer(out);
  for_each(to, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
    const int64_t first = c / ends.few_per_group() * ends.many_per_group();
    double sum = 0;
    for (int64_t ky = 0; ky < ends.weight.height; ++ky) {
      const int64_t row = ends.row(y, ky);
      for (int64_t kx = 0; row >= 0 && kx < ends.weight.width; ++kx) {
        const int64_t column = ends.column(x, kx);
        for (int64_t k = 0; column >= 0 && k < ends.many_per_group(); ++k)
          sum +=
              read(index_in(ends.many, n, first + k, row, column)) * read_weight(index_in(ends.weight, c, k, ky, kx));
      }
    }
    write(index_in(to, n, c, y, x), sum);
  });
}

// The gradient with respect to `many`: each element sums over the positions whose windows contain it.
void gradient_of_many(const TwoEnds& ends, const Tensor& few, const Tensor& weight, const Tensor& out,
                      const Image& to) {
  const auto read = Numbers::reader(few), read_weight = Numbers::reader(weight);
  const auto write = Numbers::writer(out);
  const auto seer = [](const Window& window, int64_t at, int64_t k, int64_t size) {
    const int64_t from = at + window.padding - k * window.dilation;
    return from >= 0 && from % window.stride == 0 && from / window.stride < size ? from / window.stride : -1;
  };
  for_each(to, [&](int64_t n, int64_t c, int64_t row, int64_t column) {
    const int64_t first = c / ends.many_per_group() * ends.few_per_group(), own = c % ends.many_per_group();
    double sum = 0;
    for (int64_t ky = 0; ky < ends.weight.height; ++ky) {
      const int64_t y = seer(ends.rows, row, ky, ends.few.height);
      for (int64_t kx = 0; y >= 0 && kx < ends.weight.width; ++kx) {
        const int64_t x = seer(ends.columns, column, kx, ends.few.width);
        for (int64_t k = 0; x >= 0 && k < ends.few_per_group(); ++k)
          sum +=
              read(index_in(ends.few, n, first + k, y, x)) * read_weight(index_in(ends.weight, first + k, own, ky, kx));
      }
    }
    write(index_in(to, n, c, row, column), sum);
  });
}

void gradient_of_weight(const TwoEnds& ends, const Tensor& few, const Tensor& many, const Tensor& out,
                        const Image& to) {
  const auto read_few = Numbers::reader(few), read_many = Numbers::reader(many);
  const auto write = Numbers::writer(out);
  for_each(to, [&](int64_t c, int64_t k, int64_t ky, int64_t kx) {
    const int64_t other = c / ends.few_per_group() * ends.many_per_group() + k;
    double sum = 0;
    for (int64_t n = 0; n < ends.few.batches; ++n) {
      for_tap(ends, ky, kx, [&](int64_t y, int64_t x, int64_t row, int64_t column) {
        sum += read_few(index_in(ends.few, n, c, y, x)) * read_many(index_in(ends.many, n, other, row, column));
      });
    }
    write(index_in(to, c, k, ky, kx), sum);
  });
}

void gradient_of_bias(const Tensor& gradient, const Image& from, const Tensor& out) {
  const auto read = Numbers::reader(gradient);
  const auto write = Numbers::writer(out);
  for (int64_t c = 0; c < from.channels; ++c) {
    double sum = 0;
    for (int64_t n = 0; n < from.batches; ++n) {
      for (int64_t y = 0; y < from.height; ++y) {
        for (int64_t x = 0; x < from.width; ++x) sum += read(index_in(from, n, c, y, x));
      }
    }
    write(c, sum);
  }
}

Window window_of(Call& call, size_t axis, size_t axes, int64_t kernel) {
  return {.kernel = kernel,
          .stride = entry_of(call, call.integers(4), axis, axes, 1),
          .padding = entry_of(call, call.integers(5), axis, axes, 0),
          .dilation = entry_of(call, call.integers(6), axis, axes, 1)};
}

bool ends_fit(const TwoEnds& ends) {
  return ends.groups >= 1 && is_sane(ends.rows) && is_sane(ends.columns) && ends.few.batches == ends.many.batches &&
         ends.weight.channels > 0 && ends.few.channels > 0 && ends.few.channels % ends.groups == 0 &&
         ends.weight.batches == ends.few.channels && ends.weight.channels * ends.groups == ends.many.channels;
}

}  // namespace

// (gradient, input, weight, bias_sizes or None, stride, padding, dilation, transposed, output_padding, groups,
// output_mask [3], gradient of the input, of the weight, of the bias)
Error convolution_backward(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &gradient = call.tensor(0), &in = call.tensor(1), &weight = call.tensor(2);
  static_cast<void>(call.integers(3));
  const bool transposed = call.flag(7);
  const std::span<const uint8_t> wanted = call.flags(10);
  call.require(wanted.size() == 3 && in.rank() == gradient.rank() && in.rank() == weight.rank());
  call.support(is_floating(gradient.type) && in.type == gradient.type && weight.type == gradient.type);
  CARINA_RT_TRY(call.error());
  TwoEnds ends;
  Image to;
  ends.groups = call.integer(9);
  const Tensor &few = transposed ? in : gradient, &many = transposed ? gradient : in;
  call.require(image_of(few, Missing::kHeight, ends.few) && image_of(many, Missing::kHeight, ends.many) &&
               image_of(weight, Missing::kHeight, ends.weight));
  CARINA_RT_TRY(call.error());
  const size_t axes = in.rank() - 2;
  if (axes == 2) ends.rows = window_of(call, 0, axes, ends.weight.height);
  ends.columns = window_of(call, axes - 1, axes, ends.weight.width);
  call.require(ends_fit(ends));
  CARINA_RT_TRY(call.error());
  if (wanted[0] != 0) {
    const Tensor& out = call.out(11);
    call.fit_like(out, in);
    call.require(out.type == in.type && image_of(out, Missing::kHeight, to));
    CARINA_RT_TRY(call.error());
    transposed ? gradient_of_few(ends, gradient, weight, out, to) : gradient_of_many(ends, gradient, weight, out, to);
  }
  if (wanted[1] != 0) {
    const Tensor& out = call.out(12);
    call.fit_like(out, weight);
    call.require(out.type == in.type && image_of(out, Missing::kHeight, to));
    CARINA_RT_TRY(call.error());
    gradient_of_weight(ends, few, many, out, to);
  }
  if (wanted[2] != 0) {
    const Tensor& out = call.out(13);
    Image from;
    static_cast<void>(image_of(gradient, Missing::kHeight, from));
    call.fit(out, {from.channels});
    call.require(out.type == in.type);
    CARINA_RT_TRY(call.error());
    gradient_of_bias(gradient, from, out);
  }
  return Error::kOk;
}

// (gradient, input, kernel_size, stride, padding, dilation, ceil_mode, indices, gradient of the input)
Error max_pool2d_backward(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &gradient = call.tensor(0), &in = call.tensor(1), &indices = call.tensor(7), &out = call.out(8);
  Image from, to, positions;
  call.fit_like(out, in);
  call.require(same_sizes(gradient, indices) && image_of(gradient, Missing::kBatch, from) &&
               image_of(out, Missing::kBatch, to) && image_of(indices, Missing::kBatch, positions) &&
               gradient.rank() == in.rank() && from.batches == to.batches && from.channels == to.channels);
  call.support(indices.type == PteScalarType::kLong && is_floating(gradient.type) && out.type == gradient.type);
  CARINA_RT_TRY(call.error());
  CARINA_RT_TRY(map_unary(out, out, [](auto a) { return decltype(a)(0); }));
  const auto read = Numbers::reader(gradient), sum = Numbers::reader(out);
  const auto write = Numbers::writer(out);
  bool inside = true;
  for_each(from, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
    const int64_t position = indices.as<const int64_t>()[index_in(positions, n, c, y, x)];
    inside = inside && position >= 0 && position < to.height * to.width;
    if (!inside) return;
    const int64_t at = index_in(to, n, c, position / to.width, position % to.width);
    write(at, sum(at) + read(index_in(from, n, c, y, x)));
  });
  return inside ? Error::kOk : Error::kInvalidArgument;
}

}  // namespace carina::runtime
