#include <algorithm>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

namespace {

// Copies all elements in logical order. The tensors may have different sizes.
void copy_in_order(const Tensor& in, const Tensor& out) {
  if (in.type == out.type && in.contiguous() && out.contiguous()) {
    copy_block(in.as<const std::byte>(), out.as<std::byte>(), in.bytes());
    return;
  }
  const Layout from = layout_of(in);
  const Layout to = layout_of(out);
  Walk<1> source{.rank = from.rank, .sizes = from.sizes, .strides = {from.strides}, .at = {}, .index = {}};
  Walk<1> target{.rank = to.rank, .sizes = to.sizes, .strides = {to.strides}, .at = {}, .index = {}};
  const auto count = static_cast<int64_t>(in.elements());
  for (int64_t i = 0; i < count; ++i, source.next(), target.next()) {
    Walk<2> one;
    one.at = {source.at[0], target.at[0]};
    copy_elements(in, out, one);
  }
}

Error copy_same_count(Call& call, const Tensor& in, const Tensor& out) {
  call.require(in.elements() == out.elements());
  call.support(copies(in.type, out.type));
  CARINA_RT_TRY(call.error());
  copy_in_order(in, out);
  return Error::kOk;
}

// Whether a resizable output gets the sizes of the input, or has its sizes already.
enum class Sizes : uint8_t { kOfInput, kSet };

// (input, ..., out at `out_index`): tensors of equal sizes, with any type and memory order
Error copy_to(Arguments arguments, size_t in_index, size_t out_index, Sizes sizes = Sizes::kOfInput) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(in_index);
  const Tensor& out = call.out(out_index);
  call.support(copies(in.type, out.type));
  CARINA_RT_TRY(call.error());
  if (sizes == Sizes::kOfInput) fit_to_broadcast(out, {&in});
  Walk<2> walk{.rank = out.rank(),
               .sizes = layout_of(out).sizes,
               .strides = {Extents{}, layout_of(out).strides},
               .at = {},
               .index = {}};
  call.require(broadcast(in, out, walk.strides[0]));
  CARINA_RT_TRY(call.error());
  if (in.type == out.type && same_layout(in, out)) {
    copy_block(in.as<const std::byte>(), out.as<std::byte>(), in.bytes());
  } else {
    copy_elements(in, out, walk);
  }
  return Error::kOk;
}

// Axis i of the output is axis order[i] of the input.
Error permute_to(const Tensor& in, std::span<const size_t> order, const Tensor& out) {
  const Layout from = layout_of(in);
  if (from.rank != order.size() || in.type != out.type) return Error::kInvalidArgument;
  Extents sizes{};
  for (size_t i = 0; i < order.size(); ++i) sizes[i] = from.sizes[order[i]];
  if (!out.resize(std::span(sizes.data(), order.size()))) return Error::kInvalidArgument;
  const Layout to = layout_of(out);
  Walk<2> walk;
  for (size_t i = 0; i < order.size(); ++i) walk.add_axis(to.sizes[i], {from.strides[order[i]], to.strides[i]});
  copy_elements(in, out, walk);
  return Error::kOk;
}

}  // namespace

namespace {

// One size of a view may be -1: it follows from the number of elements.
void fit_to_view(Call& call, const Tensor& in, const Tensor& out) {
  const std::span<const int64_t> wanted = call.integers(1);
  Extents sizes{};
  int64_t known = 1;
  call.require(wanted.size() == out.rank());
  for (size_t axis = 0; axis < std::min(wanted.size(), kMaxRank); ++axis) {
    sizes[axis] = wanted[axis];
    if (wanted[axis] >= 0) call.require(!__builtin_mul_overflow(known, wanted[axis], &known));
  }
  for (size_t axis = 0; axis < std::min(wanted.size(), kMaxRank); ++axis) {
    if (sizes[axis] == -1) sizes[axis] = known == 0 ? 0 : static_cast<int64_t>(in.elements()) / known;
  }
  if (call.error() == Error::kOk) call.fit(out, std::span(sizes.data(), out.rank()));
}

}  // namespace

// (input, size, out)
Error view_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const Tensor& out = call.out(2);
  if (out.resizable) fit_to_view(call, in, out);
  CARINA_RT_TRY(call.error());
  return copy_same_count(call, in, out);
}

