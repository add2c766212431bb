#include <cmath>
#include <type_traits>

#include "runtime/kernels/complex_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/float_functions.h"
#include "runtime/kernels/kernels_internal.h"

namespace carina::runtime {

namespace {

// For functions that do not change integers.
template <typename Function>
Error rounding(Arguments arguments, const Function& function) {
  return unary_kernel(arguments, [&](auto a) {
    if constexpr (std::is_same_v<decltype(a), int64_t>)
      return a;
    else
      return function(a);
  });
}

// For functions that are not defined on integers: the output must be floating-point.
Error check_floating(Arguments arguments) {
  Call call(arguments);
  call.support(is_floating(call.out(1).type));
  return call.error();
}

template <typename Function>
Error floating(Arguments arguments, const Function& function) {
  CARINA_RT_TRY(check_floating(arguments));
  return rounding(arguments, function);
}

template <typename Function>
Error float_function(Arguments arguments) {
  CARINA_RT_TRY(check_floating(arguments));
  return unary_kernel(arguments, FloatFunction<Function>{});
}

}  // namespace

Error abs(Arguments arguments, Arena& /*scratch*/) {
  if (has_complex(arguments)) return complex_magnitude(arguments);
  return unary_kernel(arguments, [](auto a) {
    using T = decltype(a);
    return a < 0 ? minus(T(0), a) : a == 0 ? T(0) : a;
  });
}

// The arguments of these kernels are (a, out).
#define CARINA_UNARY(name, expression)                                                           \
  Error name(Arguments arguments, Arena& /*scratch*/) {                                          \
    return unary_kernel(arguments, [](auto a) { return static_cast<decltype(a)>(expression); }); \
  }
CARINA_UNARY(neg, minus(decltype(a)(0), a))
CARINA_UNARY(sign, a > 0 ? decltype(a)(1) : a < 0 ? decltype(a)(-1) : a)
CARINA_UNARY(isnan, a != a)
CARINA_UNARY(isinf, std::isinf(static_cast<double>(a)))
#undef CARINA_UNARY

#define CARINA_UNARY(name, expression)                                                       \
  Error name(Arguments arguments, Arena& /*scratch*/) {                                      \
    return floating(arguments, [](auto a) { return static_cast<decltype(a)>(expression); }); \
  }
CARINA_UNARY(reciprocal, decltype(a)(1) / a)
CARINA_UNARY(rsqrt, 1 / std::sqrt(a))
CARINA_UNARY(sqrt, std::sqrt(a))
CARINA_UNARY(expm1, std::expm1(a))
CARINA_UNARY(log, std::log(a))
CARINA_UNARY(log10, std::log10(a))
CARINA_UNARY(log1p, std::log1p(a))
CARINA_UNARY(log2, std::log2(a))
CARINA_UNARY(sin, std::sin(a))
CARINA_UNARY(cos, std::cos(a))
CARINA_UNARY(tan, std::tan(a))
CARINA_UNARY(asin, std::asin(a))
CARINA_UNARY(acos, std::acos(a))
CARINA_UNARY(atan, std::atan(a))
CARINA_UNARY(sinh, std::sinh(a))
CARINA_UNARY(cosh, std::cosh(a))
CARINA_UNARY(asinh, std::asinh(a))
CARINA_UNARY(acosh, std::acosh(a))
CARINA_UNARY(atanh, std::atanh(a))
CARINA_UNARY(erf, std::erf(a))
#undef CARINA_UNARY

Error exp(Arguments arguments, Arena& /*scratch*/) {
  return float_function<ExpFunction>(arguments);
}
Error tanh(Arguments arguments, Arena& /*scratch*/) {
  return float_function<TanhFunction>(arguments);
}
Error sigmoid(Arguments arguments, Arena& /*scratch*/) {
  return float_function<SigmoidFunction>(arguments);
}

Error ceil(Arguments arguments, Arena& /*scratch*/) {
  return rounding(arguments, [](auto a) { return std::ceil(a); });
}
Error floor(Arguments arguments, Arena& /*scratch*/) {
  return rounding(arguments, [](auto a) { return std::floor(a); });
}
Error trunc(Arguments arguments, Arena& /*scratch*/) {
  return rounding(arguments, [](auto a) { return std::trunc(a); });
}
// Halves are rounded to even.
Error round(Arguments arguments, Arena& /*scratch*/) {
  return rounding(arguments, [](auto a) { return std::nearbyint(a); });
}

}  // namespace carina::runtime
