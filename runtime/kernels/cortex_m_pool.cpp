#include <cmath>

#include "runtime/kernels/cortex_m_internal.h"
#include "runtime/kernels/kernels_internal.h"

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

// to = finalize(sum or maximum of each window's elements, number of elements)
template <typename Value, typename Step, typename Finalize>
void for_windows(const Pool& pool, Value start, const Step& step, const Finalize& finalize) {
  for_each(pool.out, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
    const Span rows = span_of(pool.rows, pool.in.height, y), columns = span_of(pool.columns, pool.in.width, x);
    Value value = start;
    for (int64_t in_y = rows.begin; in_y < rows.end; ++in_y) {
      for (int64_t in_x = columns.begin; in_x < columns.end; ++in_x)
        value = step(value, pool.data[index_in(pool.in, n, c, in_y, in_x)]);
    }
    const int64_t count =
        std::max<int64_t>(rows.end - rows.begin, 0) * std::max<int64_t>(columns.end - columns.begin, 0);
    pool.to[index_in(pool.out, n, c, y, x)] = finalize(value, count);
  });
}

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
  for_windows(
      pool, 0.0F, [&](float sum, int8_t element) { return sum + (static_cast<float>(element) - zero) * scale; },
      [&](float sum, int64_t count) {
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
  for_windows(
      pool, int8_t{INT8_MIN}, [](int8_t max, int8_t element) { return std::max(max, element); },
      [&](int8_t max, int64_t /*count*/) { return static_cast<int8_t>(std::clamp<int64_t>(max, low, high)); });
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
