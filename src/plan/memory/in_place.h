#pragma once

#include <cstddef>

#include "plan/schedule/schedule.h"

namespace carina::plan {

// Whether the same element stands at the same place in both, if both start at one address.
bool stand_alike(const PlanTensor& a, const PlanTensor& b);

// Whether command `index` of the order leaves both tensors right when `to` stands where `from` stands: it touches
// neither, or is an elementwise operation that writes each element of `to` where it has read the same one of them. NPUs
// read the operands of an elementwise block before they write it, and no other block needs them.
bool writes_in_place(const Schedule& schedule, size_t index, TensorId from, TensorId to);

}  // namespace carina::plan
