#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/id.h"
#include "carina/shape.h"

// Views: strided addressing of a tensor's elements, with which RESHAPE, SLICE and TRANSPOSE need no copy.
//   Example: the transpose of a [2,3] tensor is the view {size 3, stride 1}, {size 2, stride 3} of the same elements.
namespace carina::plan {

using TensorId = Id<struct TensorTag>;

// One axis of a view: the number of elements and the distance between them, in elements of the tensor. Stride 0 repeats
// an element (broadcast). A negative stride reverses the axis.
struct Axis {
  int64_t size = 1;
  int64_t stride = 0;
  bool operator==(const Axis&) const = default;
};

// Elements of a tensor, addressed as if the tensor were dense and row-major (NHWC). The tensor's format is decided
// later. A view that another format cannot express keeps the tensor in this one.
struct View {
  TensorId tensor = {};
  int64_t offset = 0;  // elements
  std::vector<Axis> axes = {};

  [[nodiscard]] size_t rank() const { return axes.size(); }
  [[nodiscard]] int64_t elements() const;
  [[nodiscard]] Shape shape() const;
  bool operator==(const View&) const = default;
};

// A view of a whole tensor of this shape.
View dense_view(TensorId tensor, const Shape& shape);
// Returns whether the elements are contiguous in the view's order.
bool is_dense(const View& view);

// Returns whether both views address the same elements in the same order. Strides of axes of size 1 are ignored.
bool same_elements(const View& a, const View& b);

// The axes in memory order, outermost first. Axes of size 1 come before all others.
std::vector<int64_t> memory_order(const View& view);

// Returns whether the elements fill a box of memory without gaps, in any order of axes. If so, `order` becomes the
// axes, outermost first.
bool is_permuted_dense(const View& view, std::vector<int64_t>& order);

// The smallest view of whole rows that contains `view`, with the same axis order, in a tensor of `elements` elements.
// Each axis is extended as far as the stride of the next outer axis allows, except the outermost axis and the axis
// `kept`. Returns nothing if the view repeats, skips or reverses elements. `start` becomes the position of `view` in
// the result.
std::optional<View> whole_rows(const View& view, int64_t elements, size_t kept, std::vector<int64_t>& start);

// The same elements in the same order with another shape of equal size. Returns nothing if strides cannot express it.
std::optional<View> reshaped(const View& view, const Shape& shape);
// The box [start, start + size) of every axis. It must lie inside the view.
View sliced(const View& view, std::span<const int64_t> start, std::span<const int64_t> size);
// Axis i of the result is axis perms[i] of the view.
View permuted(const View& view, std::span<const int64_t> perms);
// The view with this axis reversed.
View reversed(const View& view, size_t axis);
// The view with axes of size 1 repeated to the sizes of `shape`, which must have the same rank.
View broadcasted(const View& view, const Shape& shape);
// The range [start, start + size) of one axis.
View sliced_axis(View view, size_t axis, int64_t start, int64_t size);
// Every `step`th element of one axis from `start`, `size` elements in all.
View stepped_axis(View view, size_t axis, int64_t start, int64_t step, int64_t size);
// Index `index` of the outermost axis; the result does not have that axis.
View at(const View& view, int64_t index);

}  // namespace carina::plan
