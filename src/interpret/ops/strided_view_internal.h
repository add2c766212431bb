#pragma once

#include <optional>
#include <vector>

#include "interpret/kernel_internal.h"

// Strided views: TRANSPOSE, SLICE and RESHAPE without a copy.
namespace carina::interpret {

// Elements of a dense tensor in another order, or a part of them. Strides and offset are in elements.
struct StridedView {
  Shape shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;
};
StridedView dense_view(const Shape& shape);

// The view that a checked TRANSPOSE or SLICE makes of a view of its operand.
StridedView transposed(const NodePlan& plan, const StridedView& in);
StridedView sliced(const NodePlan& plan, const StridedView& in);
// The view that a TRANSPOSE, SLICE, RESHAPE or IDENTITY makes of a view of its operand. Its prepare function has
// accepted the node. Returns nothing for another operator, or for a RESHAPE that strides cannot express.
std::optional<StridedView> view_of(const NodePlan& plan, const StridedView& in);

// A kernel that writes a view of its operand 0 as a dense tensor.
Kernel copy_of_view(const StridedView& view, DType dtype);

}  // namespace carina::interpret
