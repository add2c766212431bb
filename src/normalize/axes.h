#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace carina::normalize {

// Converts an axis in PyTorch's form (negative: counted from the end) to an index. PyTorch has checked the range at
// export; a rank-0 tensor accepts -1 and 0.
inline size_t axis_of(int64_t axis, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

// The axes of a reduction, ascending. None or an empty list stands for all axes.
std::vector<size_t> reduced_axes(const ir::Attributes& attributes, std::string_view name, size_t rank);

// Whether a constant that is broadcast to `shape` has one element per channel (axis 1): [C,1,1] or [1,C,1,1] for
// [N,C,H,W].
bool is_per_channel(const Shape& constant, const Shape& shape);

// The shape after reducing `axes`. A reduced axis stays with size 1.
Shape kept_shape(const Shape& shape, const std::vector<size_t>& axes);

// The order of axes that transposes matrices: the last two are swapped. The rank is at least 2.
std::vector<int64_t> transposed_axes(size_t rank);

inline std::vector<int64_t> to_ints(std::span<const size_t> indices) {
  return {indices.begin(), indices.end()};
}
inline std::vector<int64_t> dims_of(const Shape& shape) {
  return {shape.dims().begin(), shape.dims().end()};
}

}  // namespace carina::normalize
