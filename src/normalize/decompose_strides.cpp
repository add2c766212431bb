// Decomposes operators that read elements at regular distances: as_strided, unfold, diagonals and image patches.

#include <algorithm>
#include <numeric>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/indexed_axes_internal.h"
#include "normalize/slices.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

constexpr int64_t kMaxParts = 64;
// A gather with a longer list of indices would take more memory than the model.
constexpr int64_t kMaxListed = int64_t{1} << 22;

struct Stride {
  int64_t size;
  int64_t step;
};
using Strides = std::vector<Stride>;

// The distance from the first element to the end of the last.
int64_t extent_of(std::span<const Stride> axes) {
  int64_t extent = 1;
  for (const auto& [size, step] : axes) extent += (size - 1) * step;
  return extent;
}

// The first `size` elements of the last axis.
ValueId first_of_rows(Rewriter& in, ValueId rows, int64_t size) {
  const int64_t reach = in.shape(rows)[1];
  if (reach >= size) return slice(in, rows, 1, 0, size);
  return join(in, {rows, slice(in, rows, 1, 0, size - reach)}, 1);
}

// [rows, reach] -> [rows * size, extent], with one slice per window.
ValueId window_by_window(Rewriter& in, ValueId rows, const Stride& axis, int64_t extent) {
  const int64_t count = in.shape(rows)[0];
  std::vector<ValueId> windows;
  for (int64_t i = 0; i < axis.size; ++i)
    windows.push_back(in.view(slice(in, rows, 1, i * axis.step, i * axis.step + extent), Shape{count, 1, extent}));
  return in.view(join(in, windows, 1), Shape{count * axis.size, extent});
}

// Like window_by_window(), from blocks of one step: a window is its block and some of the following blocks.
ValueId block_by_block(Rewriter& in, ValueId rows, const Stride& axis, int64_t extent) {
  const int64_t count = in.shape(rows)[0], after = (extent + axis.step - 1) / axis.step;
  const int64_t blocks = axis.size + after - 1;
  const ValueId grid = in.view(first_of_rows(in, rows, blocks * axis.step), Shape{count, blocks, axis.step});
  std::vector<ValueId> parts;
  for (int64_t i = 0; i < after; ++i) parts.push_back(slice(in, grid, 1, i, i + axis.size));
  const ValueId wide = in.view(join(in, parts, 2), Shape{count * axis.size, after * axis.step});
  return slice(in, wide, 1, 0, extent);
}

// Selects the elements of each row that the axes reach, from the widest step to the narrowest: [rows, reach] -> [rows *
// sizes, 1]. No value if windows overlap too much.
std::optional<ValueId> strided(Rewriter& in, ValueId rows, std::span<const Stride> axes) {
  if (axes.empty()) return slice(in, rows, 1, 0, 1);
  const Stride& axis = axes.front();
  const int64_t extent = extent_of(axes.subspan(1));
  if (axis.size == 1) return strided(in, slice(in, rows, 1, 0, extent), axes.subspan(1));
  const int64_t blocks = (extent + axis.step - 1) / axis.step;
  if (std::min(blocks, axis.size) > kMaxParts) return std::nullopt;
  const ValueId windows =
      blocks <= axis.size ? block_by_block(in, rows, axis, extent) : window_by_window(in, rows, axis, extent);
  return strided(in, windows, axes.subspan(1));
}

// Like strided(), as a gather with the list of all indices.
ValueId listed(Rewriter& in, ValueId flat, const Strides& axes) {
  Ints positions{0};
  for (const auto& [size, step] : axes) {
    Ints next;
    for (const int64_t position : positions) {
      for (int64_t i = 0; i < size; ++i) next.push_back(position + i * step);
    }
    positions = std::move(next);
  }
  return take_or_gather(in, flat, 0, positions);
}

// Returns whether memory order equals element order. Views with permuted axes do not have this property.
bool is_dense(Rewriter& in, ValueId x) {
  for (const Node& node : in.graph().nodes) {
    if (std::ranges::find(node.outputs, x) == node.outputs.end()) continue;
    const AtenTraits& traits = traits_of(node.op.aten());
    return traits.data == AtenData::kComputed || traits.op == AtenOp::view_default;
  }
  return true;
}

