#pragma once

#include <algorithm>
#include <type_traits>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/float_vectors_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

// A function of rows of elements, for code that is compiled once for all functions: the offsets of the first elements,
// the strides and the number of elements. The last strides are those of the output, where elements are adjacent.
template <size_t N>
struct RowFunction {
  const void* function;
  void (*call)(const void* function, const Steps<N>& at, const Steps<N>& steps, size_t count);
};

template <size_t N, typename Function>
RowFunction<N> row_function(const Function& function) {
  return {&function, [](const void* of, const Steps<N>& at, const Steps<N>& steps, size_t count) {
            (*static_cast<const Function*>(of))(at, steps, count);
          }};
}

// Calls a function for all rows of `out` and of operands that are broadcast to it.
Error visit_rows(const Tensor& in, const Tensor& out, const RowFunction<2>& row);
Error visit_rows(const Tensor& a, const Tensor& b, const Tensor& out, const RowFunction<3>& row);

template <typename Function>
Error map_rows(const Tensor& in, const Tensor& out, const Function& function) {
  return visit_rows(in, out, row_function<2>(function));
}
template <typename Function>
Error map_rows(const Tensor& a, const Tensor& b, const Tensor& out, const Function& function) {
  return visit_rows(a, b, out, row_function<3>(function));
}

// A function of elements for one domain. `function` works on values of any domain; or it has a member in<Value>(),
// which makes the function for one domain.
template <typename Value, typename Function>
auto function_in(const Function& function) {
  if constexpr (requires { function.template in<Value>(); }) {
    return function.template in<Value>();
  } else {
    return function;
  }
}

// out[i] = function(in[i]) for a row of elements, which are adjacent in `out`. A function may have a map_row(), which
// computes several adjacent elements at a time.
template <typename Function>
void map_floats(const float* from, float* to, ptrdiff_t from_step, size_t count, Function function) {
  if (from_step == 1) {
    if constexpr (requires { function.map_row(from, to, count); }) {
      function.map_row(from, to, count);
    } else {
      repeat(count, [&] { *to++ = static_cast<float>(function(*from++)); });
    }
  } else {
    repeat(count, [&] {
      *to++ = static_cast<float>(function(*from));
      from += from_step;
    });
  }
}

template <typename Domain, typename Function>
void map_row(Domain domain, const Tensor& in, const Tensor& out, const Steps<2>& at, const Steps<2>& steps,
             size_t count, Function function) {
  using Value = typename Domain::Value;
  if constexpr (std::is_same_v<Domain, Floats>) {
    map_floats(in.as<const float>() + at[0], out.as<float>() + at[1], steps[0], count, function);
  } else {
    const auto read = domain.reader(in);
    const auto write = domain.writer(out);
    ptrdiff_t from = at[0], to = at[1];
    for (; count > 0; --count, from += steps[0], to += steps[1]) write(to, static_cast<Value>(function(read(from))));
  }
}

// out[i] = function(in[i]), where `in` is broadcast to `out`.
template <typename Function>
Error map_unary(const Tensor& in, const Tensor& out, const Function& function) {
  Error error = Error::kOk;
  in_domain(
      [&](auto domain) {
        const auto map = function_in<typename decltype(domain)::Value>(function);
        error = map_rows(in, out, [&](const Steps<2>& at, const Steps<2>& steps, size_t count) {
          map_row(domain, in, out, at, steps, count, map);
        });
      },
      in, out);
  return error;
}

// out[i] = function(a[i], b[i]) for a row of elements, which are adjacent in `out`.
template <typename Function>
void map_floats(const float* a, const float* b, float* to, ptrdiff_t a_step, ptrdiff_t b_step, size_t count,
                Function function) {
  if (a_step == 1 && b_step == 1) {
#if defined(CARINA_FLOAT_VECTORS) && !defined(CARINA_MVE_FLOATS)
    for (; count >= 4; count -= 4, a += 4, b += 4, to += 4) {  // which compilers for hosts compute at a time
      float x[4], y[4];
      std::copy_n(a, 4, x);
      std::copy_n(b, 4, y);
      for (size_t i = 0; i < 4; ++i) x[i] = static_cast<float>(function(x[i], y[i]));
      std::copy_n(x, 4, to);
    }
    if (count == 0) return;
#endif
    repeat(count, [&] { *to++ = static_cast<float>(function(*a++, *b++)); });
  } else if (a_step == 1 && b_step == 0) {
    const float second = *b;
    repeat(count, [&] { *to++ = static_cast<float>(function(*a++, second)); });
  } else {
    repeat(count, [&] {
      *to++ = static_cast<float>(function(*a, *b));
      a += a_step;
      b += b_step;
    });
  }
}

