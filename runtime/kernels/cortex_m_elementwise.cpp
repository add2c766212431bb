#include <cmath>
#include <limits>

#include "runtime/kernels/cortex_m_internal.h"
#include "runtime/kernels/element_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/kernels_internal.h"

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
  return map_binary(a, b, out, [&](auto x, auto y) {
    const int64_t first = scale_a(wrapped_shift(to_int64(static_cast<double>(x)) - a_zero, kAddShift));
    const int64_t second = scale_b(wrapped_shift(to_int64(static_cast<double>(y)) - b_zero, kAddShift));
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
  const Limits limits = limits_of(out.type);
  return map_binary(a, b, out, [&](auto x, auto y) {
    const int64_t product = (to_int64(static_cast<double>(x)) - a_zero) * (to_int64(static_cast<double>(y)) - b_zero);
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
    const auto above = static_cast<float>(to_int64(static_cast<double>(x)) - a_zero);
    const auto below = static_cast<float>(to_int64(static_cast<double>(y)) - b_zero);
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
  return map_unary(in, out, [&](auto x) { return values[static_cast<int8_t>(x) + 128]; });
}

}  // namespace carina::runtime