Result<bool> as_strided(Rewriter& in, const Node& node) {
  const Ints& sizes = node.attributes.integers("size");
  const Ints& steps = node.attributes.integers("stride");
  const int64_t offset = node.attributes.is_none("storage_offset") ? 0 : node.attributes.integer("storage_offset");
  if (!is_dense(in, node.inputs[0]) || in.shape(node.outputs[0]).elements() == 0) return false;
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return steps[a] > steps[b]; });
  Strides axes;
  Ints dims, position(sizes.size()), single;
  for (const size_t axis : order) {
    position[axis] = static_cast<int64_t>(dims.size());
    dims.push_back(steps[axis] == 0 ? 1 : sizes[axis]);
    if (steps[axis] != 0) axes.push_back({.size = sizes[axis], .step = steps[axis]});
  }
  const int64_t all = in.shape(node.inputs[0]).elements();
  const ValueId memory = slice(in, in.view(node.inputs[0], Shape{1, all}), 1, offset, all);
  const auto picked = strided(in, memory, axes);
  if (!picked && in.shape(node.outputs[0]).elements() > kMaxListed) return false;
  const ValueId flat = picked ? *picked : listed(in, in.view(memory, Shape{all - offset}), axes);
  const ValueId sorted = in.view(flat, Shape(dims));
  const ValueId ordered = permuted_axes(in, sorted, position);
  return rewritten(in.view_into(node.outputs[0], expanded(in, ordered, in.shape(node.outputs[0]))));
}

// [before, axis, after] -> [before, windows, after, size]
Result<bool> unfold(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]), result = in.shape(node.outputs[0]);
  if (shape.rank() == 0 || result.elements() == 0) return false;
  const size_t axis = axis_of(node.attributes.integer("dimension"), shape.rank());
  const Strides axes{{.size = result[axis], .step = node.attributes.integer("step")},
                     {.size = node.attributes.integer("size"), .step = 1}};
  int64_t before = 1;
  for (size_t i = 0; i < axis; ++i) before *= shape[i];
  const int64_t after = shape.elements() / before / shape[axis];
  const ValueId last = permuted_axes(in, in.view(node.inputs[0], Shape{before, shape[axis], after}), {0, 2, 1});
  const auto picked = strided(in, in.view(last, Shape{before * after, shape[axis]}), axes);
  if (!picked) return false;
  const ValueId windows = in.view(*picked, Shape{before, after, axes[0].size, axes[1].size});
  return rewritten(in.view_into(node.outputs[0], permuted_axes(in, windows, {0, 2, 1, 3})));
}

Ints with_last(size_t rank, size_t first, size_t second) {
  Ints order;
  for (size_t i = 0; i < rank; ++i) {
    if (i != first && i != second) order.push_back(static_cast<int64_t>(i));
  }
  order.push_back(static_cast<int64_t>(first));
  order.push_back(static_cast<int64_t>(second));
  return order;
}

// Each step along a diagonal goes one row and one column further.
Result<bool> diagonal(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]), result = in.shape(node.outputs[0]);
  const size_t rank = shape.rank();
  if (rank < 2 || result.elements() == 0) return false;
  const size_t down = axis_of(node.attributes.integer("dim1"), rank),
               right = axis_of(node.attributes.integer("dim2"), rank);
  const int64_t columns = shape[right], all = shape[down] * columns, offset = node.attributes.integer("offset");
  const int64_t first = offset >= 0 ? offset : -offset * columns;
  const ValueId matrices =
      in.view(permuted_axes(in, node.inputs[0], with_last(rank, down, right)), Shape{shape.elements() / all, all});
  const Strides axes{{.size = result[rank - 2], .step = columns + 1}};
  const auto picked = strided(in, slice(in, matrices, 1, first, all), axes);
  return picked ? rewritten(in.view_into(node.outputs[0], *picked)) : Result<bool>(false);
}

// `count` elements from `first` on, `step` apart.
ValueId stepped(Rewriter& in, ValueId x, size_t axis, int64_t first, const Stride& window) {
  const int64_t end = first + (window.size - 1) * window.step + 1;
  if (window.step == 1 || window.size == 1) return slice(in, x, axis, first, end);
  Shape shape = in.shape(x);
  shape[axis] = window.size;
  return in.move(AtenOp::slice_Tensor, {x},
                 {{"dim", static_cast<int64_t>(axis)}, {"start", first}, {"end", end}, {"step", window.step}}, shape);
}