template <typename Domain, typename Function>
void map_row(Domain domain, const Tensor& a, const Tensor& b, const Tensor& out, const Steps<3>& at,
             const Steps<3>& steps, size_t count, Function function) {
  using Value = typename Domain::Value;
  if constexpr (std::is_same_v<Domain, Floats>) {
    map_floats(a.as<const float>() + at[0], b.as<const float>() + at[1], out.as<float>() + at[2], steps[0], steps[1],
               count, function);
  } else {
    const auto read_a = domain.reader(a);
    const auto read_b = domain.reader(b);
    const auto write = domain.writer(out);
    ptrdiff_t x = at[0], y = at[1], to = at[2];
    for (; count > 0; --count, x += steps[0], y += steps[1], to += steps[2])
      write(to, static_cast<Value>(function(read_a(x), read_b(y))));
  }
}

// out[i] = function(a[i], b[i]), where both are broadcast.
template <typename Function>
Error map_binary(const Tensor& a, const Tensor& b, const Tensor& out, const Function& function) {
  Error error = Error::kOk;
  in_domain(
      [&](auto domain) {
        const auto map = function_in<typename decltype(domain)::Value>(function);
        error = map_rows(a, b, out, [&](const Steps<3>& at, const Steps<3>& steps, size_t count) {
          map_row(domain, a, b, out, at, steps, count, map);
        });
      },
      a, b, out);
  return error;
}

// A scalar argument as a tensor of one element, for kernels whose operand is a tensor or a scalar. With float tensors
// it is a float, so that it is rounded as in PyTorch. With integer tensors and an integer result it has the tensors'
// type: for uint8, -1 becomes 255, as in PyTorch.
class ScalarTensor {
 public:
  ScalarTensor(const EValue& scalar, const Tensor& beside, const Tensor& out) : ScalarTensor(scalar, beside) {
    if (tensor_.type != PteScalarType::kLong || is_floating(out.type) || beside.type == PteScalarType::kBool) return;
    int64_t own = 0;
    integer_storer(beside.type)(&own, 0, integer_);
    integer_ = integer_loader(beside.type)(&own, 0);
  }
  ScalarTensor(const EValue& scalar, const Tensor& beside) {
    const bool whole = scalar.kind != EValue::Kind::kDouble;
    if (beside.type == PteScalarType::kDouble) {
      double_ = scalar.to_double();
      tensor_ = Tensor(PteScalarType::kDouble, {}, {}, &double_);
    } else if (is_floating(beside.type) || !whole) {
      float_ = static_cast<float>(scalar.to_double());
      tensor_ = Tensor(PteScalarType::kFloat, {}, {}, &float_);
    } else {
      integer_ = scalar.to_int();
      tensor_ = Tensor(PteScalarType::kLong, {}, {}, &integer_);
    }
  }
  ScalarTensor(const ScalarTensor&) = delete;
  ScalarTensor& operator=(const ScalarTensor&) = delete;
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }

 private:
  double double_ = 0;
  float float_ = 0;
  int64_t integer_ = 0;
  Tensor tensor_;
};

// (a, out)
template <typename Function>
Error unary_kernel(Arguments arguments, const Function& function) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& out = call.out(1);
  CARINA_RT_TRY(call.error());
  return map_unary(in, out, function);
}

// (a, b, out); b is a tensor or a scalar
template <typename Function>
Error binary_kernel(Arguments arguments, const Function& function, size_t out_index = 2) {
  Call call(arguments);
  const Tensor& a = call.tensor(0);
  const Tensor& out = call.out(out_index);
  CARINA_RT_TRY(call.error());
  if (arguments[1]->is_tensor()) {
    const Tensor& b = call.tensor(1);
    CARINA_RT_TRY(call.error());
    return map_binary(a, b, out, function);
  }
  CARINA_RT_TRY((static_cast<void>(call.number(1)), call.error()));
  const ScalarTensor b(*arguments[1], a, out);
  return map_binary(a, b.tensor(), out, function);
}

}  // namespace carina::runtime
