#include <array>
#include <numeric>

#include "base/checked_math.h"
#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

namespace {

// The sizes with -1 replaced by what is left of this many elements.
std::expected<Sizes, std::string> with_inferred(Sizes sizes, int64_t elements) {
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && !open) {
      open = i;
      continue;
    }
    const auto product = sizes[i] < 0 ? std::nullopt : checked_mul(known, sizes[i]);
    if (!product) return broken("size {}", sizes[i]);
    known = *product;
  }
  if (open) {
    if (known == 0 || elements % known != 0) return broken("{} elements in rows of {}", elements, known);
    sizes[*open] = elements / known;
    known = elements;
  }
  if (known != elements) return broken("{} elements become {}", elements, known);
  return sizes;
}

Shapes view_as(const NodeView& n, const Sizes& sizes) {
  CARINA_TRY(const Sizes inferred, with_inferred(sizes, n.shape(0).elements()));
  return one(inferred);
}
Shapes view(const NodeView& n) {
  return view_as(n, n.ints("size"));
}
Shapes reshape(const NodeView& n) {
  return view_as(n, n.ints("shape"));
}
Shapes view_like_other(const NodeView& n) {
  return view_as(n, sizes_of(n.shape(1)));
}

// The bits as another type: the last axis shrinks or grows with the width of an element.
Shapes view_of_bits(const NodeView& n) {
  const auto before = static_cast<int64_t>(element_bytes(n.dtype(0)));
  const auto after = static_cast<int64_t>(element_bytes(n.node.attributes.get<DType>("dtype")));
  Sizes sizes = sizes_of(n.shape(0));
  if (before == after) return one(sizes);
  if (sizes.empty() || sizes.back() * before % after != 0)
    return broken("elements of {} bytes as elements of {}", before, after);
  sizes.back() = sizes.back() * before / after;
  return one(sizes);
}

Shapes flatten(const NodeView& n) {
  if (n.rank(0) == 0) return one(Sizes{1});
  CARINA_TRY(const size_t first, axis_of(n.integer("start_dim"), n.rank(0)));
  CARINA_TRY(const size_t last, axis_of(n.integer("end_dim"), n.rank(0)));
  if (first > last) return broken("axes {} to {}", first, last);
  Sizes sizes;
  for (size_t i = 0; i < n.rank(0); ++i) {
    if (i > first && i <= last) {
      sizes.back() *= n.shape(0)[i];
    } else {
      sizes.push_back(n.shape(0)[i]);
    }
  }
  return one(sizes);
}

Shapes unflatten(const NodeView& n) {
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0)));
  Sizes sizes = sizes_of(n.shape(0));
  if (sizes.empty()) return broken("its operand has no axis");
  CARINA_TRY(const Sizes parts, with_inferred(n.ints("sizes"), sizes[axis]));
  const auto at = sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(axis));
  sizes.insert(at, parts.begin(), parts.end());
  return one(sizes);
}

Shapes without_ones(const Shape& shape, const std::vector<size_t>& axes) {
  Sizes sizes;
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1 || std::ranges::find(axes, i) == axes.end()) sizes.push_back(shape[i]);
  }
  return one(sizes);
}

Shapes squeeze(const NodeView& n) {
  std::vector<size_t> axes(n.rank(0));
  std::iota(axes.begin(), axes.end(), size_t{0});
  return without_ones(n.shape(0), axes);
}
Shapes squeeze_axis(const NodeView& n) {
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0)));
  return without_ones(n.shape(0), {axis});
}
Shapes squeeze_axes(const NodeView& n) {
  CARINA_TRY(const std::vector<size_t> axes, axes_of(n.ints("dim"), n.rank(0)));
  return without_ones(n.shape(0), axes);
}

Shapes unsqueeze(const NodeView& n) {
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0) + 1));
  Sizes sizes = sizes_of(n.shape(0));
  sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(axis), 1);
  return one(sizes);
}

Shapes permuted(const NodeView& n, const std::vector<size_t>& order) {
  if (order.size() != n.rank(0)) return broken("{} axes of a tensor of rank {}", order.size(), n.rank(0));
  Sizes sizes;
  for (const size_t axis : order) sizes.push_back(n.shape(0)[axis]);
  return one(sizes);
}

Shapes permute(const NodeView& n) {
  CARINA_TRY(const std::vector<size_t> order, axes_of(n.ints("dims"), n.rank(0)));
  return permuted(n, order);
}

Shapes exchanged(const NodeView& n, int64_t a, int64_t b) {
  CARINA_TRY(const size_t first, axis_of(a, n.rank(0)));
  CARINA_TRY(const size_t second, axis_of(b, n.rank(0)));
  Shape shape = n.shape(0);
  if (shape.rank() > 0) std::swap(shape[first], shape[second]);
  return one(shape);
}
Shapes transpose(const NodeView& n) {
  return exchanged(n, n.integer("dim0"), n.integer("dim1"));
}
Shapes swapaxes(const NodeView& n) {
  return exchanged(n, n.integer("axis0"), n.integer("axis1"));
}
Shapes transpose_matrix(const NodeView& n) {
  if (n.rank(0) > 2) return broken("its operand has rank {}", n.rank(0));
  return n.rank(0) < 2 ? one(n.shape(0)) : exchanged(n, 0, 1);
}
Shapes transpose_matrices(const NodeView& n) {
  if (n.rank(0) == 1) return broken("its operand has rank 1");
  return n.rank(0) == 0 ? one(n.shape(0)) : exchanged(n, -2, -1);
}
Shapes reverse_axes(const NodeView& n) {
  Sizes sizes = sizes_of(n.shape(0));
  std::ranges::reverse(sizes);
  return one(sizes);
}

