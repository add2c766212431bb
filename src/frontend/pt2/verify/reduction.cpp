#include <array>

#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

namespace {

// The shape without these axes, or with size 1 in their place.
Shape reduced(const Shape& shape, const std::vector<size_t>& axes, bool keeps_axes) {
  Sizes sizes;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const bool gone = std::ranges::find(axes, i) != axes.end();
    if (!gone) sizes.push_back(shape[i]);
    if (gone && keeps_axes) sizes.push_back(1);
  }
  return Shape(sizes);
}

bool keeps_axes(const NodeView& n) {
  return n.node.attributes.find("keepdim") != nullptr && n.flag("keepdim");
}

Shapes for_each_result(const NodeView& n, const Shape& shape) {
  return std::vector<std::optional<Shape>>(n.node.outputs.size(), shape);
}

Shapes over_all(const NodeView& n) {
  return for_each_result(n, Shape{});
}

// Over the axes of the list `dim`; over all if it is None or empty.
Shapes over_list(const NodeView& n) {
  CARINA_TRY(std::vector<size_t> axes, axes_of(n.ints("dim"), n.rank(0)));
  if (axes.empty()) {
    for (size_t i = 0; i < n.rank(0); ++i) axes.push_back(i);
  }
  return for_each_result(n, reduced(n.shape(0), axes, keeps_axes(n)));
}

// Over the axis `dim`; over all if it is None.
Shapes over_axis(const NodeView& n) {
  std::vector<size_t> axes;
  for (size_t i = 0; n.is_none("dim") && i < n.rank(0); ++i) axes.push_back(i);
  if (!n.is_none("dim")) {
    CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0)));
    axes.push_back(axis);
  }
  return for_each_result(n, reduced(n.shape(0), axes, keeps_axes(n)));
}

// As over_axis(), of at least one element.
Shapes over_elements(const NodeView& n) {
  if (n.is_none("dim") && n.shape(0).elements() == 0) return broken("its operand has no elements");
  if (!n.is_none("dim")) {
    CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0)));
    if (n.rank(0) > 0 && n.shape(0)[axis] == 0) return broken("its axis has no elements");
  }
  return over_axis(n);
}

// cumsum, sort: results have the operand's shape.
Shapes along_axis(const NodeView& n) {
  CARINA_CHECKED(axis_of(n.integer("dim"), n.rank(0)));
  return for_each_result(n, n.shape(0));
}

Shapes topk(const NodeView& n) {
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0)));
  Shape shape = n.shape(0);
  const int64_t k = n.integer("k"), size = shape.rank() == 0 ? 1 : shape[axis];
  if (k < 0 || k > size) return broken("{} of {} elements", k, size);
  if (shape.rank() > 0) shape[axis] = k;
  return for_each_result(n, shape);
}

Shapes kthvalue(const NodeView& n) {
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0)));
  const int64_t k = n.integer("k"), size = n.rank(0) == 0 ? 1 : n.shape(0)[axis];
  if (k < 1 || k > size) return broken("element {} of {}", k, size);
  return over_axis(n);
}

Shapes pairwise_distance(const NodeView& n) {
  CARINA_TRY(const Shape shape, broadcast_shapes(n.shape(0), n.shape(1)));
  if (shape.rank() == 0) return broken("its operands have no axis");
  return one(reduced(shape, {shape.rank() - 1}, keeps_axes(n)));
}

// linalg_norm of matrices for some orders, of vectors for others: both reduce the listed axes, or all.
ResultType asked_or_float(const NodeView& n, size_t result) {
  const ResultType type = asked_or_same(n, result);
  if (type.instead == ResultType::Instead::kAnything || is_float(type.dtype)) return type;
  return unchecked_type(n, result);
}

ResultType any_type(const NodeView& n, size_t result) {
  return n.has(0) && n.dtype(0) == DType::kUInt8 ? unchecked_type(n, result) : bool_type(n, result);
}

ResultType float_sum(const NodeView& n, size_t result) {
  const ResultType own = same_type(n, result);
  return is_float(own.dtype) ? own : ResultType{.dtype = DType::kFp32, .instead = ResultType::Instead::kAnyFloat};
}

