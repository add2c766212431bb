#pragma once

#include <optional>
#include <vector>

#include "interpret/kernel_internal.h"

namespace carina::interpret {

// Elements of a dense tensor in another order, or some of them. Strides and offset in elements.
struct StridedView {
  Shape shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;
};
StridedView dense_view(const Shape& shape);

// What a checked TRANSPOSE or SLICE gives of a view of its operand.
StridedView transposed(const NodePlan& plan, const StridedView& in);
StridedView sliced(const NodePlan& plan, const StridedView& in);
// What a TRANSPOSE, SLICE, RESHAPE or IDENTITY that prepare_ has accepted gives of a view of its operand. Nothing: it
// is another operator, or a RESHAPE to what no strides say.
std::optional<StridedView> view_of(const NodePlan& plan, const StridedView& in);

// Writes the view of its operand 0 as a dense tensor.
Kernel copy_of_view(const StridedView& view, DType dtype);

}  // namespace carina::interpret
