#include "runtime/kernels/elementwise_internal.h"

namespace carina::runtime {

Error visit_rows(const Tensor& in, const Tensor& out, const RowFunction<2>& row) {
  fit_to_broadcast(out, {&in});
  const Layout to = layout_of(out);
  Walk<2> walk{.rank = to.rank, .sizes = to.sizes, .strides = {Extents{}, to.strides}, .at = {}, .index = {}};
  if (!broadcast(in, out, walk.strides[0])) return Error::kInvalidArgument;
  order_axes(walk);
  for_rows(walk, [&](const auto& at, const auto& steps, size_t count) { row.call(row.function, at, steps, count); });
  return Error::kOk;
}

Error visit_rows(const Tensor& a, const Tensor& b, const Tensor& out, const RowFunction<3>& row) {
  fit_to_broadcast(out, {&a, &b});
  const Layout to = layout_of(out);
  Walk<3> walk{
      .rank = to.rank, .sizes = to.sizes, .strides = {Extents{}, Extents{}, to.strides}, .at = {}, .index = {}};
  if (!broadcast(a, out, walk.strides[0]) || !broadcast(b, out, walk.strides[1])) return Error::kInvalidArgument;
  order_axes(walk);
  for_rows(walk, [&](const auto& at, const auto& steps, size_t count) { row.call(row.function, at, steps, count); });
  return Error::kOk;
}

}  // namespace carina::runtime
