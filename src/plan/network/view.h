#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/id.h"
#include "tensor/shape.h"

namespace carina::plan {

using TensorId = Id<struct TensorTag>;

// One axis of a view: how many elements, and how far apart they are in the tensor, in elements. Stride 0 repeats
// (broadcast), a negative stride runs backwards.
struct Axis {
  int64_t size = 1;
  int64_t stride = 0;
  bool operator==(const Axis&) const = default;
};

// Elements of a tensor, addressed as if the tensor stood in memory row by row without gaps (NHWC). How it stands really
// is decided later; views that do not fit another format keep the tensor in this one.
struct View {
  TensorId tensor = {};
  int64_t offset = 0;  // elements
  std::vector<Axis> axes = {};

  [[nodiscard]] size_t rank() const { return axes.size(); }
  [[nodiscard]] int64_t elements() const;
  [[nodiscard]] Shape shape() const;
  bool operator==(const View&) const = default;
};

// The whole of a tensor of this shape.
View dense_view(TensorId tensor, const Shape& shape);
// Whether the elements stand one after another in the view's order.
bool is_dense(const View& view);

// Whether both address the same elements in the same order: strides of axes of size 1 say nothing.
bool same_elements(const View& a, const View& b);

// The axes as they stand in memory, outermost first; axes of size 1 before all others.
std::vector<int64_t> memory_order(const View& view);

// Whether the elements fill a box of memory without gaps, in whatever order of axes; then `order` gives the axes
// outermost first.
bool is_permuted_dense(const View& view, std::vector<int64_t>& order);

// The smallest view of whole rows around `view`, in its order of axes, in a tensor of `elements`: every axis is as long
// as the memory between one of its steps and the next axis allows, but for the outermost and the axis `kept`. Nothing
// where the view repeats, steps over or reverses elements. `start` is where `view` begins in it.
std::optional<View> whole_rows(const View& view, int64_t elements, size_t kept, std::vector<int64_t>& start);

// The same elements in the same order under another shape (as many elements), when strides can express it.
std::optional<View> reshaped(const View& view, const Shape& shape);
// The box [start, start + size) on every axis, which must lie inside.
View sliced(const View& view, std::span<const int64_t> start, std::span<const int64_t> size);
// Axis i of the result is axis perms[i] of the view.
View permuted(const View& view, std::span<const int64_t> perms);
// The axis backwards.
View reversed(const View& view, size_t axis);
// Axes of size 1 repeated up to `shape`, which must have the same rank.
View broadcasted(const View& view, const Shape& shape);
// The box [start, start + size) of one axis.
View sliced_axis(View view, size_t axis, int64_t start, int64_t size);
// Every `step`th element of one axis from `start`, `size` of them.
View stepped_axis(View view, size_t axis, int64_t start, int64_t step, int64_t size);
// Index `index` of the outermost axis, without that axis.
View at(const View& view, int64_t index);

}  // namespace carina::plan
