#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/kernels_internal.h"

namespace carina::runtime {

namespace {

// Bitwise operations, for integers and bools only.
template <typename Function>
Error bitwise(Arguments arguments, const Function& function) {
  Call call(arguments);
  call.support(!is_floating(call.tensor(0).type) && !is_floating(call.out(2).type));
  if (call.error() == Error::kOk && arguments[1]->is_tensor()) call.support(!is_floating(arguments[1]->tensor.type));
  CARINA_RT_TRY(call.error());
  return binary_kernel(arguments, [&](auto a, auto b) {
    return static_cast<decltype(a)>(function(static_cast<int64_t>(a), static_cast<int64_t>(b)));
  });
}

// A shift by a negative number or by at least the width of the type gives 0, or the sign for a right shift, as in
// PyTorch.
template <typename Function>
Error shift(Arguments arguments, const Function& function) {
  Call call(arguments);
  const Tensor& out = call.out(2);
  const auto bits = static_cast<int64_t>(8 * element_bytes(out.type));
  CARINA_RT_TRY(call.error());
  const bool has_sign =
      out.type != PteScalarType::kByte && out.type != PteScalarType::kUInt16 && out.type != PteScalarType::kUInt32;
  return bitwise(arguments, [&](int64_t a, int64_t b) {
    if (b >= 0 && b < bits) return function(a, b);
    return function(int64_t{-1}, int64_t{1}) == -1 && a < 0 && has_sign ? int64_t{-1} : int64_t{0};
  });
}

}  // namespace

// The arguments of all comparisons are (a, b, out); b is a tensor or a scalar.
Error eq(Arguments arguments, Arena& /*scratch*/) {
  return binary_kernel(arguments, [](auto a, auto b) { return a == b; });
}
Error ne(Arguments arguments, Arena& /*scratch*/) {
  return binary_kernel(arguments, [](auto a, auto b) { return a != b; });
}
Error lt(Arguments arguments, Arena& /*scratch*/) {
  return binary_kernel(arguments, [](auto a, auto b) { return a < b; });
}
Error le(Arguments arguments, Arena& /*scratch*/) {
  return binary_kernel(arguments, [](auto a, auto b) { return a <= b; });
}
Error gt(Arguments arguments, Arena& /*scratch*/) {
  return binary_kernel(arguments, [](auto a, auto b) { return a > b; });
}
Error ge(Arguments arguments, Arena& /*scratch*/) {
  return binary_kernel(arguments, [](auto a, auto b) { return a >= b; });
}
Error logical_and(Arguments arguments, Arena& /*scratch*/) {
  return binary_kernel(arguments, [](auto a, auto b) { return a != 0 && b != 0; });
}
Error logical_or(Arguments arguments, Arena& /*scratch*/) {
  return binary_kernel(arguments, [](auto a, auto b) { return a != 0 || b != 0; });
}
Error logical_xor(Arguments arguments, Arena& /*scratch*/) {
  return binary_kernel(arguments, [](auto a, auto b) { return (a != 0) != (b != 0); });
}
Error bitwise_and(Arguments arguments, Arena& /*scratch*/) {
  return bitwise(arguments, [](int64_t a, int64_t b) { return a & b; });
}
Error bitwise_or(Arguments arguments, Arena& /*scratch*/) {
  return bitwise(arguments, [](int64_t a, int64_t b) { return a | b; });
}
Error bitwise_xor(Arguments arguments, Arena& /*scratch*/) {
  return bitwise(arguments, [](int64_t a, int64_t b) { return a ^ b; });
}

Error bitwise_left_shift(Arguments arguments, Arena& /*scratch*/) {
  return shift(arguments, [](int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) << b); });
}
Error bitwise_right_shift(Arguments arguments, Arena& /*scratch*/) {
  return shift(arguments, [](int64_t a, int64_t b) { return a >> b; });
}

// (a, out)
Error logical_not(Arguments arguments, Arena& /*scratch*/) {
  return unary_kernel(arguments, [](auto a) { return a == 0; });
}

Error bitwise_not(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const bool is_bool = in.type == PteScalarType::kBool;
  call.support(!is_floating(in.type) && call.out(1).type == in.type);
  CARINA_RT_TRY(call.error());
  return unary_kernel(arguments,
                      [is_bool](auto a) { return is_bool ? decltype(a)(a == 0) : minus(decltype(a)(-1), a); });
}

}  // namespace carina::runtime
