#include <algorithm>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/window_internal.h"

namespace carina::runtime {

namespace {

// The elements of an axis that one output element reads.
struct Span {
  ptrdiff_t begin, count, step;
  int64_t padded;  // number of elements including padding
};

Span span_of(const Window& window, int64_t size, int64_t index) {
  const int64_t begin = index * window.stride - window.padding;
  const int64_t end = begin + (window.kernel - 1) * window.dilation + 1;
  const Taps taps = taps_inside(window, index, size);
  return {.begin = static_cast<ptrdiff_t>(begin + taps.first * window.dilation),
          .count = static_cast<ptrdiff_t>(std::max<int64_t>(taps.end - taps.first, 0)),
          .step = static_cast<ptrdiff_t>(window.dilation),
          .padded = std::min(end, size + window.padding) - begin};
}

Span adaptive_span_of(int64_t size, int64_t out_size, int64_t index) {
  const int64_t begin = index * size / out_size;
  const int64_t count = ((index + 1) * size + out_size - 1) / out_size - begin;
  return {.begin = static_cast<ptrdiff_t>(begin), .count = static_cast<ptrdiff_t>(count), .step = 1, .padded = count};
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

// Neighboring windows in one row of the output that read equally many elements, `step` apart.
struct Run {
  Span rows, columns;  // of the first window
  ptrdiff_t windows, step;
};

// The runs of windows in one row of the output. Windows inside of the input are one run.
class RunsOfRow {
 public:
  RunsOfRow(const Window& window, int64_t size, int64_t outputs)
      : window_(window), size_(size), outputs_(static_cast<ptrdiff_t>(outputs)) {
    constexpr int64_t kMaxPosition = 1 << 28;
    const int64_t reach = (window.kernel - 1) * window.dilation;
    if (std::max({reach, window.stride, window.padding, size}) > kMaxPosition) return;
    last_ = static_cast<ptrdiff_t>(size - reach) - 1;
  }
  // The run that begins at output column x, without its rows.
  [[nodiscard]] Run at(ptrdiff_t x) const {
    Run run{.rows = {}, .columns = span_of(window_, size_, x), .windows = 1, .step = 0};
    const ptrdiff_t begin = run.columns.begin;
    if (run.columns.count < window_.kernel || begin > last_) return run;
    run.step = static_cast<ptrdiff_t>(window_.stride);
    run.windows = std::min((last_ - begin) / run.step + 1, outputs_ - x);
    return run;
  }

 private:
  const Window& window_;
  int64_t size_;
  ptrdiff_t outputs_, last_ = -1;  // the last begin of a window inside of the input
};

// The offsets of output elements: in the output, and in another image of its sizes.
struct Target {
  ptrdiff_t out, other;
};

// Calls function(run, input offset of the channel, target) for all runs of windows. `rows_at(y)` gives the rows of a
// window, `run_at(x)` the rest of a run.
template <typename RowsAt, typename RunAt, typename Function>
void for_runs(const Image& in, const Image& out, const Image& other, const RowsAt& rows_at, const RunAt& run_at,
              const Function& function) {
  const auto width = static_cast<ptrdiff_t>(out.width);
  for (int64_t n = 0; n < out.batches; ++n) {
    for (int64_t c = 0; c < out.channels; ++c) {
      const auto from = static_cast<ptrdiff_t>(index_in(in, n, c, 0, 0));
      for (int64_t y = 0; y < out.height; ++y) {
        const Span rows = rows_at(y);
        for (ptrdiff_t x = 0; x < width;) {
          Run run = run_at(x);
          run.rows = rows;
          function(run, from,
                   Target{.out = static_cast<ptrdiff_t>(index_in(out, n, c, y, x)),
                          .other = static_cast<ptrdiff_t>(index_in(other, n, c, y, x))});
          x += run.windows;
        }
      }
    }
  }
}

// The steps from element to element in a window.
struct WindowSteps {
  size_t rows, columns;
  ptrdiff_t row, column;                    // in memory
  ptrdiff_t position_row, position_column;  // in the channel's elements, which are counted row by row
};

WindowSteps steps_of(const Image& in, const Run& run) {
  return {.rows = static_cast<size_t>(run.rows.count),
          .columns = static_cast<size_t>(run.columns.count),
          .row = run.rows.step * static_cast<ptrdiff_t>(in.row_step),
          .column = run.columns.step * static_cast<ptrdiff_t>(in.column_step),
          .position_row = run.rows.step * static_cast<ptrdiff_t>(in.width),
          .position_column = run.columns.step};
}

// Calls window(first element, its position) for all windows of a run.
template <typename Function>
[[gnu::always_inline]] inline void for_windows(const Image& in, const Run& run, ptrdiff_t from,
                                               const Function& window) {
  from +=
      run.rows.begin * static_cast<ptrdiff_t>(in.row_step) + run.columns.begin * static_cast<ptrdiff_t>(in.column_step);
  ptrdiff_t position = run.rows.begin * static_cast<ptrdiff_t>(in.width) + run.columns.begin;
  const ptrdiff_t step = run.step * static_cast<ptrdiff_t>(in.column_step), next = run.step;
  repeat(static_cast<size_t>(run.windows), [&] {
    window(from, position);
    from += step;
    position += next;
  });
}

// Calls function(element) or function(element, position) for all elements of a window.
template <typename Reader, typename Function>
[[gnu::always_inline]] inline void for_elements(const Reader& read, const WindowSteps& steps, ptrdiff_t from,
                                                ptrdiff_t position, const Function& function) {
  if (steps.rows == 0 || steps.columns == 0) return;
  repeat(steps.rows, [&] {
    ptrdiff_t at = from, here = position;
    repeat(steps.columns, [&] {
      function(read(at), here);
      at += steps.column;
      here += steps.position_column;
    });
    from += steps.row;
    position += steps.position_row;
  });
}

// The sums of the windows of a run, divided by `divisor`, unless it is 0.
template <typename Domain>
[[gnu::noinline]] void average_run(const typename Domain::Reader& read, const typename Domain::Writer& write,
                                   const Image& in, const Run& run, ptrdiff_t from, ptrdiff_t to, ptrdiff_t to_step,
                                   int64_t divisor) {
  using Value = typename Domain::Value;
  const WindowSteps steps = steps_of(in, run);
  const auto divided_by = static_cast<Value>(divisor == 0 ? 1 : divisor);
  for_windows(in, run, from, [&](ptrdiff_t first, ptrdiff_t position) {
    Value sum{0};
    for_elements(read, steps, first, position, [&](Value value, ptrdiff_t) { sum = plus(sum, value); });
    write(to, sum / divided_by);
    to += to_step;
  });
}

// The maxima of the windows of a run, and their positions. NaN propagates.
template <typename Domain>
[[gnu::noinline]] void maximum_run(const typename Domain::Reader& read, const typename Domain::Writer& write,
                                   const Image& in, const Run& run, ptrdiff_t from, ptrdiff_t to, ptrdiff_t to_step,
                                   int64_t* positions, ptrdiff_t positions_step) {
  using Value = typename Domain::Value;
  const WindowSteps steps = steps_of(in, run);
  for_windows(in, run, from, [&](ptrdiff_t first, ptrdiff_t position) {
    Value max{0};
    ptrdiff_t best = -1;
    for_elements(read, steps, first, position, [&](Value value, ptrdiff_t here) {
      if (best >= 0 && !(value > max) && value == value) return;
      max = value;
      best = here;
    });
    write(to, max);
    *positions = best;
    to += to_step;
    positions += positions_step;
  });
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
        const RunsOfRow runs(pool.columns, pool.in.width, pool.out.width);
        for_runs(
            pool.in, pool.out, pool.out, [&](int64_t y) { return span_of(pool.rows, pool.in.height, y); },
            [&](ptrdiff_t x) { return runs.at(x); },
            [&](const Run& run, ptrdiff_t from, const Target& to) {
              const int64_t count = divisor != 0      ? divisor
                                    : include_padding ? run.rows.padded * run.columns.padded
                                                      : int64_t{run.rows.count} * run.columns.count;
              average_run<Domain>(read, write, pool.in, run, from, to.out, static_cast<ptrdiff_t>(pool.out.column_step),
                                  count);
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
        for_runs(
            from, to, to, [&](int64_t y) { return adaptive_span_of(from.height, to.height, y); },
            [&](ptrdiff_t x) {
              return Run{.rows = {}, .columns = adaptive_span_of(from.width, to.width, x), .windows = 1, .step = 0};
            },
            [&](const Run& run, ptrdiff_t at, const Target& target) {
              average_run<Domain>(read, write, from, run, at, target.out, 0, run.rows.padded * run.columns.padded);
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
        const RunsOfRow runs(pool.columns, pool.in.width, pool.out.width);
        for_runs(
            pool.in, pool.out, positions, [&](int64_t y) { return span_of(pool.rows, pool.in.height, y); },
            [&](ptrdiff_t x) { return runs.at(x); },
            [&](const Run& run, ptrdiff_t from, const Target& to) {
              maximum_run<decltype(domain)>(
                  read, write, pool.in, run, from, to.out, static_cast<ptrdiff_t>(pool.out.column_step),
                  indices.as<int64_t>() + to.other, static_cast<ptrdiff_t>(positions.column_step));
            });
      },
      in, out);
  return Error::kOk;
}

}  // namespace carina::runtime
