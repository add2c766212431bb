// CONCAT, PAD, RESHAPE, REVERSE, SLICE, TILE, TRANSPOSE and IDENTITY: they copy elements of any type.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "interpret/checks_internal.h"
#include "interpret/ops/strided_view_internal.h"
#include "interpret/strided_copy_internal.h"

namespace carina::interpret {

namespace {

Kernel copy_kernel(StridedCopy copy) {
  copy.simplify();
  return {.run = [copy = std::move(copy)](const Call& call) -> Result<void> {
    copy.run(call.runtime.workers, call.in[0], call.out[0]);
    return {};
  }};
}

// Checks the number of operands, and that input and output have one type.
Checks check_move(const NodePlan& plan, size_t inputs) {
  Checks checks(plan);
  checks.operands(inputs, 1);
  if (checks.good()) checks.same_type(plan.out[0], plan.in[0].dtype);
  return checks;
}

// A dense copy of the output's axes that reads the input with `strides`.
StridedCopy gather_axes(const NodePlan& plan, const std::vector<int64_t>& in_strides) {
  StridedCopy copy{.axes = {}, .element_bytes = element_bytes(plan.out[0].dtype)};
  const std::vector<int64_t> out_strides = dense_strides(*plan.out[0].shape);
  for (size_t axis = 0; axis < out_strides.size(); ++axis) {
    copy.axes.push_back(
        {.size = plan.out[0].dim(axis), .in_stride = in_strides[axis], .out_stride = out_strides[axis]});
  }
  return copy;
}

struct Filling {
  size_t element_bytes;
  int64_t elements;
  // Fills the output with the element at `value`.
  void run(const std::byte* value, std::byte* out) const {
    if (elements == 0) return;
    std::memcpy(out, value, element_bytes);
    for (size_t done = element_bytes, all = static_cast<size_t>(elements) * element_bytes; done < all;) {
      const size_t next = std::min(done, all - done);
      std::memcpy(out + done, out, next);
      done += next;
    }
  }
};

}  // namespace

Result<Kernel> prepare_IDENTITY(const NodePlan& plan) {
  Checks checks = check_move(plan, 1);
  if (checks.good()) checks.shape(plan.out[0], *plan.in[0].shape);
  CARINA_CHECKED(checks.done());
  return Kernel{};  // the planner lets both values share their bytes
}

Result<Kernel> prepare_RESHAPE(const NodePlan& plan) {
  Checks checks = check_move(plan, 2);
  if (checks.good()) {
    checks.require(plan.in[0].shape->elements() == plan.out[0].shape->elements(),
                   "RESHAPE changes the number of elements",
                   to_string(*plan.in[0].shape) + " -> " + to_string(*plan.out[0].shape));
  }
  CARINA_CHECKED(checks.done());
  return Kernel{};
}

Result<Kernel> prepare_TRANSPOSE(const NodePlan& plan) {
  Checks checks = check_move(plan, 1);
  if (!checks.good()) return fail(checks.done().error());
  const Operand& in = plan.in[0];
  const std::vector<int64_t>& perms = plan.node.attributes.integers("perms");
  std::vector<int64_t> sorted = perms;
  std::ranges::sort(sorted);
  bool permutation = sorted.size() == in.rank();
  for (size_t i = 0; permutation && i < sorted.size(); ++i) permutation = sorted[i] == static_cast<int64_t>(i);
  CARINA_CHECKED(checks.require(permutation, "perms is not a permutation of the axes").done());
  Shape shape = *in.shape;
  for (size_t axis = 0; axis < perms.size(); ++axis) shape[axis] = in.dim(static_cast<size_t>(perms[axis]));
  CARINA_CHECKED(checks.shape(plan.out[0], shape).done());
  return copy_of_view(transposed(plan, dense_view(*in.shape)), in.dtype);
}

Result<Kernel> prepare_REVERSE(const NodePlan& plan) {
  Checks checks = check_move(plan, 1);
  if (checks.good()) checks.shape(plan.out[0], *plan.in[0].shape).axis(plan.in[0]);
  CARINA_CHECKED(checks.done());
  const auto axis = static_cast<size_t>(plan.node.attributes.integer("axis"));
  std::vector<int64_t> strides = dense_strides(*plan.in[0].shape);
  StridedCopy copy = gather_axes(plan, strides);
  copy.axes[axis].in_stride = -strides[axis];
  copy.in_offset = std::max<int64_t>(0, plan.in[0].dim(axis) - 1) * strides[axis];
  return copy_kernel(std::move(copy));
}

Result<Kernel> prepare_SLICE(const NodePlan& plan) {
  Checks checks = check_move(plan, 3);
  if (!checks.good()) return fail(checks.done().error());
  const Operand& in = plan.in[0];
  CARINA_TRY(const std::vector<int64_t> start, shape_constant(plan, plan.in[1], in.rank()));
  CARINA_TRY(const std::vector<int64_t> size, shape_constant(plan, plan.in[2], in.rank()));
  for (size_t axis = 0; axis < in.rank(); ++axis) {
    const bool inside =
        start[axis] >= 0 && size[axis] >= 0 && start[axis] <= in.dim(axis) && size[axis] <= in.dim(axis) - start[axis];
    checks.require(inside, fmt::format("the slice leaves axis {}", axis),
                   fmt::format("{} + {} of {}", start[axis], size[axis], in.dim(axis)));
  }
  CARINA_CHECKED(checks.done());
  CARINA_CHECKED(checks.shape(plan.out[0], Shape(size)).done());
  return copy_of_view(sliced(plan, dense_view(*in.shape)), in.dtype);
}

Result<Kernel> prepare_TILE(const NodePlan& plan) {
  Checks checks = check_move(plan, 2);
  if (!checks.good()) return fail(checks.done().error());
  const Operand& in = plan.in[0];
  CARINA_TRY(const std::vector<int64_t> multiples, shape_constant(plan, plan.in[1], in.rank()));
  Shape shape = *in.shape;
  for (size_t axis = 0; axis < in.rank(); ++axis) {
    const auto size = checked_mul(in.dim(axis), multiples[axis]);
    checks.require(multiples[axis] >= 0 && size.has_value(), "multiples must be positive and give a size that fits");
    shape[axis] = size.value_or(0);
  }
  CARINA_CHECKED(checks.shape(plan.out[0], shape).done());
  const std::vector<int64_t> in_strides = dense_strides(*in.shape);
  const std::vector<int64_t> out_strides = dense_strides(shape);
  StridedCopy copy{.axes = {}, .element_bytes = element_bytes(in.dtype)};
  for (size_t axis = 0; axis < in.rank(); ++axis) {
    copy.axes.push_back({.size = multiples[axis], .in_stride = 0, .out_stride = out_strides[axis] * in.dim(axis)});
    copy.axes.push_back({.size = in.dim(axis), .in_stride = in_strides[axis], .out_stride = out_strides[axis]});
  }
  return copy_kernel(std::move(copy));
}

Result<Kernel> prepare_PAD(const NodePlan& plan) {
  Checks checks = check_move(plan, 3);
  if (!checks.good()) return fail(checks.done().error());
  const Operand& in = plan.in[0];
  CARINA_CHECKED(checks.same_type(plan.in[2], in.dtype).scalar(plan.in[2]).done());
  CARINA_TRY(const std::vector<int64_t> padding, shape_constant(plan, plan.in[1], 2 * in.rank()));
  Shape shape = *in.shape;
  for (size_t axis = 0; axis < in.rank(); ++axis) {
    const auto before = checked_add(in.dim(axis), padding[2 * axis]);
    const auto size = before ? checked_add(*before, padding[2 * axis + 1]) : std::nullopt;
    checks.require(padding[2 * axis] >= 0 && padding[2 * axis + 1] >= 0 && size.has_value(),
                   "padding must not be negative");
    shape[axis] = size.value_or(0);
  }
  CARINA_CHECKED(checks.shape(plan.out[0], shape).done());
  const std::vector<int64_t> in_strides = dense_strides(*in.shape);
  const std::vector<int64_t> out_strides = dense_strides(shape);
  StridedCopy copy{.axes = {}, .element_bytes = element_bytes(in.dtype)};
  for (size_t axis = 0; axis < in.rank(); ++axis) {
    copy.axes.push_back({.size = in.dim(axis), .in_stride = in_strides[axis], .out_stride = out_strides[axis]});
    copy.out_offset += padding[2 * axis] * out_strides[axis];
  }
  copy.simplify();
  const Filling filling{.element_bytes = copy.element_bytes, .elements = shape.elements()};
  return Kernel{.run = [copy, filling](const Call& call) -> Result<void> {
    filling.run(call.in[2], call.out[0]);
    copy.run(call.runtime.workers, call.in[0], call.out[0]);
    return {};
  }};
}

Result<Kernel> prepare_CONCAT(const NodePlan& plan) {
  Checks checks(plan);
  checks.at_least(1, 1).require(plan.out.size() == 1, "CONCAT has one output");
  if (checks.good()) checks.axis(plan.in[0]);
  CARINA_CHECKED(checks.done());
  const auto axis = static_cast<size_t>(plan.node.attributes.integer("axis"));
  Shape shape = *plan.in[0].shape;
  shape[axis] = 0;
  for (const Operand& in : plan.in) {
    CARINA_CHECKED(checks.same_type(in, plan.out[0].dtype).rank(in, shape.rank(), shape.rank()).done());
    Shape expected = shape;
    expected[axis] = in.dim(axis);
    checks.shape(in, expected);
    const auto sum = checked_add(shape[axis], in.dim(axis));
    checks.require(sum.has_value(), "the sizes do not add up");
    shape[axis] = sum.value_or(0);
  }
  CARINA_CHECKED(checks.shape(plan.out[0], shape).done());
  const std::vector<int64_t> out_strides = dense_strides(shape);
  std::vector<StridedCopy> copies;
  int64_t at = 0;
  for (const Operand& in : plan.in) {
    StridedCopy copy{.axes = {}, .out_offset = at * out_strides[axis], .element_bytes = element_bytes(in.dtype)};
    const std::vector<int64_t> in_strides = dense_strides(*in.shape);
    for (size_t a = 0; a < shape.rank(); ++a)
      copy.axes.push_back({.size = in.dim(a), .in_stride = in_strides[a], .out_stride = out_strides[a]});
    copy.simplify();
    copies.push_back(std::move(copy));
    at += in.dim(axis);
  }
  return Kernel{.run = [copies = std::move(copies)](const Call& call) -> Result<void> {
    for (size_t i = 0; i < copies.size(); ++i) copies[i].run(call.runtime.workers, call.in[i], call.out[0]);
    return {};
  }};
}

}  // namespace carina::interpret
