#include <algorithm>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/window_internal.h"

namespace carina::runtime {

namespace {

// The elements of an axis that one output element reads.
struct Span {
  int64_t begin, end, step;
  int64_t padded;  // number of elements including padding
};

Span span_of(const Window& window, int64_t size, int64_t index) {
  int64_t begin = index * window.stride - window.padding;
  const int64_t end = begin + (window.kernel - 1) * window.dilation + 1;
  const int64_t padded = std::min(end, size + window.padding) - begin;
  if (begin < 0) begin += (-begin + window.dilation - 1) / window.dilation * window.dilation;
  return {.begin = begin, .end = std::min(end, size), .step = window.dilation, .padded = padded};
}

Span adaptive_span_of(int64_t size, int64_t out_size, int64_t index) {
  const int64_t begin = index * size / out_size;
  const int64_t end = ((index + 1) * size + out_size - 1) / out_size;
  return {.begin = begin, .end = end, .step = 1, .padded = end - begin};
}

int64_t out_size(const Window& window, int64_t size, bool ceil_mode) {
  const int64_t span = size + 2 * window.padding - window.dilation * (window.kernel - 1) - 1;
  const int64_t steps = span + (ceil_mode ? window.stride - 1 : 0);
  if (steps < 0) return 0;  // otherwise a last window may be incomplete; in ceil mode it may be the only one
  int64_t count = steps / window.stride + 1;
  // A window must begin inside of the input or its leading padding.
  if (ceil_mode && (count - 1) * window.stride >= size + window.padding) --count;
  return count;
}

Window window_of(Call& call, size_t axis, bool dilated) {
  const int64_t kernel = entry_of(call, call.integers(1), axis, 2, 1);
  return {.kernel = kernel,
          .stride = entry_of(call, call.integers(2), axis, 2, kernel),
          .padding = entry_of(call, call.integers(3), axis, 2, 0),
          .dilation = dilated ? entry_of(call, call.integers(4), axis, 2, 1) : 1};
}

struct Pool {
  Image in, out;
  Window rows, columns;
};

// The argument checks of both pools.
Error check_pool(Call& call, Pool& pool, const Tensor& in, const Tensor& out, bool ceil_mode) {
  call.require(in.rank() == out.rank() && image_of(in, Missing::kBatch, pool.in) && is_sane(pool.rows) &&
               is_sane(pool.columns));
  CARINA_RT_TRY(call.error());
  const Image wanted{.batches = pool.in.batches,
                     .channels = pool.in.channels,
                     .height = out_size(pool.rows, pool.in.height, ceil_mode),
                     .width = out_size(pool.columns, pool.in.width, ceil_mode)};
  fit_to_image(call, out, Missing::kBatch, wanted);
  call.require(image_of(out, Missing::kBatch, pool.out) && pool.in.batches == pool.out.batches &&
               pool.in.channels == pool.out.channels && pool.out.height == wanted.height &&
               pool.out.width == wanted.width);
  call.require(2 * pool.rows.padding <= pool.rows.kernel && 2 * pool.columns.padding <= pool.columns.kernel);
  return call.error();
}

template <typename Domain>
typename Domain::Value sum_over(const typename Domain::Reader& read, const Image& in, int64_t n, int64_t c,
                                const Span& rows, const Span& columns) {
  typename Domain::Value sum{0};
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) sum = plus(sum, read(index_in(in, n, c, y, x)));
  }
  return sum;
}

}  // namespace

