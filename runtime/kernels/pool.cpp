#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/float_vectors_internal.h"
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

// Offsets of a window: its first element in the input, and its result in the output and in another image of the
// output's sizes. `position` is that of the first element in the channel, whose elements are counted row by row.
struct Place {
  ptrdiff_t from, to, other, position;

  [[gnu::always_inline]] [[nodiscard]] Place after(ptrdiff_t count, const Place& steps) const {
    return {.from = from + count * steps.from,
            .to = to + count * steps.to,
            .other = other + count * steps.other,
            .position = position + count * steps.position};
  }
};

// Windows at equal distances.
struct Series {
  size_t count;
  Place steps;
};

// The elements of a window: rows and columns, the distances between them in memory, and in positions of the input.
struct WindowSteps {
  size_t rows, columns;
  ptrdiff_t row, column;
  ptrdiff_t position_row, position_column;
  [[nodiscard]] bool is_empty() const { return rows == 0 || columns == 0; }
};

// The windows of a run in all channels of an image. The inner series is not shorter than the outer one.
struct Windows {
  Place first;
  Series outer, inner;
  WindowSteps steps;
};

Windows windows_of(const Image& in, const Image& out, const Image& other, const Run& run, int64_t n, int64_t y,
                   ptrdiff_t x) {
  const auto narrow = [](int64_t step) { return static_cast<ptrdiff_t>(step); };
  const ptrdiff_t row = narrow(in.row_step), column = narrow(in.column_step), width = narrow(in.width);
  Windows windows{.first = {.from = index_in(in, n, 0, 0, 0) + run.rows.begin * row + run.columns.begin * column,
                            .to = index_in(out, n, 0, y, x),
                            .other = index_in(other, n, 0, y, x),
                            .position = run.rows.begin * width + run.columns.begin},
                  .outer = {.count = static_cast<size_t>(in.channels),
                            .steps = {.from = narrow(in.channel_step),
                                      .to = narrow(out.channel_step),
                                      .other = narrow(other.channel_step),
                                      .position = 0}},
                  .inner = {.count = static_cast<size_t>(run.windows),
                            .steps = {.from = run.step * column,
                                      .to = narrow(out.column_step),
                                      .other = narrow(other.column_step),
                                      .position = run.step}},
                  .steps = {.rows = static_cast<size_t>(run.rows.count),
                            .columns = static_cast<size_t>(run.columns.count),
                            .row = run.rows.step * row,
                            .column = run.columns.step * column,
                            .position_row = run.rows.step * width,
                            .position_column = run.columns.step}};
  if (windows.inner.count < windows.outer.count) std::swap(windows.inner, windows.outer);
  return windows;
}

// Calls function(run, windows) for all runs of windows. `rows_at(y)` gives the rows of a window, `run_at(x)` the rest
// of a run.
template <typename RowsAt, typename RunAt, typename Function>
void for_runs(const Image& in, const Image& out, const Image& other, const RowsAt& rows_at, const RunAt& run_at,
              const Function& function) {
  const auto width = static_cast<ptrdiff_t>(out.width);
  for (int64_t n = 0; n < out.batches; ++n) {
    for (int64_t y = 0; y < out.height; ++y) {
      const Span rows = rows_at(y);
      for (ptrdiff_t x = 0; x < width;) {
        Run run = run_at(x);
        run.rows = rows;
        function(run, windows_of(in, out, other, run, n, y, x));
        x += run.windows;
      }
    }
  }
}

// Calls function(place) for every `step`th window of the inner series, `count` of them and at least one, from `first`
// on, in all windows of the outer series.
template <typename Function>
[[gnu::always_inline]] inline void for_windows(const Windows& windows, const Place& first, size_t count, ptrdiff_t step,
                                               const Function& function) {
  Place outer = first;
  repeat(windows.outer.count, [&] {
    Place at = outer;
    repeat(count, [&] {
      function(at);
      at = at.after(step, windows.inner.steps);
    });
    outer = outer.after(1, windows.outer.steps);
  });
}

