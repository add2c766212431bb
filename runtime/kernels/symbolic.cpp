// Kernels that compute with numbers instead of tensors: sizes, and arithmetic on them.
#include <cmath>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

namespace {

using Kind = EValue::Kind;

bool is_number(const EValue& value) {
  return value.kind == Kind::kInt || value.kind == Kind::kDouble || value.kind == Kind::kBool;
}

// Checks that the first count - 1 arguments are numbers. The last one gets the result.
Error check_numbers(Arguments arguments, size_t count) {
  if (arguments.size() < count) return Error::kInvalidProgram;
  for (size_t i = 0; i + 1 < count; ++i) {
    if (!is_number(*arguments[i])) return Error::kInvalidArgument;
  }
  const EValue& result = *arguments[count - 1];
  return is_number(result) || result.is_none() ? Error::kOk : Error::kInvalidArgument;
}

// Stores a number in a value. Values are never destroyed, so the old content needs no destructor.
template <typename T>
void set(EValue& value, T number) {
  value = EValue(number);
}

// (a, b, out): an integer if both operands are
template <typename Function>
Error arithmetic(Arguments arguments, const Function& function) {
  CARINA_RT_TRY(check_numbers(arguments, 3));
  const EValue &a = *arguments[0], &b = *arguments[1];
  if (a.kind == Kind::kDouble || b.kind == Kind::kDouble) {
    set(*arguments[2], static_cast<double>(function(a.to_double(), b.to_double())));
  } else {
    set(*arguments[2], static_cast<int64_t>(function(a.to_int(), b.to_int())));
  }
  return Error::kOk;
}

template <typename Function>
Error comparison(Arguments arguments, const Function& function) {
  CARINA_RT_TRY(check_numbers(arguments, 3));
  const EValue &a = *arguments[0], &b = *arguments[1];
  const bool numbers = a.kind == Kind::kDouble || b.kind == Kind::kDouble;
  set(*arguments[2],
      static_cast<bool>(numbers ? function(a.to_double(), b.to_double()) : function(a.to_int(), b.to_int())));
  return Error::kOk;
}

// (a, out): an integer stays as it is
template <typename Function>
Error to_whole(Arguments arguments, const Function& function) {
  CARINA_RT_TRY(check_numbers(arguments, 2));
  const EValue& a = *arguments[0];
  set(*arguments[1], a.kind == Kind::kDouble ? to_int64(function(a.number)) : a.to_int());
  return Error::kOk;
}

bool divides_by_zero(Arguments arguments) {
  return arguments.size() >= 2 && arguments[1]->kind != Kind::kDouble && arguments[1]->to_int() == 0;
}

// Python's floor division, which rounds toward minus infinity.
template <typename T>
T floored(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>) {
    if (b == -1) return minus<T>(0, a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  } else {
    return std::floor(a / b);
  }
}

template <typename T>
T modulo(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>) {
    if (b == -1) return 0;
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  } else {
    const T rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
}

}  // namespace

Error number_add(Arguments arguments, Arena& /*scratch*/) {
  return arithmetic(arguments, [](auto a, auto b) { return plus(a, b); });
}
Error number_sub(Arguments arguments, Arena& /*scratch*/) {
  return arithmetic(arguments, [](auto a, auto b) { return minus(a, b); });
}
Error number_mul(Arguments arguments, Arena& /*scratch*/) {
  return arithmetic(arguments, [](auto a, auto b) { return times(a, b); });
}
Error number_floordiv(Arguments arguments, Arena& /*scratch*/) {
  if (divides_by_zero(arguments)) return Error::kInvalidArgument;
  return arithmetic(arguments, [](auto a, auto b) { return floored(a, b); });
}
Error number_mod(Arguments arguments, Arena& /*scratch*/) {
  if (divides_by_zero(arguments)) return Error::kInvalidArgument;
  return arithmetic(arguments, [](auto a, auto b) { return modulo(a, b); });
}
Error number_max(Arguments arguments, Arena& /*scratch*/) {
  return arithmetic(arguments, [](auto a, auto b) { return a < b ? b : a; });
}
Error number_min(Arguments arguments, Arena& /*scratch*/) {
  return arithmetic(arguments, [](auto a, auto b) { return b < a ? b : a; });
}
Error number_truediv(Arguments arguments, Arena& /*scratch*/) {
  if (divides_by_zero(arguments)) return Error::kInvalidArgument;
  CARINA_RT_TRY(check_numbers(arguments, 3));
  set(*arguments[2], arguments[0]->to_double() / arguments[1]->to_double());
  return Error::kOk;
}

