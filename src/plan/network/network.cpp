#include "plan/network/network.h"

#include "base/checked_math.h"
#include "facts/npu_targets.h"

namespace carina::plan {

int64_t PlanTensor::bytes() const {
  if (kind == TensorKind::kConstant) return constant_bytes;
  const int64_t depth = format == Format::kNhcwb16 ? round_up<int64_t>(extent.depth, npu::kBrickDepth) : extent.depth;
  return extent.height * extent.width * depth * element_bytes;
}

Extent extent_of(const Shape& shape) {
  Extent extent;
  if (shape.rank() == 0) return extent;
  extent.depth = shape[shape.rank() - 1];
  bool width_taken = false;
  for (size_t i = shape.rank() - 1; i-- > 0;) {
    if (shape[i] == 1) continue;
    (width_taken ? extent.height : extent.width) *= shape[i];
    width_taken = true;
  }
  return extent;
}

}  // namespace carina::plan
