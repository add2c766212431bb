#pragma once

#include <cstddef>

#include "plan/schedule/schedule.h"

// Conditions under which a result may be written over an operand.
namespace carina::plan {

// Returns whether each element has the same offset in both tensors.
bool stand_alike(const PlanTensor& a, const PlanTensor& b);

// Returns whether both tensors are correct after command `index` of the order if `to` has the address of `from`. That
// holds if the command touches neither tensor, or if it is an elementwise operation that writes each element of `to` at
// the address where it has read the same element. NPUs read the operands of an elementwise block before they write it,
// and no other block reads those operands.
bool writes_in_place(const Schedule& schedule, size_t index, TensorId from, TensorId to);

}  // namespace carina::plan
