#include <cmath>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/kernels_internal.h"

// Kernels whose result does not depend on an input's elements: full, zeros, ones, empty, arange, and fills.
namespace carina::runtime {

namespace {

Error fill_with(const EValue& value, const Tensor& out) {
  if (out.type == PteScalarType::kBool && value.kind == EValue::Kind::kDouble)  // for a bool tensor, 0.5 is true
    return fill_with(EValue(int64_t{value.number != 0 ? 1 : 0}), out);
  return map_unary(out, out, [&](auto a) { return scalar_in<decltype(a)>(value); });
}

// (..., value at `value_index`, ..., out at `out_index`)
Error fill_from(Arguments arguments, size_t value_index, size_t out_index) {
  Call call(arguments);
  static_cast<void>(call.number(value_index));
  const Tensor& out = call.out(out_index);
  CARINA_RT_TRY(call.error());
  return fill_with(*arguments[value_index], out);
}

// (size, out)
Error fill_constant(Arguments arguments, int64_t number) {
  Call call(arguments);
  const Tensor& out = call.out(1);
  call.fit(out, call.integers(0));
  CARINA_RT_TRY(call.error());
  return fill_with(EValue(number), out);
}

Error count_up(const Tensor& out, const EValue& start, const EValue& step) {
  if (out.rank() != 1) return Error::kInvalidArgument;
  in_domain(
      [&](auto domain) {
        using Value = typename decltype(domain)::Value;
        const auto write = domain.writer(out);
        for (int64_t i = 0; i < out.sizes()[0]; ++i) {
          if constexpr (std::is_same_v<Value, int64_t>)
            write(i, plus(scalar_in<int64_t>(start), times(i, scalar_in<int64_t>(step))));
          else
            write(i, static_cast<Value>(start.to_double() + static_cast<double>(i) * step.to_double()));
        }
      },
      out);
  return Error::kOk;
}

}  // namespace

// (size, value, out)
Error full(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  call.fit(call.out(2), call.integers(0));
  CARINA_RT_TRY(call.error());
  return fill_from(arguments, 1, 2);
}
// (input, value, memory_format, out)
Error full_like(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  call.fit_like(call.out(3), call.tensor(0));
  CARINA_RT_TRY(call.error());
  return fill_from(arguments, 1, 3);
}
// (input, value, out)
Error fill_scalar(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  call.fit_like(call.out(2), call.tensor(0));
  CARINA_RT_TRY(call.error());
  return fill_from(arguments, 1, 2);
}
// (input, value: a tensor of one element, out)
Error fill_tensor(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &in = call.tensor(0), &value = call.tensor(1), &out = call.out(2);
  call.fit_like(out, in);
  call.require(value.elements() == 1 && in.type == out.type);
  CARINA_RT_TRY(call.error());
  const Tensor number(value.type, {}, {}, value.data);
  Tensor whole = out;
  whole.resizable = false;  // so that it keeps its sizes
  return map_unary(number, whole, [](auto a) { return a; });
}
// (value, out)
Error scalar_tensor(Arguments arguments, Arena& /*scratch*/) {
  return fill_from(arguments, 0, 1);
}
// (size, out)
Error zeros(Arguments arguments, Arena& /*scratch*/) {
  return fill_constant(arguments, 0);
}
Error ones(Arguments arguments, Arena& /*scratch*/) {
  return fill_constant(arguments, 1);
}

// (size, memory_format, out). The content is unspecified; zeros make runs reproducible.
Error empty(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& out = call.out(2);
  call.fit(out, call.integers(0));
  CARINA_RT_TRY(call.error());
  return fill_with(EValue(), out);
}

// (size, dim_order or None, out)
Error empty_dim_order(Arguments arguments, Arena& scratch) {
  Call call(arguments);
  static_cast<void>(call.integers(1));
  CARINA_RT_TRY(call.error());
  return empty(arguments, scratch);
}

// (start, end, step, out)
Error arange(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  static_cast<void>(call.number(0));
  static_cast<void>(call.number(2));
  const double steps = std::ceil((call.number(1) - call.number(0)) / call.number(2));
  const Tensor& out = call.out(3);
  if (out.resizable) call.fit(out, {to_int64(steps)});
  CARINA_RT_TRY(call.error());
  return count_up(out, *arguments[0], *arguments[2]);
}

// (end, out)
Error arange_to(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& out = call.out(1);
  if (out.resizable) call.fit(out, {to_int64(std::ceil(call.number(0)))});
  CARINA_RT_TRY(call.error());
  return count_up(out, EValue(int64_t{0}), EValue(int64_t{1}));
}

}  // namespace carina::runtime