// (input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override or None, out)
Error avg_pool2d(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  Pool pool{.in = {}, .out = {}, .rows = window_of(call, 0, false), .columns = window_of(call, 1, false)};
  const bool ceil_mode = call.flag(4);
  const bool include_padding = call.flag(5);
  const int64_t divisor = call.integer_or(6, 0);
  call.require(call.is_none(6) || divisor > 0);
  const Tensor& out = call.out(7);
  CARINA_RT_TRY(check_pool(call, pool, in, out, ceil_mode));
  if (out.elements() == 0) return Error::kOk;
  in_domain(
      [&](auto domain) {
        using Domain = decltype(domain);
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        for_each(pool.out, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
          const Span rows = span_of(pool.rows, pool.in.height, y);
          const Span columns = span_of(pool.columns, pool.in.width, x);
          const int64_t inside =
              std::max<int64_t>(rows.end - rows.begin, 0) * std::max<int64_t>(columns.end - columns.begin, 0);
          const int64_t count = divisor != 0 ? divisor : include_padding ? rows.padded * columns.padded : inside;
          const auto sum = sum_over<Domain>(read, pool.in, n, c, rows, columns);
          write(index_in(pool.out, n, c, y, x), count == 0 ? sum : sum / static_cast<typename Domain::Value>(count));
        });
      },
      in, out);
  return Error::kOk;
}

// (input, output_size, out)
Error adaptive_avg_pool2d(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& out = call.out(2);
  const std::span<const int64_t> size = call.integers(1);
  Image from;
  Image to;
  call.require(in.rank() == out.rank() && image_of(in, Missing::kBatch, from));
  CARINA_RT_TRY(call.error());
  if (size.size() == 2)
    fit_to_image(call, out, Missing::kBatch,
                 {.batches = from.batches, .channels = from.channels, .height = size[0], .width = size[1]});
  call.require(image_of(out, Missing::kBatch, to) && from.batches == to.batches && from.channels == to.channels);
  CARINA_RT_TRY(call.error());
  if (out.elements() == 0) return Error::kOk;
  in_domain(
      [&](auto domain) {
        using Domain = decltype(domain);
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        for_each(to, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
          const Span rows = adaptive_span_of(from.height, to.height, y);
          const Span columns = adaptive_span_of(from.width, to.width, x);
          const int64_t count = std::max<int64_t>(rows.padded * columns.padded, 1);
          write(index_in(to, n, c, y, x),
                sum_over<Domain>(read, from, n, c, rows, columns) / static_cast<typename Domain::Value>(count));
        });
      },
      in, out);
  return Error::kOk;
}

// (input, kernel_size, stride, padding, dilation, ceil_mode, out, indices: int64)
Error max_pool2d_with_indices(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  Pool pool{.in = {}, .out = {}, .rows = window_of(call, 0, true), .columns = window_of(call, 1, true)};
  const bool ceil_mode = call.flag(5);
  const Tensor& out = call.out(6);
  const Tensor& indices = call.out(7);
  call.support(indices.type == PteScalarType::kLong && in.type == out.type);
  CARINA_RT_TRY(check_pool(call, pool, in, out, ceil_mode));
  call.require(takes_sizes_of(indices, out));
  CARINA_RT_TRY(call.error());
  Image positions;
  static_cast<void>(image_of(indices, Missing::kBatch, positions));
  if (out.elements() == 0) return Error::kOk;
  in_domain(
      [&](auto domain) {
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        for_each(pool.out, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
          const Span rows = span_of(pool.rows, pool.in.height, y);
          const Span columns = span_of(pool.columns, pool.in.width, x);
          typename decltype(domain)::Value max{0};
          int64_t position = -1;
          for (int64_t in_y = rows.begin; in_y < rows.end; in_y += rows.step) {
            for (int64_t in_x = columns.begin; in_x < columns.end; in_x += columns.step) {
              const auto value = read(index_in(pool.in, n, c, in_y, in_x));
              if (position >= 0 && !(value > max) && value == value) continue;
              max = value;  // NaN propagates
              position = in_y * pool.in.width + in_x;
            }
          }
          write(index_in(pool.out, n, c, y, x), max);
          indices.as<int64_t>()[index_in(positions, n, c, y, x)] = position;
        });
      },
      in, out);
  return Error::kOk;
}

}  // namespace carina::runtime
