#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/kernels/cortex_m_internal.h"
#include "runtime/kernels/element_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/kernels_internal.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

namespace carina::runtime {

namespace {

// The left shift of quantized_add's operands before they are scaled.
constexpr int64_t kAddShift = 20;

struct Limits {
  int64_t low, high;
};

Limits limits_of(PteScalarType type) {
  if (type == PteScalarType::kShort) return {INT16_MIN, INT16_MAX};
  return {INT8_MIN, INT8_MAX};
}

bool is_quantized(const Tensor& tensor) {
  return tensor.type == PteScalarType::kChar || tensor.type == PteScalarType::kShort;
}

// An element as a code. Elements of integer tensors are int64 already.
template <typename T>
int64_t code(T value) {
  if constexpr (std::is_same_v<T, int64_t>) return value;
  return to_int64(static_cast<double>(value));
}

// A row of elements of int8 tensors.
struct Row {
  const int8_t *a, *b;
  int8_t* to;
  ptrdiff_t a_step, b_step, to_step;
};

// Whether all tensors are int8, and the parameters are so small that int32 is enough.
bool fits_int32(std::initializer_list<const Tensor*> tensors, std::initializer_list<int64_t> zero_points,
                std::initializer_list<int64_t> limits) {
  return std::ranges::all_of(tensors, [](const Tensor* t) { return t->type == PteScalarType::kChar; }) &&
         std::ranges::all_of(zero_points, [](int64_t zero) { return zero >= -255 && zero <= 255; }) &&
         std::ranges::all_of(limits, [](int64_t limit) { return limit >= INT8_MIN && limit <= INT8_MAX; });
}

// A requantization of int32 values that are shifted left, multiplied and shifted right.
struct Scaling {
  int32_t multiplier = 0, left = 0, right = 0;

  // Whether all values up to `max`, shifted left, are int32.
  static bool fits(const Requantization& scale, int64_t max) {
    return scale.multiplier >= 0 && scale.multiplier <= INT32_MAX &&
           (scale.shift <= 0 || max << scale.shift <= INT32_MAX);
  }
  explicit Scaling(const Requantization& scale)
      : multiplier(static_cast<int32_t>(scale.multiplier)),
        left(static_cast<int32_t>(std::max<int64_t>(scale.shift, 0))),
        right(static_cast<int32_t>(std::max<int64_t>(-scale.shift, 0))) {}

  [[nodiscard]] int32_t operator()(int32_t value) const {
    const int64_t product = int64_t{value * (1 << left)} * multiplier;
    return Requantization::rounded_shift(static_cast<int32_t>((product + (int64_t{1} << 30)) >> 31), right);
  }
#if defined(__ARM_FEATURE_MVE)
  // Half away from zero: 1 is subtracted from negative numbers before halves are rounded up.
  [[gnu::always_inline]] [[nodiscard]] int32x4_t operator()(int32x4_t values) const {
    return shrunk(vshlq_r_s32(values, left));
  }
  // The same without the left shift.
  [[gnu::always_inline]] [[nodiscard]] int32x4_t shrunk(int32x4_t values) const {
    const int32x4_t high = vqrdmulhq_n_s32(values, multiplier);
    const int32x4_t below = vshrq_n_s32(vandq_s32(high, vdupq_n_s32(-right)), 31);
    return vrshlq_n_s32(vqaddq_s32(high, below), -right);
  }
#endif
};

// The scalings have no left shift.
struct Sum {
  Scaling a, b, result;
  int32_t a_zero, b_zero, zero, low, high;

  [[nodiscard]] int32_t operator()(int32_t x, int32_t y) const {
    const int32_t sum = a((x - a_zero) * (1 << kAddShift)) + b((y - b_zero) * (1 << kAddShift));
    return std::clamp(result(sum) + zero, low, high);
  }
#if defined(__ARM_FEATURE_MVE)
  [[gnu::always_inline]] [[nodiscard]] int32x4_t operator()(int32x4_t x, int32x4_t y) const {
    const int32x4_t sum = vaddq_s32(a.shrunk(vshlq_n_s32(vsubq_n_s32(x, a_zero), kAddShift)),
                                    b.shrunk(vshlq_n_s32(vsubq_n_s32(y, b_zero), kAddShift)));
    return vminq_s32(vmaxq_s32(vaddq_n_s32(result.shrunk(sum), zero), vdupq_n_s32(low)), vdupq_n_s32(high));
  }
#endif
};

struct Product {
  Scaling result;
  int32_t a_zero, b_zero, zero;

