// The axes of SUM, MEAN and their kin, which a constant operand names.
#pragma once

#include <array>
#include <vector>

#include "frontend/tflite/kernels/kernel_call_internal.h"

namespace carina::tflite {

inline constexpr std::array kAxes{DType::kInt32};

// By axis: whether it is reduced; empty if an axis does not exist.
inline std::vector<bool> reduced_axes(const KernelCall& call) {
  const size_t rank = call.in(0).shape.rank();
  std::vector<bool> out(rank);
  for (int32_t axis : values_of<int32_t>(call.in(1).data.bytes())) {
    if (axis < 0) axis += static_cast<int32_t>(rank);
    if (axis < 0 || axis >= static_cast<int32_t>(rank)) return {};
    out[static_cast<size_t>(axis)] = true;
  }
  return out;
}

// The elements of the input that are one of the result.
inline int64_t reduced_elements(const KernelCall& call, const std::vector<bool>& axes) {
  int64_t count = 1;
  for (size_t axis = 0; axis < axes.size(); ++axis) count *= axes[axis] ? call.in(0).shape[axis] : 1;
  return count;
}

}  // namespace carina::tflite
