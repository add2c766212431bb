#include <array>

#include "base/checked_math.h"
#include "frontend/pt2/verify/rule.h"
#include "frontend/pt2/verify/slices.h"
#include "frontend/pt2/verify/windows.h"

namespace carina::aten {

namespace {

template <std::expected<Shape, std::string> (*kShape)(const NodeView&)>
Shapes read(const NodeView& n) {
  CARINA_TRY(const Shape shape, kShape(n));
  return one(shape);
}

Shapes narrow(const NodeView& n) {
  Shape shape = n.shape(0);
  if (shape.rank() == 0) return broken("its operand has no axis");
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), shape.rank()));
  const ir::Attribute* given = n.node.attributes.find("start");  // none: a tensor
  const int64_t size = shape[axis], length = n.integer("length");
  const int64_t start = given == nullptr ? 0 : n.integer("start");
  if (start < -size || start > size || length < 0 || length > size - (start < 0 ? start + size : start))
    return broken("{} elements from {} of {}", length, start, size);
  shape[axis] = length;
  return one(shape);
}

// Repeats the tensor along each axis; new axes stand before its own.
Shapes repeated(const NodeView& n, Sizes repeats) {
  const Shape& x = n.shape(0);
  if (repeats.size() < x.rank()) return broken("{} repeats for a tensor of rank {}", repeats.size(), x.rank());
  const size_t offset = repeats.size() - x.rank();
  for (size_t i = 0; i < repeats.size(); ++i) {
    const auto size = repeats[i] < 0 ? std::nullopt : checked_mul(repeats[i], i < offset ? 1 : x[i - offset]);
    if (!size) return broken("{} repeats", repeats[i]);
    repeats[i] = *size;
  }
  return one(repeats);
}
Shapes repeat(const NodeView& n) {
  return repeated(n, n.ints("repeats"));
}
Shapes tile(const NodeView& n) {
  Sizes dims = n.ints("dims");
  if (dims.size() < n.rank(0)) dims.insert(dims.begin(), n.rank(0) - dims.size(), 1);
  return repeated(n, dims);
}

// Each element stands `repeats` times after the other, of the flattened tensor without `dim`.
Shapes repeat_elements(const NodeView& n) {
  const bool flat = n.is_none("dim");
  Shape shape = flat ? Shape{n.shape(0).elements()} : n.shape(0);
  CARINA_TRY(const size_t axis, axis_of(flat ? 0 : n.integer("dim"), shape.rank()));
  if (shape.rank() == 0) shape = Shape{1};
  const ir::Attribute* count = n.node.attributes.find("repeats");
  if (count == nullptr) {  // a tensor, whose numbers are data
    const auto declared = n.declared(0);
    if (declared && declared->rank() == shape.rank()) shape[axis] = (*declared)[axis];
    if (n.rank(1) > 1 || (n.shape(1).elements() != 1 && n.shape(1).elements() != (flat ? n.shape(0).elements()
                                                                                  : n.rank(0) == 0 ? 1
                                                                                                   : n.shape(0)[axis])))
      return broken("{} repeats of {}", n.shape(1).elements(), to_string(n.shape(0)));
    return one(shape);
  }
  const int64_t repeats = n.integer("repeats");
  const auto size = repeats < 0 ? std::nullopt : checked_mul(shape[axis], repeats);
  if (!size) return broken("{} repeats", repeats);
  shape[axis] = *size;
  return one(shape);
}

// [..., size, ...] -> [..., windows, ..., window]
Shapes unfold(const NodeView& n) {
  CARINA_TRY(const size_t axis, axis_of(n.integer("dimension"), n.rank(0)));
  Sizes sizes = sizes_of(n.shape(0));
  const int64_t size = n.integer("size"), step = n.integer("step"), own = sizes.empty() ? 1 : sizes[axis];
  if (size < 0 || size > own || step < 1) return broken("windows of {} elements every {} of {}", size, step, own);
  if (!sizes.empty()) sizes[axis] = (own - size) / step + 1;
  sizes.push_back(size);
  return one(sizes);
}

struct Patches {
  std::array<int64_t, 2> windows;
  int64_t taps;
};

