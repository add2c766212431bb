#include <algorithm>
#include <numeric>

#include "normalize/axes.h"

namespace carina::normalize {

std::vector<size_t> reduced_axes(const ir::Attributes& attributes, std::string_view name, size_t rank) {
  std::vector<size_t> axes;
  if (!attributes.is_none(name)) {
    const ir::Attribute& attribute = *attributes.find(name);
    if (const auto* one = std::get_if<int64_t>(&attribute)) {
      axes.push_back(axis_of(*one, rank));
    } else {
      for (const int64_t axis : attributes.integers(name)) axes.push_back(axis_of(axis, rank));
    }
  }
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), size_t{0});
  }
  std::ranges::sort(axes);
  return axes;
}

bool is_per_channel(const Shape& constant, const Shape& shape) {
  if (shape.rank() < 2 || constant.rank() > shape.rank() || constant.elements() != shape[1]) return false;
  const size_t ahead = shape.rank() - constant.rank();
  return ahead <= 1 && constant[1 - ahead] == shape[1];
}

Shape kept_shape(const Shape& shape, const std::vector<size_t>& axes) {
  Shape kept = shape;
  for (const size_t axis : axes) {
    if (axis < kept.rank()) kept[axis] = 1;
  }
  return kept;
}

std::vector<int64_t> transposed_axes(size_t rank) {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), int64_t{0});
  std::swap(axes[rank - 2], axes[rank - 1]);
  return axes;
}

}  // namespace carina::normalize
