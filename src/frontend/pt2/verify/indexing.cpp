#include <array>

#include "frontend/pt2/verify/rule.h"
#include "frontend/pt2/verify/slices.h"

namespace carina::aten {

namespace {

bool is_index(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kInt32;
}

std::expected<void, std::string> expect_index(const NodeView& n, size_t operand) {
  if (is_index(n.dtype(operand))) return {};
  return broken("its index is of type {}", name_of(n.dtype(operand)));
}

// The shape of x[i, j, ...], where `count` operands from the second on are tensors or None. No value: an index is a
// mask, so the shape depends on the data.
std::expected<std::optional<Shape>, std::string> indexed(const NodeView& n, size_t count) {
  const Shape& x = n.shape(0);
  Sizes sizes;  // of the axes without an index
  Shape picked;
  std::optional<size_t> first, last;  // the operands that are indices
  size_t place = 0;                   // of the picked axes among `sizes`
  bool mask = false;
  size_t axis = 0;
  for (size_t i = 1; i <= count; ++i) {
    if (!n.has(i)) {
      if (axis >= x.rank()) return broken("{} indices for {}", count, to_string(x));
      sizes.push_back(x[axis++]);
      continue;
    }
    if (!first) {
      first = i;
      place = sizes.size();
    } else if (*last + 1 != i) {
      place = 0;  // with axes between the indices, the picked axes come first
    }
    last = i;
    const bool is_mask = n.dtype(i) == DType::kBool || n.dtype(i) == DType::kUInt8;
    if (!is_mask) CARINA_CHECKED(expect_index(n, i));
    const size_t axes = is_mask ? n.rank(i) : 1;
    if (axis + axes > x.rank()) return broken("{} indices for {}", count, to_string(x));
    if (is_mask && !std::ranges::equal(n.shape(i).dims(), x.dims().subspan(axis, axes)))
      return broken("a mask {} of {}", to_string(n.shape(i)), to_string(x));
    mask |= is_mask;
    axis += axes;
    if (!is_mask) {
      CARINA_TRY(picked, broadcast_shapes(picked, n.shape(i)));
    }
  }
  if (!first) return broken("it has no index");
  if (mask) return std::nullopt;
  for (; axis < x.rank(); ++axis) sizes.push_back(x[axis]);
  sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(place), picked.dims().begin(), picked.dims().end());
  if (sizes.size() > Shape::kMaxRank) return broken("its result has {} axes", sizes.size());
  return Shape(sizes);
}

Shapes index(const NodeView& n) {
  CARINA_TRY(const std::optional<Shape> shape, indexed(n, n.node.inputs.size() - 1));
  return std::vector{shape};
}

Shapes index_put(const NodeView& n) {
  const size_t values = n.node.inputs.size() - 1;
  CARINA_CHECKED(expect_one_type(n, values, values));
  CARINA_TRY(const std::optional<Shape> shape, indexed(n, values - 1));
  if (shape && !broadcasts_to(n.shape(values), *shape))
    return broken("values {} for {}", to_string(n.shape(values)), to_string(*shape));
  return one(n.shape(0));
}

// The shape with as many elements along `dim` as the index has.
std::expected<Shape, std::string> selected(const NodeView& n) {
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0)));
  CARINA_CHECKED(expect_index(n, 1));
  if (n.rank(1) > 1) return broken("its index has rank {}", n.rank(1));
  Shape shape = n.shape(0);
  if (shape.rank() > 0) shape[axis] = n.shape(1).elements();
  return shape;
}

Shapes index_select(const NodeView& n) {
  CARINA_TRY(const Shape shape, selected(n));
  return one(shape);
}

// index_copy, index_add: the source has the shape of the selection.
Shapes write_selection(const NodeView& n) {
  CARINA_TRY(const Shape shape, selected(n));
  CARINA_CHECKED(expect_one_type(n, 2, 2));
  const bool scalar_for_one = n.rank(2) == 0 && shape.elements() == 1;
  if (n.shape(2) != shape && !scalar_for_one)
    return broken("its source is {}, not {}", to_string(n.shape(2)), to_string(shape));
  return one(n.shape(0));
}

Shapes fill_selection(const NodeView& n) {
  CARINA_CHECKED(selected(n));
  if (n.has(2) && n.rank(2) != 0) return broken("its value has rank {}", n.rank(2));
  return one(n.shape(0));
}

// gather and scatter: an index of the tensor's rank that is not larger, except along `dim` if `free`.
std::expected<void, std::string> check_index(const NodeView& n, size_t tensor, bool free) {
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0)));
  CARINA_CHECKED(expect_index(n, 1));
  const Shape &x = n.shape(tensor), &index = n.shape(1);
  if (index.elements() == 0) return {};
  if (std::max<size_t>(x.rank(), 1) != std::max<size_t>(index.rank(), 1))
    return broken("an index {} of {}", to_string(index), to_string(x));
  for (size_t i = 0; i < std::min(x.rank(), index.rank()); ++i) {
    if (index[i] > x[i] && !(free && i == axis)) return broken("an index {} of {}", to_string(index), to_string(x));
  }
  return {};
}

Shapes gather(const NodeView& n) {
  CARINA_CHECKED(check_index(n, 0, true));
  if (n.shape(1).elements() != 0 && n.shape(0).elements() == 0) return broken("its operand has no elements");
  return one(n.shape(1));
}

