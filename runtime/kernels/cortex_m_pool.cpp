#include <cmath>

#include "runtime/kernels/cortex_m_internal.h"
#include "runtime/kernels/kernels_internal.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

// The int8 pools of ExecuTorch's Cortex-M backend: average and maximum, each for both orders of axes.
namespace carina::runtime {

namespace {

struct Pool {
  Image in, out;
  Window rows, columns;
  const int8_t* data = nullptr;
  int8_t* to = nullptr;
};

// The part of an axis that one output element reads.
struct Span {
  int64_t begin, end;
};

Span span_of(const Window& window, int64_t size, int64_t index) {
  const int64_t begin = index * window.stride - window.padding;
  return {.begin = std::max<int64_t>(begin, 0), .end = std::min(begin + window.kernel, size)};
}

Window window_of(Call& call, size_t axis) {
  const int64_t kernel = entry_of(call, call.integers(1), axis, 2, 1);
  return {.kernel = kernel,
          .stride = entry_of(call, call.integers(2), axis, 2, kernel),
          .padding = entry_of(call, call.integers(3), axis, 2, 0)};
}

// (input, kernel_size, stride, padding, ..., out)
Error read_pool(Call& call, Axes axes, size_t out_index, Pool& pool) {
  const Tensor& in = call.tensor(0);
  const Tensor& out = call.out(out_index);
  call.support(in.type == PteScalarType::kChar && out.type == in.type);
  call.require(image_of(in, axes, pool.in) && image_of(out, axes, pool.out));
  pool.rows = window_of(call, 0);
  pool.columns = window_of(call, 1);
  call.require(is_sane(pool.rows) && is_sane(pool.columns) && 2 * pool.rows.padding <= pool.rows.kernel &&
               2 * pool.columns.padding <= pool.columns.kernel);
  CARINA_RT_TRY(call.error());
  // Every window begins inside of the input or its leading padding, so none is empty.
  call.require(pool.in.batches == pool.out.batches && pool.in.channels == pool.out.channels &&
               (pool.out.height - 1) * pool.rows.stride < pool.in.height + pool.rows.padding &&
               (pool.out.width - 1) * pool.columns.stride < pool.in.width + pool.columns.padding);
  pool.data = in.as<const int8_t>();
  pool.to = out.as<int8_t>();
  return call.error();
}

// The window of an output position, with the offsets of its first element and of the output's first channel.
struct Part {
  ptrdiff_t rows = 0, columns = 0;
  ptrdiff_t from = 0, to = 0;
};

// Calls function(part) for each output position.
template <typename Function>
void for_windows(const Pool& pool, const Function& function) {
  for (int64_t n = 0; n < pool.out.batches; ++n) {
    for (int64_t y = 0; y < pool.out.height; ++y) {
      const Span rows = span_of(pool.rows, pool.in.height, y);
      for (int64_t x = 0; x < pool.out.width; ++x) {
        const Span columns = span_of(pool.columns, pool.in.width, x);
        function(Part{.rows = static_cast<ptrdiff_t>(std::max<int64_t>(rows.end - rows.begin, 0)),
                      .columns = static_cast<ptrdiff_t>(std::max<int64_t>(columns.end - columns.begin, 0)),
                      .from = static_cast<ptrdiff_t>(index_in(pool.in, n, 0, rows.begin, columns.begin)),
                      .to = static_cast<ptrdiff_t>(index_in(pool.out, n, 0, y, x))});
      }
    }
  }
}

// Calls function(element) for the elements of a window, starting with its first one.
template <typename Function>
[[gnu::always_inline]] inline void for_elements(const Pool& pool, const Part& part, const int8_t* first,
                                                const Function& function) {
  const auto row_step = static_cast<ptrdiff_t>(pool.in.row_step), step = static_cast<ptrdiff_t>(pool.in.column_step);
  for (ptrdiff_t y = 0; y < part.rows; ++y, first += row_step) {
    const int8_t* element = first;
    for (ptrdiff_t x = 0; x < part.columns; ++x, element += step) function(element);
  }
}

// out = finalize(state) for each channel, after step(state, element) for each element of the window
template <typename Value, typename Step, typename Finalize>
void reduce_windows(const Pool& pool, Value start, const Step& step, const Finalize& finalize) {
  const auto channel_step = static_cast<ptrdiff_t>(pool.in.channel_step);
  const auto out_step = static_cast<ptrdiff_t>(pool.out.channel_step);
  for_windows(pool, [&](const Part& part) {
    const int8_t* from = pool.data + part.from;
    int8_t* to = pool.to + part.to;
    for (int64_t c = 0; c < pool.out.channels; ++c, from += channel_step, to += out_step) {
      Value value = start;
      for_elements(pool, part, from, [&](const int8_t* element) { value = step(value, *element); });
      *to = finalize(value, part.rows * part.columns);
    }
  });
}

#if defined(__ARM_FEATURE_MVE)
// The maxima of adjacent channels, sixteen at a time.
void maximum_of_channels(const Pool& pool, int8_t low, int8_t high) {
  for_windows(pool, [&](const Part& part) {
    const int8_t* from = pool.data + part.from;
    int8_t* to = pool.to + part.to;
    for (auto left = static_cast<int32_t>(pool.out.channels); left > 0; left -= 16, from += 16, to += 16) {
      const mve_pred16_t lanes = vctp8q(static_cast<uint32_t>(left));
      int8x16_t max = vdupq_n_s8(low);
      for_elements(pool, part, from, [&](const int8_t* element) { max = vmaxq_s8(max, vldrbq_z_s8(element, lanes)); });
      vstrbq_p_s8(to, vminq_s8(max, vdupq_n_s8(high)), lanes);
    }
  });
}
#endif

// (input, kernel_size, stride, padding, ceil_mode, zero_point, multiplier, shift, scratch, out). Computed in float,
// like the Python implementation; padding is not counted.
Error average(Arguments arguments, Axes axes) {
  Call call(arguments);
  Pool pool;
  CARINA_RT_TRY(read_pool(call, axes, 9, pool));
  static_cast<void>(call.flag(4));
  const auto zero = static_cast<float>(call.integer(5));
  const auto scale =
      static_cast<float>(std::ldexp(static_cast<double>(call.integer(6)), static_cast<int>(call.integer(7)) - 31));
  CARINA_RT_TRY(call.error());
  reduce_windows(
      pool, 0.0F, [&](float sum, int8_t element) { return sum + (static_cast<float>(element) - zero) * scale; },
      [&](float sum, ptrdiff_t count) {
        const float mean = count == 0 ? 0.0F : sum / static_cast<float>(count);
        const float value = std::nearbyint(mean / scale) + zero;
        return static_cast<int8_t>(std::isnan(value) ? 0.0F : std::clamp(value, -128.0F, 127.0F));
      });
  return Error::kOk;
}

// (input, kernel_size, stride, padding, dilation, ceil_mode, input zero_point, output zero_point, activation_min,
// activation_max, out)
Error maximum_of(Arguments arguments, Axes axes) {
  Call call(arguments);
  Pool pool;
  CARINA_RT_TRY(read_pool(call, axes, 10, pool));
  for (const int64_t dilation : call.integers(4)) call.support(dilation == 1);
  call.support(!call.flag(5));
  call.require(call.integer(6) == call.integer(7));
  const int64_t low = call.integer(8), high = call.integer(9);
  call.require(low <= high && low >= INT8_MIN && high <= INT8_MAX);
  CARINA_RT_TRY(call.error());
#if defined(__ARM_FEATURE_MVE)
  if (pool.in.channel_step == 1 && pool.out.channel_step == 1) {
    maximum_of_channels(pool, static_cast<int8_t>(low), static_cast<int8_t>(high));
    return Error::kOk;
  }
#endif
  reduce_windows(
      pool, int8_t{INT8_MIN}, [](int8_t max, int8_t element) { return std::max(max, element); },
      [&](int8_t max, ptrdiff_t /*count*/) { return static_cast<int8_t>(std::clamp<int64_t>(max, low, high)); });
  return Error::kOk;
}

}  // namespace

Error cortex_m_avg_pool2d(Arguments arguments, Arena& /*scratch*/) {
  return average(arguments, Axes::kNchw);
}
Error cortex_m_avg_pool2d_nhwc(Arguments arguments, Arena& /*scratch*/) {
  return average(arguments, Axes::kNhwc);
}
Error cortex_m_max_pool2d(Arguments arguments, Arena& /*scratch*/) {
  return maximum_of(arguments, Axes::kNchw);
}
Error cortex_m_max_pool2d_nhwc(Arguments arguments, Arena& /*scratch*/) {
  return maximum_of(arguments, Axes::kNhwc);
}

}  // namespace carina::runtime
