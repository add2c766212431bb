#include <array>

#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

namespace {

// One slope, or one for each channel.
Shapes prelu(const NodeView& n) {
  CARINA_CHECKED(expect_one_type(n, 1, 1));
  const Shape &x = n.shape(0), &slope = n.shape(1);
  const int64_t channels = x.rank() < 2 ? 1 : x[1];
  if (slope.rank() > 1 || (slope.elements() != 1 && slope.elements() != channels))
    return broken("slopes {} for {} channels", to_string(slope), channels);
  return one(x);
}

// copy, fill, masked values: other operands are broadcast to the first.
Shapes like_first(const NodeView& n) {
  for (size_t i = 1; i < n.node.inputs.size(); ++i) {
    if (n.has(i) && !broadcasts_to(n.shape(i), n.shape(0)))
      return broken("{} cannot be broadcast to {}", to_string(n.shape(i)), to_string(n.shape(0)));
  }
  return one(n.shape(0));
}

Shapes masked_fill(const NodeView& n) {
  if (n.dtype(1) != DType::kBool) return broken("its mask is of type {}", name_of(n.dtype(1)));
  if (n.has(2) && n.rank(2) != 0) return broken("its value has rank {}", n.rank(2));
  CARINA_TRY(const Shape shape, broadcast_shapes(n.shape(0), n.shape(1)));
  return one(shape);
}

// where(condition, a, b): a, b or both may be numbers among the attributes.
ResultType chosen(const NodeView& n, size_t result) {
  return n.node.inputs.size() == 1 ? unchecked_type(n, result) : promoted_after_first(n, result);
}

Shapes where(const NodeView& n) {
  if (n.dtype(0) != DType::kBool && n.dtype(0) != DType::kUInt8)
    return broken("its condition is of type {}", name_of(n.dtype(0)));
  return broadcast_of_all(n);
}

ResultType fp64_type(const NodeView&, size_t) {
  return {.dtype = DType::kFp64};
}

constexpr std::array kElementwiseRules = {
    Rule{AtenOp::prelu_default, prelu, same_type},
    Rule{AtenOp::isnan_default, same_as_first, bool_type},
    Rule{AtenOp::isinf_default, same_as_first, bool_type},
    Rule{AtenOp::isfinite_default, same_as_first, bool_type},
    Rule{AtenOp::signbit_default, same_as_first, bool_type},
    Rule{AtenOp::float_power_Tensor_Tensor, broadcast_of_all, fp64_type},
    Rule{AtenOp::float_power_Tensor_Scalar, same_as_first, fp64_type},
    Rule{AtenOp::float_power_Scalar, same_as_first, fp64_type},
    Rule{AtenOp::div_Tensor, broadcast_of_all, promoted_float},
    Rule{AtenOp::div_Scalar, same_as_first, promoted_float},
    Rule{AtenOp::true_divide_Tensor, broadcast_of_all, promoted_float},
    Rule{AtenOp::true_divide_Scalar, same_as_first, promoted_float},
    Rule{AtenOp::divide_Tensor, broadcast_of_all, promoted_float},
    Rule{AtenOp::divide_Scalar, same_as_first, promoted_float},
    Rule{AtenOp::atan2_default, broadcast_of_all, promoted_float},
    Rule{AtenOp::deg2rad_default, same_as_first, promoted_float},
    Rule{AtenOp::rad2deg_default, same_as_first, promoted_float},
    Rule{AtenOp::abs_default, same_as_first, same_type},
    Rule{AtenOp::neg_default, same_as_first, same_type},
    Rule{AtenOp::sign_default, same_as_first, same_type},
    Rule{AtenOp::ceil_default, same_as_first, same_type},
    Rule{AtenOp::floor_default, same_as_first, same_type},
    Rule{AtenOp::round_default, same_as_first, same_type},
    Rule{AtenOp::trunc_default, same_as_first, same_type},
    Rule{AtenOp::nan_to_num_default, same_as_first, same_type},
    Rule{AtenOp::div_Scalar_mode, same_as_first, quotient},
    Rule{AtenOp::divide_Scalar_mode, same_as_first, quotient},
    Rule{AtenOp::remainder_Scalar, same_as_first, promoted},
    Rule{AtenOp::fmod_Scalar, same_as_first, promoted},
    Rule{AtenOp::pow_Tensor_Scalar, same_as_first, promoted},
    Rule{AtenOp::pow_Scalar, same_as_first, promoted},
    Rule{AtenOp::threshold_default, same_as_first, same_type},
    Rule{AtenOp::frac_default, same_as_first, same_type},
    Rule{AtenOp::round_decimals, same_as_first, same_type},
    Rule{AtenOp::hardtanh_default, same_as_first, same_type},
    Rule{AtenOp::eq_Tensor, broadcast_of_all, bool_type},
    Rule{AtenOp::eq_Scalar, same_as_first, bool_type},
    Rule{AtenOp::ne_Tensor, broadcast_of_all, bool_type},
    Rule{AtenOp::ne_Scalar, same_as_first, bool_type},
    Rule{AtenOp::lt_Tensor, broadcast_of_all, bool_type},
    Rule{AtenOp::lt_Scalar, same_as_first, bool_type},
    Rule{AtenOp::le_Tensor, broadcast_of_all, bool_type},
    Rule{AtenOp::le_Scalar, same_as_first, bool_type},
    Rule{AtenOp::gt_Tensor, broadcast_of_all, bool_type},
    Rule{AtenOp::gt_Scalar, same_as_first, bool_type},
    Rule{AtenOp::ge_Tensor, broadcast_of_all, bool_type},
    Rule{AtenOp::ge_Scalar, same_as_first, bool_type},
    Rule{AtenOp::logical_and_default, broadcast_of_all, bool_type},
    Rule{AtenOp::logical_or_default, broadcast_of_all, bool_type},
    Rule{AtenOp::logical_xor_default, broadcast_of_all, bool_type},
    Rule{AtenOp::logical_not_default, same_as_first, bool_type},
    Rule{AtenOp::where_self, where, chosen},
    Rule{AtenOp::where_ScalarOther, where, chosen},
    Rule{AtenOp::where_ScalarSelf, where, chosen},
    Rule{AtenOp::where_Scalar, where, chosen},
    Rule{AtenOp::where_default, unchecked, index_type},
    Rule{AtenOp::masked_fill_Scalar, masked_fill, same_type},
    Rule{AtenOp::masked_fill_Tensor, masked_fill, same_type},
    Rule{AtenOp::copy_default, like_first, same_type},
    Rule{AtenOp::fill_Tensor, like_first, same_type},
    Rule{AtenOp::lerp_Scalar, broadcast_of_all, same_type},
    Rule{AtenOp::lerp_Tensor, broadcast_of_all, same_type},
};

}  // namespace

std::span<const Rule> elementwise_rules() {
  return kElementwiseRules;
}

}  // namespace carina::aten
