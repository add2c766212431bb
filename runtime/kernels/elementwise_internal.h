#pragma once

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/layout_internal.h"

namespace carina::runtime {

// out[i] = function(in[i]), where `in` is broadcast to `out`. `function` works on values of any domain.
template <typename Function>
Error map_unary(const Tensor& in, const Tensor& out, const Function& function) {
  fit_to_broadcast(out, {&in});
  Walk<2> walk{.rank = out.rank(),
               .sizes = layout_of(out).sizes,
               .strides = {Extents{}, layout_of(out).strides},
               .at = {},
               .index = {}};
  if (!broadcast(in, out, walk.strides[0])) return Error::kInvalidArgument;
  const auto count = static_cast<int64_t>(out.elements());
  in_domain(
      [&](auto domain) {
        using Value = typename decltype(domain)::Value;
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        if (same_layout(in, out)) {
          for (int64_t i = 0; i < count; ++i) write(i, static_cast<Value>(function(read(i))));
        } else {
          for (int64_t i = 0; i < count; ++i, walk.next())
            write(walk.at[1], static_cast<Value>(function(read(walk.at[0]))));
        }
      },
      in, out);
  return Error::kOk;
}

// out[i] = function(a[i], b[i]), where both are broadcast.
template <typename Function>
Error map_binary(const Tensor& a, const Tensor& b, const Tensor& out, const Function& function) {
  fit_to_broadcast(out, {&a, &b});
  Walk<3> walk{.rank = out.rank(),
               .sizes = layout_of(out).sizes,
               .strides = {Extents{}, Extents{}, layout_of(out).strides},
               .at = {},
               .index = {}};
  if (!broadcast(a, out, walk.strides[0]) || !broadcast(b, out, walk.strides[1])) return Error::kInvalidArgument;
  const auto count = static_cast<int64_t>(out.elements());
  in_domain(
      [&](auto domain) {
        using Value = typename decltype(domain)::Value;
        const auto read_a = domain.reader(a);
        const auto read_b = domain.reader(b);
        const auto write = domain.writer(out);
        if (same_layout(a, out) && same_layout(b, out)) {
          for (int64_t i = 0; i < count; ++i) write(i, static_cast<Value>(function(read_a(i), read_b(i))));
        } else {
          for (int64_t i = 0; i < count; ++i, walk.next())
            write(walk.at[2], static_cast<Value>(function(read_a(walk.at[0]), read_b(walk.at[1]))));
        }
      },
      a, b, out);
  return Error::kOk;
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