constexpr std::array kReductionRules = {
    Rule{AtenOp::sum_dim_IntList, over_list, asked_or_sum},
    Rule{AtenOp::sum_default, over_all, asked_or_sum},
    Rule{AtenOp::mean_default, over_all, asked_or_float},
    Rule{AtenOp::mean_dim, over_list, asked_or_float},
    Rule{AtenOp::amax_default, over_list, same_type},
    Rule{AtenOp::amin_default, over_list, same_type},
    Rule{AtenOp::max_other, broadcast_of_all, promoted},
    Rule{AtenOp::min_other, broadcast_of_all, promoted},
    Rule{AtenOp::max_default, over_all, same_type},
    Rule{AtenOp::min_default, over_all, same_type},
    Rule{AtenOp::max_dim, over_elements, values_and_indices},
    Rule{AtenOp::min_dim, over_elements, values_and_indices},
    Rule{AtenOp::argmax_default, over_elements, index_type},
    Rule{AtenOp::argmin_default, over_elements, index_type},
    Rule{AtenOp::prod_default, over_all, asked_or_sum},
    Rule{AtenOp::prod_dim_int, over_axis, asked_or_sum},
    Rule{AtenOp::var_default, over_all, same_type},
    Rule{AtenOp::var_dim, over_list, same_type},
    Rule{AtenOp::var_correction, over_list, same_type},
    Rule{AtenOp::std_default, over_all, same_type},
    Rule{AtenOp::std_dim, over_list, same_type},
    Rule{AtenOp::std_correction, over_list, same_type},
    Rule{AtenOp::var_mean_default, over_all, same_type},
    Rule{AtenOp::var_mean_dim, over_list, same_type},
    Rule{AtenOp::var_mean_correction, over_list, same_type},
    Rule{AtenOp::std_mean_default, over_all, same_type},
    Rule{AtenOp::std_mean_dim, over_list, same_type},
    Rule{AtenOp::std_mean_correction, over_list, same_type},
    Rule{AtenOp::norm_Scalar, over_all, same_type},
    Rule{AtenOp::norm_ScalarOpt_dim, over_list, same_type},
    Rule{AtenOp::norm_ScalarOpt_dim_dtype, over_list, asked_or_same},
    Rule{AtenOp::norm_ScalarOpt_dtype, over_all, asked_or_same},
    Rule{AtenOp::linalg_vector_norm_default, over_list, asked_or_same},
    Rule{AtenOp::linalg_norm_default, over_list, asked_or_same},
    Rule{AtenOp::logsumexp_default, over_list, float_sum},
    Rule{AtenOp::cumsum_default, along_axis, asked_or_sum},
    Rule{AtenOp::cumprod_default, along_axis, asked_or_sum},
    Rule{AtenOp::aminmax_default, over_elements, same_type},
    Rule{AtenOp::topk_default, topk, values_and_indices},
    Rule{AtenOp::sort_default, along_axis, values_and_indices},
    Rule{AtenOp::sort_stable, along_axis, values_and_indices},
    Rule{AtenOp::argsort_default, along_axis, index_type},
    Rule{AtenOp::argsort_stable, along_axis, index_type},
    Rule{AtenOp::median_default, over_all, same_type},
    Rule{AtenOp::median_dim, over_elements, values_and_indices},
    Rule{AtenOp::kthvalue_default, kthvalue, values_and_indices},
    Rule{AtenOp::pairwise_distance_default, pairwise_distance, promoted},
    Rule{AtenOp::any_default, over_all, any_type},
    Rule{AtenOp::any_dim, over_axis, any_type},
    Rule{AtenOp::any_dims, over_list, any_type},
    Rule{AtenOp::all_default, over_all, any_type},
    Rule{AtenOp::all_dim, over_axis, any_type},
    Rule{AtenOp::all_dims, over_list, any_type},
};

}  // namespace

std::span<const Rule> reduction_rules() {
  return kReductionRules;
}

}  // namespace carina::aten
