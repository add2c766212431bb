#include "plan/network/view.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

// A view is an offset and a size and stride for each axis. Slices, permutations, reversals and broadcasts only change
// these numbers. A reshape is possible if no new axis crosses a place where the strides do not continue.
//
//   Example: [4,6] of a dense tensor, transposed: sizes 6 4, strides 1 6. As [2,3,4]: the axis of 4 is the run (4,
//   stride 6), the axes of 2 and 3 divide the run (6, stride 1) into strides 3 and 1. So the strides are 3 1 6, without
//   a copy. As [24] it would need one stride for both runs: not possible, and the caller copies.
//
// Everything is linear in the rank. The selection copies a tensor only if a view cannot express what a reader needs
// (docs/plan.md, "Layout"); NumPy's strides and TVM's buffers are the same idea.
namespace carina::plan {

int64_t View::elements() const {
  int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.size;
  return product;
}

Shape View::shape() const {
  std::vector<int64_t> dims;
  dims.reserve(axes.size());
  for (const Axis& axis : axes) dims.push_back(axis.size);
  return Shape(dims);
}

View dense_view(TensorId tensor, const Shape& shape) {
  View view{.tensor = tensor, .offset = 0, .axes = std::vector<Axis>(shape.rank())};
  int64_t stride = 1;
  for (size_t i = shape.rank(); i-- > 0;) {
    view.axes[i] = {.size = shape[i], .stride = stride};
    stride *= shape[i];
  }
  return view;
}

bool is_dense(const View& view) {
  int64_t stride = 1;
  for (size_t i = view.axes.size(); i-- > 0;) {
    const Axis& axis = view.axes[i];
    if (axis.size != 1 && axis.stride != stride) return false;
    stride *= axis.size;
  }
  return true;
}

bool same_elements(const View& a, const View& b) {
  return a.tensor == b.tensor && a.offset == b.offset &&
         std::ranges::equal(a.axes, b.axes, [](const Axis& x, const Axis& y) {
           return x.size == y.size && (x.size == 1 || x.stride == y.stride);
         });
}

std::vector<int64_t> memory_order(const View& view) {
  std::vector<int64_t> order(view.rank());
  std::iota(order.begin(), order.end(), int64_t{0});
  // Axes of size 1 may come anywhere. Formats expect them outermost.
  const auto stride = [&](int64_t i) {
    const Axis& axis = view.axes[static_cast<size_t>(i)];
    return axis.size == 1 ? std::numeric_limits<int64_t>::max() : std::abs(axis.stride);
  };
  std::ranges::stable_sort(order, std::greater(), stride);
  return order;
}

bool is_permuted_dense(const View& view, std::vector<int64_t>& order) {
  order = memory_order(view);
  return is_dense(permuted(view, order));
}

std::optional<View> whole_rows(const View& view, int64_t elements, size_t kept, std::vector<int64_t>& start) {
  View whole = view;
  start.assign(view.rank(), 0);
  int64_t outer = elements, rest = view.offset;
  bool outermost = true;
  for (const int64_t axis : memory_order(view)) {
    const auto i = static_cast<size_t>(axis);
    const auto [size, stride] = view.axes[i];
    if (size == 1) continue;
    if (stride < 1 || outer % stride != 0) return std::nullopt;
    const int64_t extent = outer / stride, first = rest / stride;
    if (first + size > extent) return std::nullopt;
    rest -= first * stride;
    outer = stride;
    if (i == kept || std::exchange(outermost, false)) continue;
    start[i] = first;
    whole.axes[i].size = extent;
    whole.offset -= first * stride;
  }
  if (outer != 1) return std::nullopt;
  return whole;
}

namespace {

// The axes without those of size 1. Neighbors are merged if one stride covers both.
std::vector<Axis> coalesced(const std::vector<Axis>& axes) {
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (!merged.empty() && merged.back().stride == axis.stride * axis.size) {
      merged.back() = {.size = merged.back().size * axis.size, .stride = axis.stride};
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

}  // namespace

std::optional<View> reshaped(const View& view, const Shape& shape) {
  // Innermost first: each new axis takes its size from the current merged run, which must divide evenly.
  std::vector<Axis> runs = coalesced(view.axes);
  View result{.tensor = view.tensor, .offset = view.offset, .axes = std::vector<Axis>(shape.rank())};
  for (size_t i = shape.rank(); i-- > 0;) {
    const int64_t size = shape[i];
    if (size == 1) {
      result.axes[i] = {.size = 1, .stride = 0};
      continue;
    }
    if (runs.empty() || runs.back().size % size != 0) return std::nullopt;
    Axis& run = runs.back();
    result.axes[i] = {.size = size, .stride = run.stride};
    run = {.size = run.size / size, .stride = run.stride * size};
    if (run.size == 1) runs.pop_back();
  }
  if (!runs.empty()) return std::nullopt;
  return result;
}

View sliced(const View& view, std::span<const int64_t> start, std::span<const int64_t> size) {
  View result = view;
  for (size_t i = 0; i < result.axes.size(); ++i) {
    result.offset += start[i] * result.axes[i].stride;
    result.axes[i].size = size[i];
  }
  return result;
}

View permuted(const View& view, std::span<const int64_t> perms) {
  View result = view;
  for (size_t i = 0; i < perms.size(); ++i) result.axes[i] = view.axes[static_cast<size_t>(perms[i])];
  return result;
}

View reversed(const View& view, size_t axis) {
  View result = view;
  Axis& turned = result.axes[axis];
  result.offset += (turned.size - 1) * turned.stride;
  turned.stride = -turned.stride;
  return result;
}

View broadcasted(const View& view, const Shape& shape) {
  View result = view;
  for (size_t i = 0; i < result.axes.size(); ++i) {
    if (result.axes[i].size == 1 && shape[i] != 1) result.axes[i] = {.size = shape[i], .stride = 0};
  }
  return result;
}

View sliced_axis(View view, size_t axis, int64_t start, int64_t size) {
  return stepped_axis(std::move(view), axis, start, 1, size);
}

View stepped_axis(View view, size_t axis, int64_t start, int64_t step, int64_t size) {
  Axis& cut = view.axes[axis];
  view.offset += start * cut.stride;
  cut = {.size = size, .stride = cut.stride * step};
  return view;
}

View at(const View& view, int64_t index) {
  View result = sliced_axis(view, 0, index, 1);
  result.axes.erase(result.axes.begin());
  return result;
}

}  // namespace carina::plan