// (input, size, out): the output shares the input's memory
Error view_in_place(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  call.require(arguments.size() > 2 && arguments[2]->is_tensor() && arguments[2]->tensor.bytes() == in.bytes() &&
               arguments[2]->tensor.type == in.type && in.contiguous());
  CARINA_RT_TRY(call.error());
  Tensor& out = arguments[2]->tensor;
  out.data = in.data;
  out.read_only = in.read_only;
  return Error::kOk;
}

// (input, out)
Error copy_plain(Arguments arguments, Arena& /*scratch*/) {
  return copy_to(arguments, 0, 1);
}
// (input, memory_format, out)
Error clone(Arguments arguments, Arena& /*scratch*/) {
  return copy_to(arguments, 0, 2);
}
// (input, non_blocking, dim_order or memory_format, out): may change the type
Error to_copy(Arguments arguments, Arena& /*scratch*/) {
  return copy_to(arguments, 0, 3);
}
// (self, source, non_blocking, out)
Error copy_out(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  call.fit_like(call.out(3), call.tensor(0));
  CARINA_RT_TRY(call.error());
  return copy_to(arguments, 1, 3, Sizes::kSet);
}
// (self, source, non_blocking): writes to self
Error copy_in_place(Arguments arguments, Arena& /*scratch*/) {
  return copy_to(arguments, 1, 0, Sizes::kSet);
}
namespace {

// A size of -1 keeps the size of the axis.
void fit_to_expansion(Call& call, const Tensor& in, std::span<const int64_t> sizes, const Tensor& out) {
  Extents wanted{};
  const size_t lead = out.rank() - in.rank();
  for (size_t axis = 0; axis < out.rank(); ++axis)
    wanted[axis] = sizes[axis] == -1 && axis >= lead ? in.sizes()[axis - lead] : sizes[axis];
  call.fit(out, {wanted.data(), out.rank()});
}

}  // namespace

// (input, size, implicit, out)
Error expand_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor &in = call.tensor(0), &out = call.out(3);
  const std::span<const int64_t> sizes = call.integers(1);
  call.require(sizes.size() == out.rank() && in.rank() <= out.rank());
  CARINA_RT_TRY(call.error());
  if (out.resizable) fit_to_expansion(call, in, sizes, out);
  CARINA_RT_TRY(call.error());
  return copy_to(arguments, 0, 3, Sizes::kSet);
}

namespace {

// Removes the named axes of size 1. Other named axes stay, as in PyTorch.
void fit_to_squeezed(Call& call, const Tensor& in, std::span<const int64_t> dims, const Tensor& out) {
  uint32_t named = 0;
  for (const int64_t dim : dims) {
    size_t axis = 0;
    if (in.rank() > 0) call.require(axis_of(dim, in.rank(), axis));
    named |= 1U << axis;
  }
  Extents sizes{};
  size_t rank = 0;
  for (size_t axis = 0; axis < in.rank(); ++axis) {
    if ((named >> axis & 1) == 0 || in.sizes()[axis] != 1) sizes[rank++] = in.sizes()[axis];
  }
  call.fit(out, {sizes.data(), rank});
}

}  // namespace

// (input, dim or dims, out)
Error squeeze_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor &in = call.tensor(0), &out = call.out(2);
  CARINA_RT_TRY(call.error());
  const bool one = arguments[1]->kind == EValue::Kind::kInt;
  const int64_t dim = one ? arguments[1]->integer : 0;
  if (out.resizable) fit_to_squeezed(call, in, one ? std::span(&dim, 1) : call.integers(1), out);
  return copy_same_count(call, in, out);
}

// (input, dim, out)
Error unsqueeze_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor &in = call.tensor(0), &out = call.out(2);
  call.require(in.rank() < kMaxRank);
  const size_t axis = call.axis(1, in.rank() + 1);
  CARINA_RT_TRY(call.error());
  if (out.resizable) {
    Extents sizes{};
    for (size_t i = 0; i <= in.rank(); ++i) sizes[i] = i == axis ? 1 : in.sizes()[i < axis ? i : i - 1];
    call.fit(out, {sizes.data(), in.rank() + 1});
  }
  return copy_same_count(call, in, out);
}

