// Decomposes variances, standard deviations and vector norms.

#include <cmath>
#include <optional>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"

namespace carina::normalize {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

Centered center(Rewriter& in, ValueId x, const std::vector<size_t>& axes) {
  const Shape shape = in.shape(x);
  const ValueId mean = in.make(AtenOp::mean_dim, {x}, over(axes), kept_shape(shape, axes));
  const ValueId value = in.make(AtenOp::sub_Tensor, {x, mean}, no_alpha(), shape);
  return {.value = value, .square = in.make(AtenOp::mul_Tensor, {value, value}, {}, shape)};
}

namespace {

// A vector norm along axes of a value, computed in fp32.
struct Length {
  ValueId x;
  double order;
  std::vector<size_t> axes;
};

// The norm: Euclidean; the sum, the largest or the smallest of the magnitudes; or (sum |x|^p)^(1/p). Reduced axes stay
// with size 1.
ValueId length_of(Rewriter& in, const Length& length) {
  const Shape shape = in.shape(length.x), kept = kept_shape(shape, length.axes);
  const auto total = [&](ValueId x) { return in.make(AtenOp::sum_dim_IntList, {x}, over(length.axes), kept); };
  if (length.order == 2) {
    const ValueId square = in.make(AtenOp::mul_Tensor, {length.x, length.x}, {}, shape);
    return in.make(AtenOp::sqrt_default, {total(square)}, {}, kept);
  }
  const ValueId magnitude = in.make(AtenOp::abs_default, {length.x}, {}, shape);
  if (length.order == 1) return total(magnitude);
  if (std::isinf(length.order))
    return in.make(length.order > 0 ? AtenOp::amax_default : AtenOp::amin_default, {magnitude},
                   over_extremum(length.axes), kept);
  const ValueId power = in.make(AtenOp::pow_Tensor_Scalar, {magnitude}, {{"exponent", length.order}}, shape);
  return in.make(AtenOp::pow_Tensor_Scalar, {total(power)}, {{"exponent", 1 / length.order}}, kept);
}

bool is_length(const Rewriter& in, const Node& node, double order) {
  return is_fp32(in, node) && in[node.outputs[0]].dtype == DType::kFp32 && order != 0 && !std::isnan(order);
}

Result<bool> vector_norm(Rewriter& in, const Node& node) {
  const double order = node.attributes.number("ord");
  if (!is_length(in, node, order)) return false;
  const std::vector<size_t> axes = reduced_axes(node.attributes, "dim", in.shape(node.inputs[0]).rank());
  return rewritten(in.view_into(node.outputs[0], length_of(in, {.x = node.inputs[0], .order = order, .axes = axes})));
}

// The default order is 2, and the default axes are all axes.
Result<bool> norm(Rewriter& in, const Node& node) {
  const double order = node.attributes.is_none("p") ? 2 : node.attributes.number("p");
  const size_t rank = in.shape(node.inputs[0]).rank();
  if (!is_length(in, node, order)) return false;
  const bool all = node.attributes.find("dim") == nullptr;
  const std::vector<size_t> axes =
      all ? reduced_axes({{"dim", std::monostate()}}, "dim", rank) : reduced_axes(node.attributes, "dim", rank);
  return rewritten(in.view_into(node.outputs[0], length_of(in, {.x = node.inputs[0], .order = order, .axes = axes})));
}

// The norm of a vector or of all elements. A matrix norm is another operator.
Result<bool> linalg_norm(Rewriter& in, const Node& node) {
  const bool no_order = node.attributes.is_none("ord");
  const double order = no_order ? 2 : node.attributes.number("ord");
  const std::vector<size_t> axes = reduced_axes(node.attributes, "dim", in.shape(node.inputs[0]).rank());
  if (!is_length(in, node, order) || (!no_order && axes.size() != 1)) return false;
  return rewritten(in.view_into(node.outputs[0], length_of(in, {.x = node.inputs[0], .order = order, .axes = axes})));
}

// The norm of x1 - x2 + eps along the last axis.
Result<bool> pairwise_distance(Rewriter& in, const Node& node) {
  const double order = node.attributes.number("p");
  const auto shape = broadcast(in.shape(node.inputs[0]), in.shape(node.inputs[1]));
  if (!is_length(in, node, order) || !shape || shape->rank() == 0) return false;
  const ValueId difference = in.make(AtenOp::sub_Tensor, node.inputs, no_alpha(), *shape);
  const ValueId safe = in.make(AtenOp::add_Tensor, {difference, in.scalar(node.attributes.number("eps"), DType::kFp32)},
                               no_alpha(), *shape);
  const ValueId length = length_of(in, {.x = safe, .order = order, .axes = {shape->rank() - 1}});
  return rewritten(in.view_into(node.outputs[0], length));
}

double correction_of(const Attributes& attributes) {
  if (attributes.find("unbiased") != nullptr) return attributes.get<bool>("unbiased") ? 1 : 0;
  return attributes.is_none("correction") ? 1 : attributes.number("correction");
}

// The variance; reduced axes stay with size 1. No value if it is undefined.
std::optional<ValueId> kept_variance(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  if (in[node.inputs[0]].dtype != DType::kFp32) return std::nullopt;
  const std::vector<size_t> axes = reduced_axes(node.attributes, "dim", shape.rank());
  const Shape kept = kept_shape(shape, axes);
  const double count =
      static_cast<double>(shape.elements()) / static_cast<double>(std::max<int64_t>(kept.elements(), 1));
  const double divisor = count - correction_of(node.attributes);
  if (divisor <= 0) return std::nullopt;
  const ValueId sum = in.make(AtenOp::sum_dim_IntList, {center(in, node.inputs[0], axes).square}, over(axes), kept);
  return in.make(AtenOp::mul_Tensor, {sum, in.scalar(1 / divisor, DType::kFp32)}, {}, kept);
}

Result<bool> variance(Rewriter& in, const Node& node) {
  const std::optional<ValueId> result = kept_variance(in, node);
  return result ? rewritten(in.view_into(node.outputs[0], *result)) : Result<bool>(false);
}

ValueId root_of(Rewriter& in, ValueId x) {
  const Shape shape = in.shape(x);
  return in.make(AtenOp::sqrt_default, {x}, {}, shape);
}

Result<bool> deviation(Rewriter& in, const Node& node) {
  const std::optional<ValueId> result = kept_variance(in, node);
  return result ? rewritten(in.view_into(node.outputs[0], root_of(in, *result))) : Result<bool>(false);
}

// Operators with two results: the variance or deviation, and the mean.
Result<bool> with_mean(Rewriter& in, const Node& node, ValueId spread) {
  const Shape shape = in.shape(node.inputs[0]);
  const std::vector<size_t> axes = reduced_axes(node.attributes, "dim", shape.rank());
  if (node.outputs[0].valid()) CARINA_CHECKED(in.view_into(node.outputs[0], spread));
  if (!node.outputs[1].valid()) return true;
  return rewritten(
      in.view_into(node.outputs[1], in.make(AtenOp::mean_dim, {node.inputs[0]}, over(axes), kept_shape(shape, axes))));
}
Result<bool> variance_and_mean(Rewriter& in, const Node& node) {
  const std::optional<ValueId> result = kept_variance(in, node);
  return result ? with_mean(in, node, *result) : Result<bool>(false);
}
Result<bool> deviation_and_mean(Rewriter& in, const Node& node) {
  const std::optional<ValueId> result = kept_variance(in, node);
  return result ? with_mean(in, node, root_of(in, *result)) : Result<bool>(false);
}

constexpr RewriteRow kStatisticRows[] = {
    {AtenOp::linalg_vector_norm_default, vector_norm},
    {AtenOp::linalg_norm_default, linalg_norm},
    {AtenOp::norm_Scalar, norm},
    {AtenOp::norm_ScalarOpt_dim, norm},
    {AtenOp::norm_ScalarOpt_dim_dtype, norm},
    {AtenOp::norm_ScalarOpt_dtype, norm},
    {AtenOp::pairwise_distance_default, pairwise_distance},
    {AtenOp::var_default, variance},
    {AtenOp::var_dim, variance},
    {AtenOp::var_correction, variance},
    {AtenOp::std_default, deviation},
    {AtenOp::std_dim, deviation},
    {AtenOp::std_correction, deviation},
    {AtenOp::var_mean_default, variance_and_mean},
    {AtenOp::var_mean_dim, variance_and_mean},
    {AtenOp::var_mean_correction, variance_and_mean},
    {AtenOp::std_mean_default, deviation_and_mean},
    {AtenOp::std_mean_dim, deviation_and_mean},
    {AtenOp::std_mean_correction, deviation_and_mean},
};
static_assert(rewrites_what_becomes(kStatisticRows));

}  // namespace

std::span<const RewriteRow> statistic_rows() {
  return kStatisticRows;
}

}  // namespace carina::normalize