int64_t windows_in(int64_t size, int64_t kernel, int64_t dilation, int64_t padding, int64_t stride) {
  return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

// The elements that each tap of the window reads: [N,C,taps,windows].
Result<bool> im2col(Rewriter& in, const Node& node) {
  const Ints &kernel = node.attributes.integers("kernel_size"), &dilation = node.attributes.integers("dilation");
  const Ints &padding = node.attributes.integers("padding"), &stride = node.attributes.integers("stride");
  Ints dims = dims_of(in.shape(node.inputs[0]));
  if (dims.size() == 3) dims.insert(dims.begin(), 1);
  if (kernel[0] * kernel[1] > 4 * kMaxParts || in.shape(node.outputs[0]).elements() == 0) return false;
  const int64_t rows = windows_in(dims[2], kernel[0], dilation[0], padding[0], stride[0]);
  const int64_t columns = windows_in(dims[3], kernel[1], dilation[1], padding[1], stride[1]);
  ValueId image = in.view(node.inputs[0], Shape(dims));
  if (padding[0] + padding[1] > 0) {
    image = in.move(AtenOp::constant_pad_nd_default, {image},
                    {{"pad", Ints{padding[1], padding[1], padding[0], padding[0]}}, {"value", int64_t{0}}},
                    Shape{dims[0], dims[1], dims[2] + 2 * padding[0], dims[3] + 2 * padding[1]});
  }
  std::vector<ValueId> taps;
  for (int64_t y = 0; y < kernel[0]; ++y) {
    const ValueId seen = stepped(in, image, 2, y * dilation[0], {.size = rows, .step = stride[0]});
    for (int64_t x = 0; x < kernel[1]; ++x)
      taps.push_back(in.view(stepped(in, seen, 3, x * dilation[1], {.size = columns, .step = stride[1]}),
                             Shape{dims[0], dims[1], 1, rows * columns}));
  }
  return rewritten(in.view_into(node.outputs[0], join(in, taps, 2)));
}

// A transposed convolution in which the filter of each channel copies one tap.
Result<bool> col2im(Rewriter& in, const Node& node) {
  const Ints& kernel = node.attributes.integers("kernel_size");
  const Ints& size = node.attributes.integers("output_size");
  const Ints &dilation = node.attributes.integers("dilation"), &padding = node.attributes.integers("padding");
  const Ints& stride = node.attributes.integers("stride");
  if (!is_fp32(in, node) || kernel[0] > 4 * kMaxParts / kernel[1]) return false;
  Ints windows, left;
  for (size_t i = 0; i < 2; ++i) {
    windows.push_back(windows_in(size[i], kernel[i], dilation[i], padding[i], stride[i]));
    left.push_back((size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) % stride[i]);
  }
  const int64_t taps = kernel[0] * kernel[1];
  std::vector<float> filters(static_cast<size_t>(taps * taps), 0);
  for (int64_t i = 0; i < taps; ++i) filters[static_cast<size_t>(i * taps + i)] = 1;
  const ValueId weight =
      in.constant(node.name + "_taps", Tensor::of<float>(DType::kFp32, Shape{taps, 1, kernel[0], kernel[1]}, filters));
  const int64_t images = in.shape(node.inputs[0]).elements() / (taps * windows[0] * windows[1]);
  const ValueId columns = in.view(node.inputs[0], Shape{images, taps, windows[0], windows[1]});
  const ValueId image = in.make(AtenOp::conv_transpose2d_input, {columns, weight, ValueId()},
                                {{"stride", stride},
                                 {"padding", padding},
                                 {"output_padding", left},
                                 {"groups", int64_t{1}},
                                 {"dilation", dilation}},
                                Shape{images, 1, size[0], size[1]});
  return rewritten(in.view_into(node.outputs[0], image));
}

constexpr RewriteRow kDecomposeStridesRows[] = {
    {AtenOp::as_strided_default, as_strided}, {AtenOp::as_strided_copy_default, as_strided},
    {AtenOp::unfold_default, unfold},         {AtenOp::unfold_copy_default, unfold},
    {AtenOp::diagonal_default, diagonal},     {AtenOp::diagonal_copy_default, diagonal},
    {AtenOp::im2col_default, im2col},         {AtenOp::col2im_default, col2im},
};
static_assert(rewrites_what_becomes(kDecomposeStridesRows));

}  // namespace

std::span<const RewriteRow> stride_rewrites() {
  return kDecomposeStridesRows;
}

}  // namespace carina::normalize