// The windows of im2col and col2im on an image of this size.
std::expected<Patches, std::string> patches_of(const NodeView& n, int64_t height, int64_t width) {
  const Sizes &kernel = n.ints("kernel_size"), &dilation = n.ints("dilation");
  const Sizes &padding = n.ints("padding"), &stride = n.ints("stride");
  for (const Sizes* list : {&kernel, &dilation, &padding, &stride}) {
    if (list->size() != 2) return broken("a list of {} numbers for 2 axes", list->size());
  }
  Patches patches{.windows = {height, width}, .taps = 1};
  for (size_t i = 0; i < 2; ++i) {
    const Window window{.kernel = kernel[i], .stride = stride[i], .padding = padding[i], .dilation = dilation[i]};
    CARINA_TRY(patches.windows[i], windows_in(patches.windows[i], window));
  }
  const auto taps = checked_mul(kernel[0], kernel[1]);
  if (!taps) return broken("a kernel of {} x {}", kernel[0], kernel[1]);
  patches.taps = *taps;
  return patches;
}

// [N,C,H,W] -> [N,C*taps,windows]; N may be absent
Shapes im2col(const NodeView& n) {
  Sizes sizes = sizes_of(n.shape(0));
  const size_t rank = sizes.size();
  if (rank != 3 && rank != 4) return broken("its operand has rank {}", rank);
  CARINA_TRY(const Patches patches, patches_of(n, sizes[rank - 2], sizes[rank - 1]));
  const auto channels = checked_mul(sizes[rank - 3], patches.taps);
  const auto windows = checked_mul(patches.windows[0], patches.windows[1]);
  if (!channels || !windows) return broken("its result is too large");
  sizes.resize(rank - 3);
  sizes.push_back(*channels);
  sizes.push_back(*windows);
  return one(sizes);
}

// [N,C*taps,windows] -> [N,C,H,W]
Shapes col2im(const NodeView& n) {
  Sizes sizes = sizes_of(n.shape(0));
  const Sizes& image = n.ints("output_size");
  const size_t rank = sizes.size();
  if ((rank != 2 && rank != 3) || image.size() != 2) return broken("its operand has rank {}", rank);
  CARINA_TRY(const Patches patches, patches_of(n, image[0], image[1]));
  if (sizes[rank - 2] % patches.taps != 0 || checked_mul(patches.windows[0], patches.windows[1]) != sizes[rank - 1])
    return broken("{} does not have {} taps of {} x {} windows", to_string(n.shape(0)), patches.taps,
                  patches.windows[0], patches.windows[1]);
  sizes[rank - 2] /= patches.taps;
  sizes.pop_back();
  sizes.insert(sizes.end(), image.begin(), image.end());
  return one(sizes);
}

Shapes flip(const NodeView& n) {
  CARINA_CHECKED(axes_of(n.ints("dims"), n.rank(0)));
  return one(n.shape(0));
}

Shapes roll(const NodeView& n) {
  const Sizes &shifts = n.ints("shifts"), &dims = n.ints("dims");
  for (const int64_t dim : dims) CARINA_CHECKED(axis_of(dim, n.rank(0)));
  if (shifts.size() != std::max<size_t>(dims.size(), 1))
    return broken("{} shifts of {} axes", shifts.size(), dims.size());
  return one(n.shape(0));
}

Shapes rot90(const NodeView& n) {
  Shape shape = n.shape(0);
  if (n.ints("dims").size() != 2 || shape.rank() < 2) return broken("it needs a plane of two axes");
  CARINA_TRY(const auto axes, axes_of(n.ints("dims"), shape.rank()));
  if (n.integer("k") % 2 != 0) std::swap(shape[axes[0]], shape[axes[1]]);
  return one(shape);
}

// Pairs of elements before and after an axis, from the last axis on; negative ones cut.
Shapes padded(const NodeView& n, const Sizes& pad) {
  Shape shape = n.shape(0);
  if (pad.size() % 2 != 0 || pad.size() / 2 > shape.rank())
    return broken("{} paddings of a tensor of rank {}", pad.size(), shape.rank());
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    int64_t& size = shape[shape.rank() - 1 - i];
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    if (before < -size || after < -size || size + before + after < 0)
      return broken("padding {} and {} of {} elements", before, after, size);
    size += before + after;
  }
  return one(shape);
}

Shapes pad_with_constant(const NodeView& n) {
  return padded(n, n.ints("pad"));
}