  [[nodiscard]] int32_t operator()(int32_t x, int32_t y) const {
    return std::clamp<int32_t>(result((x - a_zero) * (y - b_zero)) + zero, INT8_MIN, INT8_MAX);
  }
#if defined(__ARM_FEATURE_MVE)
  [[gnu::always_inline]] [[nodiscard]] int32x4_t operator()(int32x4_t x, int32x4_t y) const {
    const int32x4_t product = vmulq_s32(vsubq_n_s32(x, a_zero), vsubq_n_s32(y, b_zero));
    const int32x4_t value = vaddq_n_s32(result(product), zero);
    return vminq_s32(vmaxq_s32(value, vdupq_n_s32(INT8_MIN)), vdupq_n_s32(INT8_MAX));
  }
#endif
};

// A table of values for -128 to 127; `values` is that of 0.
struct Lookup {
  const int8_t* values;

  [[nodiscard]] int32_t operator()(int32_t x, int32_t /*y*/) const { return values[x]; }
#if defined(__ARM_FEATURE_MVE)
  [[gnu::always_inline]] [[nodiscard]] int32x4_t operator()(int32x4_t x, int32x4_t /*y*/) const {
    return vldrbq_gather_offset_s32(values - 128, vreinterpretq_u32_s32(vaddq_n_s32(x, 128)));
  }
#endif
};

#if defined(__ARM_FEATURE_MVE)
// Computes elements of a row whose strides are 0 or 1, four at a time, and returns their number.
template <typename Function>
[[gnu::noinline]] size_t map_vectors(const Row& row, size_t count, Function function) {
  int8_t repeated_a[4], repeated_b[4];  // four copies of a broadcast element, to be loaded as a vector
  std::fill_n(repeated_a, 4, *row.a);
  std::fill_n(repeated_b, 4, *row.b);
  const int8_t *a = row.a_step == 0 ? repeated_a : row.a, *b = row.b_step == 0 ? repeated_b : row.b;
  int8_t* to = row.to;
  const ptrdiff_t a_step = 4 * row.a_step, b_step = 4 * row.b_step;
  for (size_t left = count / 4; left > 0; --left) {
    vstrbq_s32(to, function(vldrbq_s32(a), vldrbq_s32(b)));
    a += a_step;
    b += b_step;
    to += 4;
  }
  return count / 4 * 4;
}
#endif

#if defined(__ARM_FEATURE_MVE)
// Whether the scaling of b has no shift and that of the result has one. This is common: the larger scale of two
// operands becomes 1/2, a multiplier without a shift.
bool is_common(const Sum& sum) {
  return sum.b.right == 0 && sum.result.right > 0;
}

// A common sum of adjacent elements. Half away from zero: 1 is subtracted from negative numbers before halves are
// rounded up. GCC would move the constants and pointers between registers and the stack.
[[gnu::noinline]] void add_adjacent(const int8_t* a, const int8_t* b, int8_t* to, size_t count, const Sum& sum) {
  int32x4_t x, y, sign;
  asm volatile(
      "wlstp.32 lr, %[count], 2f\n"
      "1:\n"
      "vldrb.s32 %q[x], [%[a]], #4\n"
      "vldrb.s32 %q[y], [%[b]], #4\n"
      "vmlas.s32 %q[x], %q[factor], %[a_start]\n"
      "vmlas.s32 %q[y], %q[factor], %[b_start]\n"
      "vqrdmulh.s32 %q[x], %q[x], %[a_multiplier]\n"
      "vqrdmulh.s32 %q[y], %q[y], %[b_multiplier]\n"
      "vshr.s32 %q[sign], %q[x], #31\n"
      "vmla.s32 %q[x], %q[sign], %[a_rounds]\n"
      "vrshl.s32 %q[x], %q[x], %q[a_shift]\n"
      "vadd.i32 %q[x], %q[x], %q[y]\n"
      "vqrdmulh.s32 %q[x], %q[x], %[multiplier]\n"
      "vshr.s32 %q[sign], %q[x], #31\n"
      "vadd.i32 %q[x], %q[x], %q[sign]\n"
      "vrshl.s32 %q[x], %[shift]\n"
      "vadd.i32 %q[x], %q[x], %q[zero]\n"
      "vmax.s32 %q[x], %q[x], %q[low]\n"
      "vmin.s32 %q[x], %q[x], %q[high]\n"
      "vstrb.32 %q[x], [%[to]], #4\n"
      "letp lr, 1b\n"
      "2:\n"
      : [x] "=&w"(x), [y] "=&w"(y), [sign] "=&w"(sign), [a] "+r"(a), [b] "+r"(b), [to] "+r"(to)
      : [count] "r"(count), [a_start] "r"(-sum.a_zero * (1 << kAddShift)),
        [b_start] "r"(-sum.b_zero * (1 << kAddShift)), [a_multiplier] "r"(sum.a.multiplier),
        [b_multiplier] "r"(sum.b.multiplier), [multiplier] "r"(sum.result.multiplier),
        [a_rounds] "r"(sum.a.right > 0 ? 1 : 0), [shift] "r"(-sum.result.right),
        [factor] "w"(vdupq_n_s32(1 << kAddShift)), [a_shift] "w"(vdupq_n_s32(-sum.a.right)),
        [zero] "w"(vdupq_n_s32(sum.zero)), [low] "w"(vdupq_n_s32(sum.low)), [high] "w"(vdupq_n_s32(sum.high))
      : "memory", "lr");
}
#endif

template <typename Function>
void map_codes(const Row& row, size_t count, Function function) {
  size_t i = 0;
#if defined(__ARM_FEATURE_MVE)
  if constexpr (std::is_same_v<Function, Sum>) {
    if (row.a_step == 1 && row.b_step == 1 && row.to_step == 1 && is_common(function))
      return add_adjacent(row.a, row.b, row.to, count, function);
  }
  const auto is_vector = [](ptrdiff_t step) { return step == 0 || step == 1; };
  if (row.to_step == 1 && is_vector(row.a_step) && is_vector(row.b_step)) i = map_vectors(row, count, function);
#endif
  for (; i < count; ++i) {
    const auto at = static_cast<ptrdiff_t>(i);
    row.to[at * row.to_step] = static_cast<int8_t>(function(row.a[at * row.a_step], row.b[at * row.b_step]));
  }
}

// map_binary() for int8 tensors
template <typename Function>
Error map_int8(const Tensor& a, const Tensor& b, const Tensor& out, const Function& function) {
  return map_rows(a, b, out, [&](const Steps<3>& at, const Steps<3>& steps, size_t count) {
    map_codes({.a = a.as<const int8_t>() + at[0],
               .b = b.as<const int8_t>() + at[1],
               .to = out.as<int8_t>() + at[2],
               .a_step = steps[0],
               .b_step = steps[1],
               .to_step = steps[2]},
              count, function);
  });
}

}  // namespace

// (self, zero_point, multiplier, shift, other, zero_point, multiplier, shift, output zero_point, multiplier, shift,
// activation_min, activation_max, out)
Error cortex_m_add(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& a = call.tensor(0);
  const Tensor& b = call.tensor(4);
  const Tensor& out = call.out(13);
  const int64_t a_zero = call.integer(1), b_zero = call.integer(5), zero = call.integer(8);
  const Requantization scale_a = requantization(call, 2), scale_b = requantization(call, 6),
                       scale = requantization(call, 9);
  const int64_t low = call.integer(11), high = call.integer(12);
  call.require(low <= high);
  call.support(is_quantized(a) && is_quantized(b) && is_quantized(out));
  CARINA_RT_TRY(call.error());
  constexpr int64_t kMaxShifted = 383LL << kAddShift;
  if (fits_int32({&a, &b, &out}, {a_zero, b_zero, zero}, {low, high}) &&
      std::max({scale_a.shift, scale_b.shift, scale.shift}) <= 0 && Scaling::fits(scale_a, kMaxShifted) &&
      Scaling::fits(scale_b, kMaxShifted) && Scaling::fits(scale, 2 * kMaxShifted)) {
    const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
    Sum sum{.a = Scaling(scale_a),
            .b = Scaling(scale_b),
            .result = Scaling(scale),
            .a_zero = narrow(a_zero),
            .b_zero = narrow(b_zero),
            .zero = narrow(zero),
            .low = narrow(low),
            .high = narrow(high)};
    if (sum.a.right > 0) return map_int8(a, b, out, sum);
    std::swap(sum.a, sum.b);
    std::swap(sum.a_zero, sum.b_zero);
    return map_int8(b, a, out, sum);
  }
  return map_binary(a, b, out, [&](auto x, auto y) {
    const int64_t first = scale_a(wrapped_shift(code(x) - a_zero, kAddShift));
    const int64_t second = scale_b(wrapped_shift(code(y) - b_zero, kAddShift));
    return std::clamp<int64_t>(scale(first + second) + zero, low, high);
  });
}

// (self, zero_point, other, zero_point, output zero_point, multiplier, shift, out)
Error cortex_m_mul(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& a = call.tensor(0);
  const Tensor& b = call.tensor(2);
  const Tensor& out = call.out(7);
  const int64_t a_zero = call.integer(1), b_zero = call.integer(3), zero = call.integer(4);
  const Requantization scale = requantization(call, 5);
  call.support(is_quantized(a) && is_quantized(b) && is_quantized(out));
  CARINA_RT_TRY(call.error());
  if (fits_int32({&a, &b, &out}, {a_zero, b_zero, zero}, {}) && Scaling::fits(scale, 383 * 383)) {
    return map_int8(a, b, out,
                    Product{.result = Scaling(scale),
                            .a_zero = static_cast<int32_t>(a_zero),
                            .b_zero = static_cast<int32_t>(b_zero),
                            .zero = static_cast<int32_t>(zero)});
  }
  const Limits limits = limits_of(out.type);
  return map_binary(a, b, out, [&](auto x, auto y) {
    const int64_t product = (code(x) - a_zero) * (code(y) - b_zero);
    return std::clamp<int64_t>(scale(product) + zero, limits.low, limits.high);
  });
}

// (self, zero_point, other, zero_point, output zero_point, output scale, out). Computed in float; a quotient with
// divisor zero is 0.
Error cortex_m_div(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& a = call.tensor(0);
  const Tensor& b = call.tensor(2);
  const Tensor& out = call.out(6);
  const int64_t a_zero = call.integer(1), b_zero = call.integer(3), zero = call.integer(4);
  const auto scale = static_cast<float>(call.number(5));
  call.support(is_quantized(a) && a.type == b.type && a.type == out.type);
  call.require(same_sizes(a, b) && same_sizes(a, out));
  CARINA_RT_TRY(call.error());
  const Limits limits = limits_of(out.type);
  return map_binary(a, b, out, [&](auto x, auto y) {
    const auto above = static_cast<float>(code(x) - a_zero);
    const auto below = static_cast<float>(code(y) - b_zero);
    const float quotient = below == 0 ? 0.0F : above / below;
    const float rounded = std::nearbyint(quotient * scale) + static_cast<float>(zero);
    return std::clamp(to_int64(static_cast<double>(rounded)), limits.low, limits.high);
  });
}

// (input, a table of 256 int8, out)
Error cortex_m_activation(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& table = call.tensor(1);
  const Tensor& out = call.out(2);
  call.require(table.elements() == 256);
  call.support(in.type == PteScalarType::kChar && table.type == in.type && out.type == in.type);
  CARINA_RT_TRY(call.error());
  const auto* values = table.as<const int8_t>();
  return map_int8(in, in, out, Lookup{.values = values + 128});
}

}  // namespace carina::runtime
