#include <cmath>
#include <cstdlib>
#include <type_traits>

#include "runtime/kernels/complex_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/kernels_internal.h"

// Elementwise arithmetic of two operands: add, sub, mul, div with its rounding modes, remainders, powers, maxima. A
// kernel computes in the domain of the promoted type: int64_t, float or double.
namespace carina::runtime {

namespace {

template <typename T>
constexpr bool kWhole = std::is_same_v<T, int64_t>;

// A function of two elements and a factor, which is converted once per domain.
template <typename Function>
struct WithAlpha {
  const EValue& alpha;
  const Function& function;
  template <typename T>
  [[nodiscard]] auto in() const {
    return [factor = scalar_in<T>(alpha), call = function](T a, T b) { return call(a, b, factor); };
  }
};

// (a, b, alpha, out)
template <typename Function>
Error with_alpha(Arguments arguments, const Function& function) {
  Call call(arguments);
  static_cast<void>(call.number(2));
  CARINA_RT_TRY(call.error());
  EValue alpha = *arguments[2];
  // bool tensors: the factor is a bool too
  if (call.out(3).type == PteScalarType::kBool) alpha = EValue(int64_t{alpha.to_double() != 0});
  CARINA_RT_TRY(call.error());
  return binary_kernel(arguments, WithAlpha<Function>{.alpha = alpha, .function = function}, 3);
}

// Integer division by zero, and of the smallest number by -1, are undefined in C++. Here the results are 0 and the
// number itself.
template <typename T>
T quotient(T a, T b) {
  if constexpr (kWhole<T>) {
    if (b == 0) return 0;
    return b == -1 ? minus<T>(0, a) : a / b;
  } else {
    return a / b;
  }
}

template <typename T>
T floored_quotient(T a, T b) {
  if constexpr (kWhole<T>) {
    const T q = quotient(a, b);
    return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  } else {
    // Uses fmod, as PyTorch does, so that 1 // 0.1 is 9.
    const T remainder = std::fmod(a, b);
    if (b == 0) return a / b;
    T q = (a - remainder) / b;
    if (remainder != 0 && (b < 0) != (remainder < 0)) q -= 1;
    if (q == 0) return std::copysign(T{0}, a / b);
    const T floored = std::floor(q);
    return q - floored > T{0.5} ? floored + 1 : floored;
  }
}

template <typename T>
T remainder_of_truncation(T a, T b) {
  if constexpr (kWhole<T>) {
    return b == 0 || b == -1 ? 0 : a % b;
  } else {
    return std::fmod(a, b);
  }
}

template <typename T>
T remainder_of_floor(T a, T b) {
  const T r = remainder_of_truncation(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// PyTorch converts both operands to the result's type before the division. The remainder of rounded operands differs.
template <typename Function>
Error remainder_kernel(Arguments arguments, const Function& function) {
  const PteScalarType type =
      arguments.size() > 2 && arguments[2]->is_tensor() ? arguments[2]->tensor.type : PteScalarType::kDouble;
  return binary_kernel(arguments, [&](auto a, auto b) {
    if constexpr (std::is_same_v<decltype(a), double>) {
      return function(rounded_to(type, a), rounded_to(type, b));
    } else if constexpr (std::is_same_v<decltype(a), int64_t>) {
      return function(wrapped_to(type, a), wrapped_to(type, b));
    } else {
      return function(a, b);
    }
  });
}

template <typename T>
T power(T base, T exponent) {
  if constexpr (kWhole<T>) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    T result = 1;
    for (; exponent > 0; exponent /= 2, base = times(base, base))
      result = exponent % 2 != 0 ? times(result, base) : result;
    return result;
  } else {
    return std::pow(base, exponent);
  }
}

// The maximum or minimum. If an operand is NaN, the result is NaN, as in PyTorch.
template <typename T>
T larger(T a, T b) {
  return a != a || a > b ? a : b;
}
template <typename T>
T smaller(T a, T b) {
  return a != a || a < b ? a : b;
}

}  // namespace

Error add(Arguments arguments, Arena& /*scratch*/) {
  if (has_complex(arguments) && arguments.size() == 4)
    return complex_binary(arguments, ComplexOperation::kSum, 3, arguments[2]);
  return with_alpha(arguments, [](auto a, auto b, auto alpha) { return plus(a, times(b, alpha)); });
}

Error sub(Arguments arguments, Arena& /*scratch*/) {
  return with_alpha(arguments, [](auto a, auto b, auto alpha) { return minus(a, times(b, alpha)); });
}

Error rsub(Arguments arguments, Arena& /*scratch*/) {
  return with_alpha(arguments, [](auto a, auto b, auto alpha) { return minus(b, times(a, alpha)); });
}

// (a, b, out)
Error mul(Arguments arguments, Arena& /*scratch*/) {
  if (has_complex(arguments)) return complex_binary(arguments, ComplexOperation::kProduct, 2);
  return binary_kernel(arguments, [](auto a, auto b) { return times(a, b); });
}

Error div(Arguments arguments, Arena& /*scratch*/) {
  if (has_complex(arguments)) return complex_binary(arguments, ComplexOperation::kQuotient, 2);
  return binary_kernel(arguments, [](auto a, auto b) { return quotient(a, b); });
}

// (a, b, rounding_mode, out)
Error div_mode(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const std::string_view mode = call.is_none(2) ? std::string_view() : call.text(2);
  CARINA_RT_TRY(call.error());
  if (mode.empty()) {
    if (has_complex(arguments)) return complex_binary(arguments, ComplexOperation::kQuotient, 3);
    return binary_kernel(arguments, [](auto a, auto b) { return quotient(a, b); }, 3);
  }
  if (mode == "floor") {
    return binary_kernel(arguments, [](auto a, auto b) { return floored_quotient(a, b); }, 3);
  }
  if (mode != "trunc") return Error::kInvalidArgument;
  const auto truncated = [](auto a, auto b) {
    if constexpr (kWhole<decltype(a)>)
      return quotient(a, b);
    else
      return std::trunc(a / b);
  };
  return binary_kernel(arguments, truncated, 3);
}

Error floor_divide(Arguments arguments, Arena& /*scratch*/) {
  return binary_kernel(arguments, [](auto a, auto b) { return floored_quotient(a, b); });
}

Error fmod(Arguments arguments, Arena& /*scratch*/) {
  return remainder_kernel(arguments, [](auto a, auto b) { return remainder_of_truncation(a, b); });
}

Error remainder(Arguments arguments, Arena& /*scratch*/) {
  return remainder_kernel(arguments, [](auto a, auto b) { return remainder_of_floor(a, b); });
}

Error maximum(Arguments arguments, Arena& /*scratch*/) {
  return binary_kernel(arguments, [](auto a, auto b) { return larger(a, b); });
}

Error minimum(Arguments arguments, Arena& /*scratch*/) {
  return binary_kernel(arguments, [](auto a, auto b) { return smaller(a, b); });
}

Error atan2(Arguments arguments, Arena& /*scratch*/) {
  return binary_kernel(arguments, [](auto a, auto b) { return std::atan2(a, b); });
}

// PyTorch computes these exponents with sqrt, so that pow(-inf, 0.5) is NaN. It does not do so for fp16.
Error pow(Arguments arguments, Arena& /*scratch*/) {
  const bool root = arguments.size() > 1 && arguments[1]->kind == EValue::Kind::kDouble &&
                    std::fabs(arguments[1]->number) == 0.5 &&
                    !(arguments[0]->is_tensor() && arguments[0]->tensor.type == PteScalarType::kHalf);
  return binary_kernel(arguments, [root](auto a, auto b) {
    if constexpr (!kWhole<decltype(a)>) {
      if (root) return b < 0 ? 1 / std::sqrt(a) : std::sqrt(a);
    }
    return power(a, b);
  });
}

// (base: scalar, exponent, out)
Error pow_scalar(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  static_cast<void>(call.number(0));
  const Tensor& exponent = call.tensor(1);
  const Tensor& out = call.out(2);
  CARINA_RT_TRY(call.error());
  const ScalarTensor base(*arguments[0], exponent);
  return map_binary(base.tensor(), exponent, out, [](auto a, auto b) { return power(a, b); });
}

}  // namespace carina::runtime