// Calls function(element, position) for all elements of a window.
template <typename Reader, typename Function>
[[gnu::always_inline]] inline void for_elements(const Reader& read, const WindowSteps& steps, const Place& place,
                                                const Function& function) {
  if (steps.is_empty()) return;
  ptrdiff_t from = place.from, position = place.position;
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

// Divides the sums of windows by `divisor`.
template <typename Reader, typename Writer, typename Value>
void average_all(const Reader& read, const Writer& write, const Windows& windows, Value divisor) {
  for_windows(windows, windows.first, windows.inner.count, 1, [&](const Place& place) {
    Value sum{0};
    for_elements(read, windows.steps, place, [&](Value value, ptrdiff_t) { sum = plus(sum, value); });
    write(place.to, sum / divisor);
  });
}

// The same for floats, for several neighboring windows of the inner series at a time, whose sums are in registers.
// Computes `groups` of them in all windows of the outer series.
template <size_t... kIndexes>
[[gnu::noinline]] void average_groups(std::index_sequence<kIndexes...> /*indexes*/, const float* in, float* out,
                                      const Windows& windows, size_t groups, float divisor) {
  constexpr auto kGroup = static_cast<ptrdiff_t>(sizeof...(kIndexes));
  const size_t rows = windows.steps.rows, columns = windows.steps.columns;
  const ptrdiff_t row = windows.steps.row, column = windows.steps.column;
  const ptrdiff_t next = windows.inner.steps.from, to_next = windows.inner.steps.to;
  const auto average = [&](const float* from, float* to, auto... sums) __attribute__((always_inline)) {
    if (rows > 0 && columns > 0) {
      repeat(rows, [&] {
        const float* at = from;
        repeat(columns, [&] {
          ((sums += at[static_cast<ptrdiff_t>(kIndexes) * next]), ...);
          at += column;
        });
        from += row;
      });
    }
    ((to[static_cast<ptrdiff_t>(kIndexes) * to_next] = sums / divisor), ...);
  };
  repeat(windows.outer.count, [&] {
    const float* from = in;
    float* to = out;
    repeat(groups, [&] {
      average(from, to, (static_cast<void>(kIndexes), 0.0F)...);
      from += kGroup * next;
      to += kGroup * to_next;
    });
    in += windows.outer.steps.from;
    out += windows.outer.steps.to;
  });
}

void average_all(const Floats::Reader& read, const Floats::Writer& write, const Windows& windows, float divisor) {
  const size_t fours = windows.inner.count / 4, rest = windows.inner.count % 4;
  Place first = windows.first;
  if (fours > 0) {
    average_groups(std::make_index_sequence<4>(), read.data + first.from, write.data + first.to, windows, fours,
                   divisor);
    first = first.after(static_cast<ptrdiff_t>(4 * fours), windows.inner.steps);
  }
  if (rest > 0)
    average_groups(std::make_index_sequence<1>(), read.data + first.from, write.data + first.to, windows, rest,
                   divisor);
}

// Averages windows: divides their sums by `divisor`, unless it is 0.
template <typename Domain>
void average(const typename Domain::Reader& read, const typename Domain::Writer& write, const Windows& windows,
             int64_t divisor) {
  using Value = typename Domain::Value;
  const bool is_narrow = divisor == static_cast<int32_t>(divisor);  // small cores convert no 64-bit integers
  average_all(read, write, windows,
              divisor == 0 ? Value{1}
              : is_narrow  ? static_cast<Value>(static_cast<int32_t>(divisor))
                           : static_cast<Value>(divisor));
}

// The maximum of a window, and its position. NaN propagates.
template <typename Reader, typename Writer>
[[gnu::noinline]] void window_maximum(const Reader& read, const Writer& write, int64_t* positions,
                                      const WindowSteps& steps, const Place& place) {
  using Value = decltype(read(0));
  Value max{0};
  ptrdiff_t best = -1;
  for_elements(read, steps, place, [&](Value value, ptrdiff_t here) {
    if (best >= 0 && !(value > max) && value == value) return;
    max = value;
    best = here;
  });
  write(place.to, max);
  positions[place.other] = best;
}

// The maxima of `count` windows of the inner series in all windows of the outer series, from `first` on.
template <typename Reader, typename Writer>
void plain_maxima(const Reader& read, const Writer& write, int64_t* positions, const Windows& windows,
                  const Place& first, size_t count) {
  for_windows(windows, first, count, 1,
              [&](const Place& place) { window_maximum(read, write, positions, windows.steps, place); });
}

#if defined(CARINA_MVE_FLOATS)
// The same for four neighboring windows at a time, `groups` times. Subnormal numbers count as 0.
[[gnu::noinline]] void maximum_fours(const Floats::Reader& read, const Floats::Writer& write, int64_t* positions,
                                     const Windows& windows, size_t groups) {
  const Place& next = windows.inner.steps;
  const size_t rows = windows.steps.rows, columns = windows.steps.columns;
  const ptrdiff_t row = windows.steps.row, column = windows.steps.column;
  const auto position_row = static_cast<int32_t>(windows.steps.position_row),
             position_column = static_cast<int32_t>(windows.steps.position_column);
  const float* const in = read.data;
  float* const out = write.data;
  const uint32x4_t lanes = vidupq_n_u32(0, 1);
  const uint32x4_t offsets = vmulq_n_u32(lanes, static_cast<uint32_t>(next.from)),
                   to_offsets = vmulq_n_u32(lanes, static_cast<uint32_t>(next.to)),
                   other_offsets = vmulq_n_u32(lanes, static_cast<uint32_t>(2 * next.other)),
                   nexts = vmulq_n_u32(lanes, static_cast<uint32_t>(next.position));
  for_windows(windows, windows.first, groups, 4, [&](const Place& place) __attribute__((always_inline)) {
    const float* from = in + place.from;
    auto position = static_cast<int32_t>(place.position);
    int32x4_t best = vdupq_n_s32(position);
    float32x4_t max = vdupq_n_f32(-std::numeric_limits<float>::infinity()), sum = vdupq_n_f32(0);
    repeat(rows, [&] {
      const float* at = from;
      int32x4_t here = vdupq_n_s32(position);
      repeat(columns, [&] {
        const float32x4_t values = vldrwq_gather_shifted_offset_f32(at, offsets);
        sum = vaddq_f32(sum, values);
        // Selects the larger values and their positions.
#if defined(__clang__)
        const mve_pred16_t larger = vcmpgtq_f32(values, max);
        max = vpselq_f32(values, max, larger);
        best = vpselq_s32(here, best, larger);
#else  // GCC would copy the predicate to a register and back
        asm("vcmp.f32 gt, %q[values], %q[max]\n"
            "vpsel %q[max], %q[values], %q[max]\n"
            "vpsel %q[best], %q[here], %q[best]\n"
            : [max] "+w"(max), [best] "+w"(best)
            : [values] "w"(values), [here] "w"(here)
            : "p0");
#endif
        here = vaddq_n_s32(here, position_column);
        at += column;
      });
      from += row;
      position += position_row;
    });
    if (vcmpneq_f32(sum, sum) != 0) [[unlikely]] {  // there may be a NaN
      for (int i = 0; i < 4; ++i) window_maximum(read, write, positions, windows.steps, place.after(i, next));
      return;
    }
    auto* words = reinterpret_cast<int32_t*>(positions + place.other);
    vstrwq_scatter_shifted_offset_f32(out + place.to, to_offsets, max);
    vstrwq_scatter_shifted_offset_s32(words, other_offsets, vaddq_s32(best, vreinterpretq_s32_u32(nexts)));
    vstrwq_scatter_shifted_offset_s32(words + 1, other_offsets, vdupq_n_s32(0));
  });
}
#endif

template <typename Reader, typename Writer>
void maxima(const Reader& read, const Writer& write, int64_t* positions, const Windows& windows) {
  Place first = windows.first;
  size_t count = windows.inner.count;
#if defined(CARINA_MVE_FLOATS)
  if constexpr (std::is_same_v<Reader, Floats::Reader>) {
    const size_t fours = windows.steps.is_empty() ? 0 : count / 4;
    if (fours > 0) {
      maximum_fours(read, write, positions, windows, fours);
      first = first.after(static_cast<ptrdiff_t>(4 * fours), windows.inner.steps);
      count -= 4 * fours;
    }
  }
#endif
  if (count > 0) plain_maxima(read, write, positions, windows, first, count);
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
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        const RunsOfRow runs(pool.columns, pool.in.width, pool.out.width);
        for_runs(
            pool.in, pool.out, pool.out, [&](int64_t y) { return span_of(pool.rows, pool.in.height, y); },
            [&](ptrdiff_t x) { return runs.at(x); },
            [&](const Run& run, const Windows& windows) {
              const int64_t count = divisor != 0      ? divisor
                                    : include_padding ? run.rows.padded * run.columns.padded
                                                      : int64_t{run.rows.count} * run.columns.count;
              average<decltype(domain)>(read, write, windows, count);
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
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        for_runs(
            from, to, to, [&](int64_t y) { return adaptive_span_of(from.height, to.height, y); },
            [&](ptrdiff_t x) {
              return Run{.rows = {}, .columns = adaptive_span_of(from.width, to.width, x), .windows = 1, .step = 0};
            },
            [&](const Run& run, const Windows& windows) {
              average<decltype(domain)>(read, write, windows, run.rows.padded * run.columns.padded);
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
            [&](const Run& /*run*/, const Windows& windows) { maxima(read, write, indices.as<int64_t>(), windows); });
      },
      in, out);
  return Error::kOk;
}

}  // namespace carina::runtime