Shapes moved(const NodeView& n, const Sizes& source, const Sizes& destination) {
  CARINA_TRY(const std::vector<size_t> from, axes_of(source, n.rank(0)));
  CARINA_TRY(const std::vector<size_t> to, axes_of(destination, n.rank(0)));
  if (from.size() != to.size()) return broken("{} axes go to {} places", from.size(), to.size());
  if (n.rank(0) == 0) return one(n.shape(0));
  std::vector<std::optional<size_t>> order(n.rank(0));
  for (size_t i = 0; i < from.size(); ++i) order[to[i]] = from[i];
  Sizes sizes;
  size_t next = 0;
  for (const auto& axis : order) {
    while (!axis && std::ranges::find(from, next) != from.end()) ++next;
    sizes.push_back(n.shape(0)[axis ? *axis : next++]);
  }
  return one(sizes);
}
Shapes move_axis(const NodeView& n) {
  return moved(n, {n.integer("source")}, {n.integer("destination")});
}
Shapes move_axes(const NodeView& n) {
  return moved(n, n.ints("source"), n.ints("destination"));
}

// Sizes of 1 grow; -1 keeps a size.
Shapes expanded(const NodeView& n, Sizes sizes) {
  const Shape& x = n.shape(0);
  if (sizes.size() < x.rank()) return broken("{} sizes for a tensor of rank {}", sizes.size(), x.rank());
  const size_t offset = sizes.size() - x.rank();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t own = i < offset ? 1 : x[i - offset];
    if (sizes[i] == -1 && i >= offset) sizes[i] = own;
    if (sizes[i] < 0 || (own != 1 && own != sizes[i])) return broken("size {} cannot become {}", own, sizes[i]);
  }
  return one(sizes);
}
Shapes expand(const NodeView& n) {
  return expanded(n, n.ints("size"));
}
Shapes expand_like_other(const NodeView& n) {
  return expanded(n, sizes_of(n.shape(1)));
}

constexpr std::array kViewRules = {
    Rule{AtenOp::view_default, view, same_type},
    Rule{AtenOp::view_copy_default, view, same_type},
    Rule{AtenOp::_unsafe_view_default, view, same_type},
    Rule{AtenOp::reshape_default, reshape, same_type},
    Rule{AtenOp::view_as_default, view_like_other, same_type},
    Rule{AtenOp::reshape_as_default, view_like_other, same_type},
    Rule{AtenOp::view_dtype, view_of_bits, asked_or_same},
    Rule{AtenOp::view_copy_dtype, view_of_bits, asked_or_same},
    Rule{AtenOp::flatten_using_ints, flatten, same_type},
    Rule{AtenOp::unflatten_int, unflatten, same_type},
    Rule{AtenOp::squeeze_default, squeeze, same_type},
    Rule{AtenOp::squeeze_copy_default, squeeze, same_type},
    Rule{AtenOp::squeeze_dim, squeeze_axis, same_type},
    Rule{AtenOp::squeeze_copy_dim, squeeze_axis, same_type},
    Rule{AtenOp::squeeze_dims, squeeze_axes, same_type},
    Rule{AtenOp::squeeze_copy_dims, squeeze_axes, same_type},
    Rule{AtenOp::unsqueeze_default, unsqueeze, same_type},
    Rule{AtenOp::unsqueeze_copy_default, unsqueeze, same_type},
    Rule{AtenOp::permute_default, permute, same_type},
    Rule{AtenOp::permute_copy_default, permute, same_type},
    Rule{AtenOp::transpose_int, transpose, same_type},
    Rule{AtenOp::transpose_copy_int, transpose, same_type},
    Rule{AtenOp::swapdims_default, transpose, same_type},
    Rule{AtenOp::swapaxes_default, swapaxes, same_type},
    Rule{AtenOp::t_default, transpose_matrix, same_type},
    Rule{AtenOp::t_copy_default, transpose_matrix, same_type},
    Rule{AtenOp::numpy_T_default, reverse_axes, same_type},
    Rule{AtenOp::numpy_T_a, reverse_axes, same_type},
    Rule{AtenOp::mT_default, transpose_matrices, same_type},
    Rule{AtenOp::mH_default, transpose_matrices, same_type},
    Rule{AtenOp::adjoint_default, transpose_matrices, same_type},
    Rule{AtenOp::matrix_H_default, transpose_matrices, same_type},
    Rule{AtenOp::moveaxis_int, move_axis, same_type},
    Rule{AtenOp::movedim_int, move_axis, same_type},
    Rule{AtenOp::moveaxis_intlist, move_axes, same_type},
    Rule{AtenOp::movedim_intlist, move_axes, same_type},
    Rule{AtenOp::expand_default, expand, same_type},
    Rule{AtenOp::expand_copy_default, expand, same_type},
    Rule{AtenOp::broadcast_to_default, expand, same_type},
    Rule{AtenOp::expand_as_default, expand_like_other, same_type},
    Rule{AtenOp::view_as_real_default, unchecked, unchecked_type},
};

}  // namespace

std::span<const Rule> view_rules() {
  return kViewRules;
}

}  // namespace carina::aten
