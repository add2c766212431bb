#include "carina/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/checked_math.h"

namespace carina {

int64_t Shape::elements() const {
  const auto product = checked_product(dims());
  CARINA_CHECK(product.has_value() && *product >= 0, "shape {} has no element count", to_string(*this));
  return *product;
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.dims(), ","));
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return std::nullopt;
  Shape out = a;
  for (size_t axis = 0; axis < a.rank(); ++axis) {
    if (a[axis] != b[axis] && a[axis] != 1 && b[axis] != 1) return std::nullopt;
    out[axis] = a[axis] == 1 ? b[axis] : a[axis];
  }
  return out;
}

}  // namespace carina