// reflect reads up to size - 1 elements, circular up to size, replicate one.
Shapes pad_with_own(const NodeView& n, const Sizes& pad, std::string_view mode) {
  const size_t axes = pad.size() / 2;
  if (n.rank(0) != axes + 1 && n.rank(0) != axes + 2)
    return broken("{} paddings of a tensor of rank {}", pad.size(), n.rank(0));
  CARINA_TRY(const auto shapes, padded(n, pad));
  for (size_t i = 0; i < pad.size(); ++i) {
    const int64_t size = n.shape(0)[n.rank(0) - 1 - i / 2];
    const bool fits = mode == "reflect" ? pad[i] < size : mode == "circular" ? pad[i] <= size : size > 0;
    if (!fits) return broken("{} padding {} of {} elements", mode, pad[i], size);
  }
  return shapes;
}
Shapes pad(const NodeView& n) {
  const auto& mode = n.node.attributes.get<std::string>("mode");
  if (mode == "constant") return pad_with_constant(n);
  if (mode != "reflect" && mode != "circular" && mode != "replicate") return broken("its mode is unknown");
  return pad_with_own(n, n.ints("pad"), mode);
}
template <size_t kAxes>
Shapes reflect(const NodeView& n) {
  if (n.ints("padding").size() != 2 * kAxes) return broken("{} paddings", n.ints("padding").size());
  return pad_with_own(n, n.ints("padding"), "reflect");
}
template <size_t kAxes>
Shapes replicate(const NodeView& n) {
  if (n.ints("padding").size() != 2 * kAxes) return broken("{} paddings", n.ints("padding").size());
  return pad_with_own(n, n.ints("padding"), "replicate");
}

Shapes triangle(const NodeView& n) {
  if (n.rank(0) < 2) return broken("its operand has rank {}", n.rank(0));
  return one(n.shape(0));
}

constexpr std::array kMovementRules = {
    Rule{AtenOp::slice_Tensor, read<shape_of_slice>, same_type},
    Rule{AtenOp::slice_copy_Tensor, read<shape_of_slice>, same_type},
    Rule{AtenOp::select_int, read<shape_of_element>, same_type},
    Rule{AtenOp::select_copy_int, read<shape_of_element>, same_type},
    Rule{AtenOp::diagonal_default, read<shape_of_diagonal>, same_type},
    Rule{AtenOp::diagonal_copy_default, read<shape_of_diagonal>, same_type},
    Rule{AtenOp::as_strided_default, read<shape_of_strided>, same_type},
    Rule{AtenOp::as_strided_copy_default, read<shape_of_strided>, same_type},
    Rule{AtenOp::narrow_default, narrow, same_type},
    Rule{AtenOp::narrow_copy_default, narrow, same_type},
    Rule{AtenOp::narrow_Tensor, narrow, same_type},
    Rule{AtenOp::repeat_default, repeat, same_type},
    Rule{AtenOp::tile_default, tile, same_type},
    Rule{AtenOp::repeat_interleave_Tensor, unchecked, unchecked_type},
    Rule{AtenOp::repeat_interleave_self_Tensor, repeat_elements, same_type},
    Rule{AtenOp::repeat_interleave_self_int, repeat_elements, same_type},
    Rule{AtenOp::unfold_default, unfold, same_type},
    Rule{AtenOp::unfold_copy_default, unfold, same_type},
    Rule{AtenOp::im2col_default, im2col, same_type},
    Rule{AtenOp::col2im_default, col2im, same_type},
    Rule{AtenOp::flip_default, flip, same_type},
    Rule{AtenOp::roll_default, roll, same_type},
    Rule{AtenOp::rot90_default, rot90, same_type},
    Rule{AtenOp::pad_default, pad, same_type},
    Rule{AtenOp::constant_pad_nd_default, pad_with_constant, same_type},
    Rule{AtenOp::reflection_pad1d_default, reflect<1>, same_type},
    Rule{AtenOp::reflection_pad2d_default, reflect<2>, same_type},
    Rule{AtenOp::reflection_pad3d_default, reflect<3>, same_type},
    Rule{AtenOp::replication_pad1d_default, replicate<1>, same_type},
    Rule{AtenOp::replication_pad2d_default, replicate<2>, same_type},
    Rule{AtenOp::replication_pad3d_default, replicate<3>, same_type},
    Rule{AtenOp::tril_default, triangle, same_type},
    Rule{AtenOp::triu_default, triangle, same_type},
};

}  // namespace

std::span<const Rule> movement_rules() {
  return kMovementRules;
}

}  // namespace carina::aten
