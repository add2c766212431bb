#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/index_values_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

// (condition, a, b, out), all broadcast.
Error where(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& condition = call.tensor(0);
  const Tensor& a = call.tensor(1);
  const Tensor& b = call.tensor(2);
  const Tensor& out = call.out(3);
  CARINA_RT_TRY(call.error());
  fit_to_broadcast(out, {&condition, &a, &b});
  Walk<4> walk{.rank = out.rank(),
               .sizes = layout_of(out).sizes,
               .strides = {Extents{}, Extents{}, Extents{}, layout_of(out).strides},
               .at = {},
               .index = {}};
  call.require(broadcast(condition, out, walk.strides[0]) && broadcast(a, out, walk.strides[1]) &&
               broadcast(b, out, walk.strides[2]));
  CARINA_RT_TRY(call.error());
  const auto test = Numbers::reader(condition);
  const int64_t count = walk.count();
  in_domain(
      [&](auto domain) {
        const auto read_a = domain.reader(a);
        const auto read_b = domain.reader(b);
        const auto write = domain.writer(out);
        for (int64_t i = 0; i < count; ++i, walk.next())
          write(walk.at[3], test(walk.at[0]) != 0 ? read_a(walk.at[1]) : read_b(walk.at[2]));
      },
      a, b, out);
  return Error::kOk;
}

// (input, mask, value, out)
Error masked_fill(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& mask = call.tensor(1);
  static_cast<void>(call.number(2));
  const Tensor& out = call.out(3);
  CARINA_RT_TRY(call.error());
  const EValue& value = *arguments[2];
  fit_to_broadcast(out, {&in, &mask});
  Extents unused{};
  call.require(broadcast(in, out, unused));
  CARINA_RT_TRY(call.error());
  return map_binary(in, mask, out,
                    [&](auto a, auto masked) { return masked != 0 ? scalar_in<decltype(a)>(value) : a; });
}

// (weight [rows, ...], indices, padding_idx, scale_grad_by_freq, sparse, out). Negative indices are errors.
Error embedding(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& weight = call.tensor(0);
  const Tensor& indices = call.tensor(1);
  const Tensor& out = call.out(5);
  CARINA_RT_TRY(call.error());
  if (out.resizable && weight.rank() == 2 && indices.rank() < kMaxRank) {
    Extents sizes = layout_of(indices).sizes;
    sizes[indices.rank()] = weight.sizes()[1];
    call.fit(out, {sizes.data(), indices.rank() + 1});
  }
  call.require(weight.rank() == 2 && out.rank() == indices.rank() + 1 && out.sizes().back() == weight.sizes()[1] &&
               weight.type == out.type);
  call.support(holds_indices(indices) && weight.contiguous() && out.contiguous() && indices.contiguous());
  CARINA_RT_TRY(call.error());
  for (size_t i = 0; i < indices.rank(); ++i) call.require(indices.sizes()[i] == out.sizes()[i]);
  CARINA_RT_TRY(call.error());
  const auto columns = int64_t{weight.sizes()[1]};
  const auto count = static_cast<int64_t>(indices.elements());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = integer_at(indices, i);
    if (row < 0 || row >= weight.sizes()[0]) return Error::kInvalidArgument;
    Walk<2> walk;
    walk.add_axis(columns, {1, 1});
    walk.at = {row * columns, i * columns};
    copy_elements(weight, out, walk);
  }
  return Error::kOk;
}

// (input, dim, indices of one axis, out)
Error index_select(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const size_t axis = call.axis(1, in.rank());
  const Tensor& indices = call.tensor(2);
  const Tensor& out = call.out(3);
  CARINA_RT_TRY(call.error());
  call.fit_along(out, in, axis, static_cast<int64_t>(indices.elements()));
  call.require(indices.rank() <= 1 && in.rank() == out.rank() && in.type == out.type);
  call.support(holds_indices(indices));
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  const Layout to = layout_of(out);
  Walk<2> walk;
  for (size_t i = 0; i < from.rank; ++i) {
    call.require(to.sizes[i] == (i == axis ? static_cast<int64_t>(indices.elements()) : from.sizes[i]));
    if (i != axis) walk.add_axis(to.sizes[i], {from.strides[i], to.strides[i]});
  }
  CARINA_RT_TRY(call.error());
  for (int64_t i = 0; i < to.sizes[axis]; ++i) {
    int64_t index = 0;
    if (!index_in_axis(indices, i, from.sizes[axis], index)) return Error::kInvalidArgument;
    Walk<2> slice = walk;
    slice.at = {index * from.strides[axis], i * to.strides[axis]};
    copy_elements(in, out, slice);
  }
  return Error::kOk;
}

// (input, dim, indices, sparse_grad, out): out[..., i, ...] = input[..., indices[..., i, ...], ...]
Error gather(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const Tensor& indices = call.tensor(2);
  const Tensor& out = call.out(4);
  size_t axis = 0;
  CARINA_RT_TRY(call.error());
  call.require(in.rank() >= 1 && takes_sizes_of(out, indices) && axis_of(call.integer(1), in.rank(), axis) &&
               in.rank() == indices.rank() && in.type == out.type);
  call.support(holds_indices(indices));
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  Walk<3> walk{.rank = from.rank,
               .sizes = layout_of(out).sizes,
               .strides = {from.strides, layout_of(indices).strides, layout_of(out).strides},
               .at = {},
               .index = {}};
  for (size_t i = 0; i < from.rank; ++i) call.require(i == axis || walk.sizes[i] <= from.sizes[i]);
  CARINA_RT_TRY(call.error());
  walk.strides[0][axis] = 0;
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    int64_t index = 0;
    if (!index_in_axis(indices, walk.at[1], from.sizes[axis], index)) return Error::kInvalidArgument;
    Walk<2> one;
    one.at = {walk.at[0] + index * from.strides[axis], walk.at[2]};
    copy_elements(in, out, one);
  }
  return Error::kOk;
}

// (input, dim, dtype, out)
Error cumsum(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const int64_t dim = call.integer(1);
  const Tensor& out = call.out(3);
  size_t axis = 0;
  call.require(takes_sizes_of(out, in) && (in.rank() == 0 || axis_of(dim, in.rank(), axis)));
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  const Layout to = layout_of(out);
  Walk<2> walk;
  for (size_t i = 0; i < from.rank; ++i) {
    if (i != axis) walk.add_axis(from.sizes[i], {from.strides[i], to.strides[i]});
  }
  const int64_t rows = in.elements() == 0 ? 0 : walk.count();
  const int64_t each = from.rank == 0 ? 1 : from.sizes[axis];
  in_domain(
      [&](auto domain) {
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        for (int64_t i = 0; i < rows; ++i, walk.next()) {
          typename decltype(domain)::Value total{0};
          for (int64_t k = 0; k < each; ++k) {
            total = plus(total, read(walk.at[0] + k * from.strides[axis]));
            write(walk.at[1] + k * to.strides[axis], total);
          }
        }
      },
      in, out);
  return Error::kOk;
}

}  // namespace carina::runtime
