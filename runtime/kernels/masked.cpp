// Kernels whose output size depends on values. The output is planned for the largest size and resized.
#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/index_values_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

namespace {

// Broadcasts a tensor (tensor 0) and a mask (tensor 1) together. The walk has the broadcast sizes, because they may
// differ from those of both.
bool pair_with_mask(const Tensor& tensor, const Tensor& mask, Walk<2>& walk) {
  const Layout a = layout_of(tensor), b = layout_of(mask);
  const size_t rank = a.rank > b.rank ? a.rank : b.rank;
  for (size_t axis = 0; axis < rank; ++axis) {
    const bool in_a = axis + a.rank >= rank, in_b = axis + b.rank >= rank;
    const size_t at_a = axis + a.rank - rank, at_b = axis + b.rank - rank;
    const int64_t size_a = in_a ? a.sizes[at_a] : 1, size_b = in_b ? b.sizes[at_b] : 1;
    if (size_a != size_b && size_a != 1 && size_b != 1) return false;
    walk.add_axis(size_a == 1 ? size_b : size_a,
                  {size_a == 1 ? 0 : a.strides[at_a], size_b == 1 ? 0 : b.strides[at_b]});
  }
  return true;
}

}  // namespace

// (input, mask, out [count]): the elements whose mask is true
Error masked_select(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &in = call.tensor(0), &mask = call.tensor(1), &out = call.out(2);
  Walk<2> walk;
  call.require(in.type == out.type && out.rank() == 1 && pair_with_mask(in, mask, walk));
  call.support(mask.type == PteScalarType::kBool);
  CARINA_RT_TRY(call.error());
  const auto* flags = mask.as<const uint8_t>();
  const int64_t count = walk.count();
  int64_t chosen = 0;
  for (int64_t i = 0; i < count; ++i, walk.next()) chosen += flags[walk.at[1]] != 0 ? 1 : 0;
  call.fit(out, {chosen});
  CARINA_RT_TRY(call.error());
  int64_t next = 0;
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    if (flags[walk.at[1]] == 0) continue;
    Walk<2> one;
    one.at = {walk.at[0], next++};
    copy_elements(in, out, one);
  }
  return Error::kOk;
}

// (input, mask, source, out): where the mask is true, the next element of the source
Error masked_scatter(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &in = call.tensor(0), &mask = call.tensor(1), &source = call.tensor(2), &out = call.out(3);
  call.require(in.type == out.type && source.type == in.type);
  call.support(mask.type == PteScalarType::kBool);
  CARINA_RT_TRY(call.error());
  fit_to_broadcast(out, {&in, &mask});
  CARINA_RT_TRY(map_unary(in, out, [](auto a) { return a; }));
  Walk<2> walk;
  call.require(pair_with_mask(out, mask, walk) && walk.count() == static_cast<int64_t>(out.elements()));
  CARINA_RT_TRY(call.error());
  Walk<1> from = walk_over(source);
  auto left = static_cast<int64_t>(source.elements());
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    if (mask.as<const uint8_t>()[walk.at[1]] == 0) continue;
    if (left-- == 0) return Error::kInvalidArgument;
    Walk<2> one;
    one.at = {from.at[0], walk.at[0]};
    copy_elements(source, out, one);
    from.next();
  }
  return Error::kOk;
}

// (input, out [count, rank]): the indices of the elements that are not zero
Error nonzero(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &in = call.tensor(0), &out = call.out(1);
  call.require(out.rank() == 2);
  call.support(out.type == PteScalarType::kLong);
  CARINA_RT_TRY(call.error());
  Walk<1> walk = walk_over(in);
  const auto read = Numbers::reader(in);
  const int64_t count = walk.count();
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i, walk.next()) found += read(walk.at[0]) != 0 ? 1 : 0;
  call.fit(out, {found, static_cast<int64_t>(walk.rank)});
  CARINA_RT_TRY(call.error());
  const Layout to = layout_of(out);
  int64_t row = 0;
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    if (read(walk.at[0]) == 0) continue;
    for (size_t axis = 0; axis < walk.rank; ++axis)
      out.as<int64_t>()[row * to.strides[0] + static_cast<int64_t>(axis) * to.strides[1]] = walk.index[axis];
    ++row;
  }
  return Error::kOk;
}

// (repeats [n], output_size or None, out [sum of repeats]): index i is repeated repeats[i] times
Error repeat_interleave(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &repeats = call.tensor(0), &out = call.out(2);
  const int64_t expected = call.integer_or(1, -1);
  call.require(repeats.rank() == 1 && out.rank() == 1 && repeats.type == out.type);
  call.support(holds_indices(repeats));
  CARINA_RT_TRY(call.error());
  const int64_t count = repeats.sizes()[0];
  int64_t total = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t times = integer_at(repeats, i);
    call.require(times >= 0 && !__builtin_add_overflow(total, times, &total));
    CARINA_RT_TRY(call.error());
  }
  call.require(expected < 0 || expected == total);
  call.fit(out, {total});
  CARINA_RT_TRY(call.error());
  const auto write = Integers::writer(out);
  int64_t next = 0;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = integer_at(repeats, i); k > 0; --k) write(next++, i);
  }
  return Error::kOk;
}

}  // namespace carina::runtime