// (input, dims, out)
Error permute_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> dims = call.integers(1);
  const Tensor& out = call.out(2);
  call.require(dims.size() == in.rank());
  CARINA_RT_TRY(call.error());
  size_t order[kMaxRank] = {};
  uint32_t seen = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    call.require(axis_of(dims[i], in.rank(), order[i]) && (seen >> order[i] & 1) == 0);
    seen |= 1U << order[i];
  }
  CARINA_RT_TRY(call.error());
  return permute_to(in, std::span(order, dims.size()), out);
}

namespace {

Error swap_axes(const Tensor& in, size_t first, size_t second, const Tensor& out) {
  size_t order[kMaxRank] = {};
  for (size_t i = 0; i < in.rank(); ++i) order[i] = i == first ? second : i == second ? first : i;
  return permute_to(in, std::span(order, in.rank()), out);
}

}  // namespace

// (input, dim0, dim1, out)
Error transpose_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  size_t first = 0;
  size_t second = 0;
  call.require(in.rank() == 0 ||
               (axis_of(call.integer(1), in.rank(), first) && axis_of(call.integer(2), in.rank(), second)));
  const Tensor& out = call.out(3);
  CARINA_RT_TRY(call.error());
  return swap_axes(in, first, second, out);
}

// (input of at most two axes, out)
Error t_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const Tensor& out = call.out(1);
  call.require(in.rank() <= 2);
  CARINA_RT_TRY(call.error());
  return swap_axes(in, 0, in.rank() == 2 ? 1 : 0, out);
}

namespace {

void fit_to_repeats(Call& call, const Tensor& in, std::span<const int64_t> repeats, const Tensor& out) {
  if (!out.resizable) return;
  Extents sizes{};
  const size_t lead = out.rank() - in.rank();
  for (size_t axis = 0; axis < out.rank(); ++axis) {
    const int64_t size = axis < lead ? 1 : in.sizes()[axis - lead];
    call.require(!__builtin_mul_overflow(size, repeats[axis], &sizes[axis]));
  }
  call.fit(out, {sizes.data(), out.rank()});
}

}  // namespace

// (input, repeats, out)
Error repeat(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> repeats = call.integers(1);
  const Tensor& out = call.out(2);
  call.require(repeats.size() == out.rank() && in.rank() <= out.rank() && in.type == out.type &&
               2 * out.rank() <= kMaxRank);
  CARINA_RT_TRY(call.error());
  fit_to_repeats(call, in, repeats, out);
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  const Layout to = layout_of(out);
  const size_t lead = to.rank - from.rank;
  Walk<2> walk;
  for (size_t i = 0; i < to.rank; ++i) {
    const int64_t size = i < lead ? 1 : from.sizes[i - lead];
    call.require(size == 0 ? to.sizes[i] == 0
                           : repeats[i] >= 0 && to.sizes[i] % size == 0 && repeats[i] == to.sizes[i] / size);
    CARINA_RT_TRY(call.error());
    walk.add_axis(size == 0 ? 0 : repeats[i], {0, size * to.strides[i]});
    walk.add_axis(size, {i < lead ? 0 : from.strides[i - lead], to.strides[i]});
  }
  copy_elements(in, out, walk);
  return Error::kOk;
}

// (input, dims, out)
Error flip(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> dims = call.integers(1);
  const Tensor& out = call.out(2);
  call.require(takes_sizes_of(out, in) && in.type == out.type);
  CARINA_RT_TRY(call.error());
  if (in.elements() == 0) return Error::kOk;
  const Layout from = layout_of(in);
  const Layout to = layout_of(out);
  Walk<2> walk{.rank = from.rank, .sizes = from.sizes, .strides = {from.strides, to.strides}, .at = {}, .index = {}};
  for (const int64_t dim : dims) {
    size_t axis = 0;
    if (!axis_of(dim, from.rank, axis) || walk.strides[0][axis] < 0) return Error::kInvalidArgument;
    walk.at[0] += (from.sizes[axis] - 1) * from.strides[axis];
    walk.strides[0][axis] = -from.strides[axis];
  }
  copy_elements(in, out, walk);
  return Error::kOk;
}

}  // namespace carina::runtime