Error number_eq(Arguments arguments, Arena& /*scratch*/) {
  return comparison(arguments, [](auto a, auto b) { return a == b; });
}
Error number_ge(Arguments arguments, Arena& /*scratch*/) {
  return comparison(arguments, [](auto a, auto b) { return a >= b; });
}
Error number_gt(Arguments arguments, Arena& /*scratch*/) {
  return comparison(arguments, [](auto a, auto b) { return a > b; });
}
Error number_le(Arguments arguments, Arena& /*scratch*/) {
  return comparison(arguments, [](auto a, auto b) { return a <= b; });
}
Error number_lt(Arguments arguments, Arena& /*scratch*/) {
  return comparison(arguments, [](auto a, auto b) { return a < b; });
}

Error number_ceil(Arguments arguments, Arena& /*scratch*/) {
  return to_whole(arguments, [](double a) { return std::ceil(a); });
}
// Halves are rounded to even, as in Python.
Error number_round(Arguments arguments, Arena& /*scratch*/) {
  return to_whole(arguments, [](double a) { return std::nearbyint(a); });
}
Error number_trunc(Arguments arguments, Arena& /*scratch*/) {
  return to_whole(arguments, [](double a) { return std::trunc(a); });
}

Error number_neg(Arguments arguments, Arena& /*scratch*/) {
  CARINA_RT_TRY(check_numbers(arguments, 2));
  const EValue& a = *arguments[0];
  if (a.kind == Kind::kDouble) {
    set(*arguments[1], -a.number);
  } else {
    set(*arguments[1], minus<int64_t>(0, a.to_int()));
  }
  return Error::kOk;
}

Error number_to_double(Arguments arguments, Arena& /*scratch*/) {
  CARINA_RT_TRY(check_numbers(arguments, 2));
  set(*arguments[1], arguments[0]->to_double());
  return Error::kOk;
}

Error number_not(Arguments arguments, Arena& /*scratch*/) {
  CARINA_RT_TRY(check_numbers(arguments, 2));
  set(*arguments[1], arguments[0]->to_double() == 0);
  return Error::kOk;
}

// (condition, a, b, out)
Error number_choose(Arguments arguments, Arena& /*scratch*/) {
  CARINA_RT_TRY(check_numbers(arguments, 4));
  *arguments[3] = arguments[0]->to_double() != 0 ? *arguments[1] : *arguments[2];
  return Error::kOk;
}

// (tensor, dim, out)
Error size_of_axis(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& tensor = call.tensor(0);
  const size_t axis = call.axis(1, tensor.rank());
  call.require(arguments.size() > 2 && (is_number(*arguments[2]) || arguments[2]->is_none()));
  CARINA_RT_TRY(call.error());
  set(*arguments[2], int64_t{tensor.sizes()[axis]});
  return Error::kOk;
}

// (tensor, out)
Error number_of_elements(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& tensor = call.tensor(0);
  call.require(arguments.size() > 1 && (is_number(*arguments[1]) || arguments[1]->is_none()));
  CARINA_RT_TRY(call.error());
  set(*arguments[1], static_cast<int64_t>(tensor.elements()));
  return Error::kOk;
}

// (tensor of one element, out)
Error value_of_element(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& tensor = call.tensor(0);
  call.require(tensor.elements() == 1 && arguments.size() > 1 && (is_number(*arguments[1]) || arguments[1]->is_none()));
  CARINA_RT_TRY(call.error());
  if (is_floating(tensor.type)) {
    set(*arguments[1], Numbers::reader(tensor)(0));
  } else if (tensor.type == PteScalarType::kBool) {
    set(*arguments[1], Integers::reader(tensor)(0) != 0);
  } else {
    set(*arguments[1], Integers::reader(tensor)(0));
  }
  return Error::kOk;
}

}  // namespace carina::runtime
