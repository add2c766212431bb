#include "interpret/ops/strided_view_internal.h"

#include "interpret/checks_internal.h"
#include "interpret/strided_copy_internal.h"

namespace carina::interpret {

namespace {

// Reshapes a view. The axes before and after are divided into groups with the same number of elements, from the
// innermost one. Within a group, elements must have a constant distance.
std::optional<StridedView> reshaped(const StridedView& in, const Shape& shape) {
  StridedView out{.shape = shape, .strides = std::vector<int64_t>(shape.rank(), 0), .offset = in.offset};
  size_t from = in.shape.rank(), to = shape.rank();
  while (to > 0) {
    if (shape[to - 1] == 1) {
      --to;
      continue;
    }
    while (from > 0 && in.shape[from - 1] == 1) --from;
    if (from == 0) return std::nullopt;
    const int64_t stride = in.strides[from - 1];
    int64_t elements = 1, wanted = 1;
    do {
      if (elements < wanted) {
        if (from == 0 || (in.shape[from - 1] != 1 && in.strides[from - 1] != stride * elements)) return std::nullopt;
        elements *= in.shape[--from];
      } else {
        if (to == 0) return std::nullopt;
        out.strides[--to] = stride * wanted;
        wanted *= shape[to];
      }
    } while (elements != wanted);
  }
  return out;
}

}  // namespace

StridedView transposed(const NodePlan& plan, const StridedView& in) {
  StridedView out{.shape = *plan.out[0].shape, .strides = {}, .offset = in.offset};
  for (const int64_t axis : plan.node.attributes.integers("perms"))
    out.strides.push_back(in.strides[static_cast<size_t>(axis)]);
  return out;
}

StridedView sliced(const NodePlan& plan, const StridedView& in) {
  StridedView out{.shape = *plan.out[0].shape, .strides = in.strides, .offset = in.offset};
  const auto start = plan.in[1].constant->values<int64_t>();
  for (size_t axis = 0; axis < out.strides.size(); ++axis) out.offset += start[axis] * in.strides[axis];
  return out;
}

StridedView dense_view(const Shape& shape) {
  return {.shape = shape, .strides = dense_strides(shape)};
}

std::optional<StridedView> view_of(const NodePlan& plan, const StridedView& in) {
  if (in.shape.elements() == 0) return std::nullopt;
  switch (plan.node.op.tosa()) {
    case TosaOp::TRANSPOSE:
      return transposed(plan, in);
    case TosaOp::SLICE:
      return plan.out[0].shape->elements() == 0 ? std::nullopt : std::optional(sliced(plan, in));
    case TosaOp::RESHAPE:
    case TosaOp::IDENTITY:
      return reshaped(in, *plan.out[0].shape);
    default:
      return std::nullopt;
  }
}

Kernel copy_of_view(const StridedView& view, DType dtype) {
  StridedCopy copy{.axes = {}, .in_offset = view.offset, .element_bytes = element_bytes(dtype)};
  const std::vector<int64_t> strides = dense_strides(view.shape);
  for (size_t axis = 0; axis < strides.size(); ++axis)
    copy.axes.push_back({.size = view.shape[axis], .in_stride = view.strides[axis], .out_stride = strides[axis]});
  copy.simplify();
  return {.run = [copy = std::move(copy)](const Call& call) -> Result<void> {
    copy.run(call.runtime.workers, call.in[0], call.out[0]);
    return {};
  }};
}

}  // namespace carina::interpret
