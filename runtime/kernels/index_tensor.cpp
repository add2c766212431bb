#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/indexing_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

// Indexing by tensors, as PyTorch defines it: x[i, :, j] reads, index_put writes or adds.
namespace carina::runtime {

namespace {

Walk<1> walk_of(const Indexing& indexing) {
  Walk<1> walk;
  for (size_t axis = 0; axis < indexing.rank; ++axis) walk.add_axis(indexing.sizes[axis], {0});
  return walk;
}

// Returns whether all indices are in range. It is checked first, so that nothing is written if one is not.
bool all_inside(const Indexing& indexing, const Layout& layout) {
  Walk<1> walk = walk_of(indexing);
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    int64_t element = 0;
    if (!indexed_element(indexing, layout, walk.index, element)) return false;
  }
  return true;
}

// The strides of `values` along the axes of the result, to which it is broadcast.
bool steps_of_values(const Indexing& indexing, const Tensor& values, Extents& steps) {
  const Layout own = layout_of(values);
  if (own.rank > indexing.rank) return false;
  const size_t lead = indexing.rank - own.rank;
  for (size_t i = 0; i < own.rank; ++i) {
    if (own.sizes[i] != 1 && own.sizes[i] != indexing.sizes[lead + i]) return false;
    steps[lead + i] = own.sizes[i] == 1 ? 0 : own.strides[i];
  }
  return true;
}

// target[indices] = values, or += values in the order of the indices. Complex numbers cannot be added.
Error put(Call& call, const Tensor& target, std::span<EValue* const> list, const Tensor& values, bool accumulate,
          Arena& scratch) {
  Indexing indexing;
  CARINA_RT_TRY(plan_indexing(call, target, list, scratch, indexing));
  const Layout to = layout_of(target);
  Walk<1> walk = walk_of(indexing);
  call.require(steps_of_values(indexing, values, walk.strides[0]) && values.type == target.type &&
               all_inside(indexing, to));
  CARINA_RT_TRY(call.error());
  const int64_t count = walk.count();
  if (is_complex(target.type)) {
    call.support(!accumulate);
    CARINA_RT_TRY(call.error());
    for (int64_t i = 0; i < count; ++i, walk.next()) {
      Walk<2> one;
      static_cast<void>(indexed_element(indexing, to, walk.index, one.at[1]));
      one.at[0] = walk.at[0];
      copy_elements(values, target, one);
    }
    return Error::kOk;
  }
  in_domain(
      [&](auto domain) {
        const auto read = domain.reader(values), sum = domain.reader(target);
        const auto write = domain.writer(target);
        for (int64_t i = 0; i < count; ++i, walk.next()) {
          int64_t element = 0;
          static_cast<void>(indexed_element(indexing, to, walk.index, element));
          write(element, accumulate ? plus(sum(element), read(walk.at[0])) : read(walk.at[0]));
        }
      },
      values, target);
  return Error::kOk;
}

}  // namespace

// (input, indices: a list of index tensors, masks or None, out)
Error index_tensor(Arguments arguments, Arena& scratch) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const std::span<EValue* const> list = call.tensors(1);
  const Tensor& out = call.out(2);
  call.require(in.type == out.type);
  CARINA_RT_TRY(call.error());
  Indexing indexing;
  CARINA_RT_TRY(plan_indexing(call, in, list, scratch, indexing));
  call.fit(out, std::span(indexing.sizes.data(), indexing.rank));
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  Walk<1> walk = walk_of(indexing);
  walk.strides[0] = layout_of(out).strides;
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    Walk<2> one;
    if (!indexed_element(indexing, from, walk.index, one.at[0])) return Error::kInvalidArgument;
    one.at[1] = walk.at[0];
    copy_elements(in, out, one);
  }
  return Error::kOk;
}

// (input, indices, values, accumulate, out)
Error index_put(Arguments arguments, Arena& scratch) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const std::span<EValue* const> list = call.tensors(1);
  const Tensor& values = call.tensor(2);
  const bool accumulate = call.flag(3);
  const Tensor& out = call.out(4);
  call.fit_like(out, in);
  call.require(in.type == out.type);
  CARINA_RT_TRY(call.error());
  Walk<2> all{.rank = out.rank(),
              .sizes = layout_of(out).sizes,
              .strides = {layout_of(in).strides, layout_of(out).strides},
              .at = {},
              .index = {}};
  copy_elements(in, out, all);
  return put(call, out, list, values, accumulate, scratch);
}

// (target, indices, values, accumulate): in place
Error index_put_in_place(Arguments arguments, Arena& scratch) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& target = call.out(0);
  const std::span<EValue* const> list = call.tensors(1);
  const Tensor& values = call.tensor(2);
  const bool accumulate = call.flag(3);
  CARINA_RT_TRY(call.error());
  return put(call, target, list, values, accumulate, scratch);
}

}  // namespace carina::runtime