Shapes scatter(const NodeView& n) {
  CARINA_CHECKED(check_index(n, 0, true));
  if (n.has(2)) {
    CARINA_CHECKED(check_index(n, 2, false));
    CARINA_CHECKED(expect_one_type(n, 2, 2));
  }
  return one(n.shape(0));
}

template <std::expected<Shape, std::string> (*kShape)(const NodeView&)>
Shapes write(const NodeView& n) {
  CARINA_TRY(const Shape shape, kShape(n));
  if (n.shape(1) != shape) return broken("its source is {}, not {}", to_string(n.shape(1)), to_string(shape));
  return one(n.shape(0));
}

Shapes slice_scatter(const NodeView& n) {
  CARINA_TRY(const Shape shape, shape_of_slice(n));
  if (!broadcasts_to(n.shape(1), shape))
    return broken("its source is {}, not {}", to_string(n.shape(1)), to_string(shape));
  return one(n.shape(0));
}

Shapes masked_select(const NodeView& n) {
  CARINA_CHECKED(broadcast_shapes(n.shape(0), n.shape(1)));
  return unchecked(n);
}

Shapes masked_scatter(const NodeView& n) {
  if (n.dtype(1) != DType::kBool) return broken("its mask is of type {}", name_of(n.dtype(1)));
  CARINA_TRY(const Shape shape, broadcast_shapes(n.shape(0), n.shape(1)));
  return one(shape);
}

// Rows of a matrix.
Shapes embedding(const NodeView& n) {
  if (n.rank(0) != 2) return broken("its weights have rank {}", n.rank(0));
  CARINA_CHECKED(expect_index(n, 1));
  Sizes sizes = sizes_of(n.shape(1));
  sizes.push_back(n.shape(0)[1]);
  return one(sizes);
}

Shapes one_hot(const NodeView& n) {
  CARINA_CHECKED(expect_index(n, 0));
  const int64_t classes = n.integer("num_classes");
  if (classes < -1 || classes == 0) return broken("{} classes", classes);
  if (classes < 0) return unchecked(n);
  Sizes sizes = sizes_of(n.shape(0));
  sizes.push_back(classes);
  return one(sizes);
}

Shapes take(const NodeView& n) {
  CARINA_CHECKED(expect_index(n, 1));
  return one(n.shape(1));
}

Shapes take_along_dim(const NodeView& n) {
  CARINA_CHECKED(expect_index(n, 1));
  Shape x = n.shape(0), indices = n.shape(1);
  if (n.is_none("dim")) return one(Sizes{indices.elements()});
  if (x.rank() != indices.rank()) return broken("an index {} of {}", to_string(indices), to_string(x));
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), x.rank()));
  if (x.rank() == 0) return one(x);
  x[axis] = 1;
  const int64_t count = indices[axis];
  indices[axis] = 1;
  CARINA_TRY(Shape shape, broadcast_shapes(x, indices));
  shape[axis] = count;
  return one(shape);
}

constexpr std::array kIndexingRules = {
    Rule{AtenOp::index_Tensor, index, same_type},
    Rule{AtenOp::index_Tensor_hacked_twin, index, same_type},
    Rule{AtenOp::_unsafe_index_Tensor, index, same_type},
    Rule{AtenOp::_unsafe_index_Tensor_hacked_twin, index, same_type},
    Rule{AtenOp::index_put_default, index_put, same_type},
    Rule{AtenOp::index_put_hacked_twin, index_put, same_type},
    Rule{AtenOp::_unsafe_index_put_default, index_put, same_type},
    Rule{AtenOp::_unsafe_index_put_hacked_twin, index_put, same_type},
    Rule{AtenOp::index_select_default, index_select, same_type},
    Rule{AtenOp::index_copy_default, write_selection, same_type},
    Rule{AtenOp::index_add_default, write_selection, same_type},
    Rule{AtenOp::index_fill_int_Tensor, fill_selection, same_type},
    Rule{AtenOp::index_fill_int_Scalar, fill_selection, same_type},
    Rule{AtenOp::gather_default, gather, same_type},
    Rule{AtenOp::scatter_value, scatter, same_type},
    Rule{AtenOp::scatter_src, scatter, same_type},
    Rule{AtenOp::scatter_reduce, scatter, same_type},
    Rule{AtenOp::scatter_value_reduce, scatter, same_type},
    Rule{AtenOp::scatter_add_default, scatter, same_type},
    Rule{AtenOp::select_scatter_default, write<shape_of_element>, same_type},
    Rule{AtenOp::slice_scatter_default, slice_scatter, same_type},
    Rule{AtenOp::diagonal_scatter_default, write<shape_of_diagonal>, same_type},
    Rule{AtenOp::as_strided_scatter_default, write<shape_of_strided>, same_type},
    Rule{AtenOp::masked_select_default, masked_select, same_type},
    Rule{AtenOp::masked_scatter_default, masked_scatter, same_type},
    Rule{AtenOp::embedding_default, embedding, same_type},
    Rule{AtenOp::one_hot_default, one_hot, index_type},
    Rule{AtenOp::take_default, take, same_type},
    Rule{AtenOp::take_along_dim_default, take_along_dim, same_type},
};

}  // namespace

std::span<const Rule> indexing_rules() {
  return kIndexingRules;
}

}  // namespace carina::aten
