// Copies of views that PyTorch describes by strides, and views of complex numbers as real ones.
#include <algorithm>
#include <cstring>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

// (input, size, stride, storage_offset or None, out); strides are in elements of the input's memory
Error as_strided_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> sizes = call.integers(1), strides = call.integers(2);
  const int64_t offset = call.integer_or(3, 0);
  const Tensor& out = call.out(4);
  call.fit(out, sizes);
  call.require(in.type == out.type && sizes.size() == strides.size() && offset >= 0);
  CARINA_RT_TRY(call.error());
  const Layout to = layout_of(out);
  Walk<2> walk;
  walk.at[0] = offset;
  int64_t last = offset;
  for (size_t axis = 0; axis < to.rank; ++axis) {
    int64_t reach = 0;
    call.require(strides[axis] >= 0 &&
                 !__builtin_mul_overflow(std::max<int64_t>(to.sizes[axis] - 1, 0), strides[axis], &reach) &&
                 !__builtin_add_overflow(last, reach, &last));
    walk.add_axis(to.sizes[axis], {strides[axis], to.strides[axis]});
  }
  call.require(out.elements() == 0 || last < static_cast<int64_t>(in.elements()));
  CARINA_RT_TRY(call.error());
  copy_elements(in, out, walk);
  return Error::kOk;
}

// (input, offset, dim1, dim2, out): the diagonal becomes the last axis
Error diagonal_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const int64_t offset = call.integer(1);
  const size_t rows = call.axis(2, in.rank()), columns = call.axis(3, in.rank());
  const Tensor& out = call.out(4);
  constexpr int64_t kMaxOffset = INT32_MAX;
  call.require(rows != columns && in.type == out.type && offset >= -kMaxOffset && offset <= kMaxOffset);
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  const int64_t skipped_rows = std::max<int64_t>(-offset, 0), skipped_columns = std::max<int64_t>(offset, 0);
  const int64_t length =
      std::max<int64_t>(std::min(from.sizes[rows] - skipped_rows, from.sizes[columns] - skipped_columns), 0);
  Walk<2> walk;
  Extents sizes{};
  for (size_t axis = 0; axis < from.rank; ++axis) {
    if (axis == rows || axis == columns) continue;
    sizes[walk.rank] = from.sizes[axis];
    walk.add_axis(from.sizes[axis], {from.strides[axis], 0});
  }
  sizes[walk.rank] = length;
  walk.add_axis(length, {from.strides[rows] + from.strides[columns], 0});
  call.fit(out, std::span(sizes.data(), walk.rank));
  CARINA_RT_TRY(call.error());
  walk.strides[1] = layout_of(out).strides;
  if (length > 0) walk.at[0] = skipped_rows * from.strides[rows] + skipped_columns * from.strides[columns];
  copy_elements(in, out, walk);
  return Error::kOk;
}

// (complex input, out [..., 2]): real and imaginary parts
Error view_as_real_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor &in = call.tensor(0), &out = call.out(1);
  call.support(is_complex(in.type));
  call.require(out.type == part_of(in.type) && out.rank() == in.rank() + 1 && out.rank() <= kMaxRank);
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  Extents sizes = from.sizes;
  sizes[from.rank] = 2;
  call.fit(out, std::span(sizes.data(), from.rank + 1));
  CARINA_RT_TRY(call.error());
  const Layout to = layout_of(out);
  const Tensor parts(out.type, out.sizes(), out.dim_order(), in.data);
  Walk<2> walk;
  for (size_t axis = 0; axis < from.rank; ++axis)
    walk.add_axis(from.sizes[axis], {2 * from.strides[axis], to.strides[axis]});
  walk.add_axis(2, {1, to.strides[from.rank]});
  copy_elements(parts, out, walk);
  return Error::kOk;
}

// (input, out): the imaginary parts negated; real numbers stay
Error conj_physical(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor &in = call.tensor(0), &out = call.out(1);
  call.fit_like(out, in);
  call.require(in.type == out.type);
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  Walk<2> walk{
      .rank = from.rank, .sizes = from.sizes, .strides = {from.strides, layout_of(out).strides}, .at = {}, .index = {}};
  copy_elements(in, out, walk);
  if (!is_complex(in.type)) return Error::kOk;
  const NumberLoader load = number_loader(part_of(in.type));
  const NumberStorer store = number_storer(part_of(in.type));
  for (size_t i = 0; i < out.elements(); ++i) store(out.data, 2 * i + 1, -load(out.data, 2 * i + 1));
  return Error::kOk;
}

// (to, from, index): copies to row `index` of `to`, which gets index + 1 rows; a loop fills it row by row
Error copy_to_row(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor &to = call.out(0), &from = call.tensor(1);
  const int64_t index = call.integer(2);
  call.require(to.type == from.type && to.rank() == from.rank() + 1 && index >= 0 && index < INT32_MAX &&
               from.contiguous() && to.contiguous());
  CARINA_RT_TRY(call.error());
  Extents sizes{};
  sizes[0] = index + 1;
  for (size_t axis = 0; axis < from.rank(); ++axis) sizes[axis + 1] = from.sizes()[axis];
  if (to.resizable) call.fit(to, std::span(sizes.data(), to.rank()));
  call.require(to.sizes()[0] > index && std::ranges::equal(to.sizes().subspan(1), from.sizes()));
  CARINA_RT_TRY(call.error());
  if (from.bytes() > 0)
    std::memcpy(to.as<std::byte>() + static_cast<size_t>(index) * from.bytes(), from.data, from.bytes());
  return Error::kOk;
}

}  // namespace carina::runtime
