// Makes PyTorch's type promotion explicit: operators that compute in float get float operands, and each conversion is a
// node.

#include <algorithm>

#include "normalize/canonicalize_internal.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

bool is_plain_integer(const Rewriter& in, ValueId id) {
  return id.valid() && !is_float(in[id].dtype);
}

ValueId converted(Rewriter& in, const Node& node, ValueId id, DType type) {
  ir::Value result{.name = node.name + "_to", .dtype = type, .shape = in.shape(id), .quantization = {}, .constant = {}};
  return in.make_value(AtenOp::_to_copy_default, {id}, {{"dtype", type}}, std::move(result));
}

Result<bool> promoted_to(Rewriter& in, const Node& node, DType type) {
  if (!is_float(type) || std::ranges::none_of(node.inputs, [&](ValueId id) { return is_plain_integer(in, id); }))
    return false;
  std::vector<ValueId> inputs = node.inputs;
  for (ValueId& id : inputs) {
    if (is_plain_integer(in, id)) id = converted(in, node, id, type);
  }
  return rewritten(in.define(node.outputs[0], node.op.aten(), std::move(inputs), node.attributes));
}

Result<bool> to_result(Rewriter& in, const Node& node) {
  return promoted_to(in, node, in[node.outputs[0]].dtype);
}

// Converts the operands, from input `kFirst` on, to the type of the result.
template <size_t kFirst>
Result<bool> elements_of_result(Rewriter& in, const Node& node) {
  const DType type = in[node.outputs[0]].dtype;
  std::vector<ValueId> inputs = node.inputs;
  bool is_changed = false;
  for (size_t i = kFirst; i < inputs.size(); ++i) {
    if (!inputs[i].valid() || in[inputs[i]].dtype == type || in[inputs[i]].quantization) continue;
    inputs[i] = converted(in, node, inputs[i], type);
    is_changed = true;
  }
  if (!is_changed) return false;
  return rewritten(in.define(node.outputs[0], node.op.aten(), std::move(inputs), node.attributes));
}

// For operators with bool results: converts the operands to the type of the float operand.
Result<bool> to_each_other(Rewriter& in, const Node& node) {
  for (const ValueId id : node.inputs) {
    if (!is_plain_integer(in, id)) return promoted_to(in, node, in[id].dtype);
  }
  return false;
}

// Converts all forms of a type conversion to one operator. A conversion to the same type is an identity, which another
// row removes.
Result<bool> to_copy(Rewriter& in, const Node& node) {
  const ValueId from = node.inputs[0], to = node.outputs[0];
  if (!from.valid() || in[from].dtype == in[to].dtype || in.shape(from) != in.shape(to)) return false;
  return rewritten(in.define(to, AtenOp::_to_copy_default, {from}, {{"dtype", in[to].dtype}}));
}

constexpr RewriteRow kPromotionRows[] = {
    {AtenOp::to_device, to_copy},
    {AtenOp::to_other, to_copy},
    {AtenOp::to_dtype_layout, to_copy},
    {AtenOp::_to_dim_order_copy_default, to_copy},
    {AtenOp::to_prim_Device, to_copy},
    {AtenOp::to_prim_dtype, to_copy},
    {AtenOp::to_prim_other, to_copy},
    {AtenOp::type_as_default, to_copy},
    {AtenOp::add_Tensor, to_result},
    {AtenOp::sub_Tensor, to_result},
    {AtenOp::mul_Tensor, to_result},
    {AtenOp::add_Scalar, to_result},
    {AtenOp::sub_Scalar, to_result},
    {AtenOp::mul_Scalar, to_result},
    {AtenOp::rsub_Tensor, to_result},
    {AtenOp::rsub_Scalar, to_result},
    {AtenOp::div_Tensor, to_result},
    {AtenOp::div_Scalar, to_result},
    {AtenOp::true_divide_Tensor, to_result},
    {AtenOp::true_divide_Scalar, to_result},
    {AtenOp::divide_Tensor, to_result},
    {AtenOp::divide_Scalar, to_result},
    {AtenOp::div_Tensor_mode, to_result},
    {AtenOp::div_Scalar_mode, to_result},
    {AtenOp::remainder_Tensor, to_result},
    {AtenOp::remainder_Scalar, to_result},
    {AtenOp::remainder_Scalar_Tensor, to_result},
    {AtenOp::fmod_Tensor, to_result},
    {AtenOp::fmod_Scalar, to_result},
    {AtenOp::maximum_default, to_result},
    {AtenOp::minimum_default, to_result},
    {AtenOp::fmax_default, to_result},
    {AtenOp::fmin_default, to_result},
    {AtenOp::clamp_default, to_result},
    {AtenOp::clamp_Tensor, to_result},
    {AtenOp::pow_Tensor_Scalar, to_result},
    {AtenOp::pow_Tensor_Tensor, to_result},
    {AtenOp::pow_Scalar, to_result},
    {AtenOp::atan2_default, to_result},
    {AtenOp::where_self, elements_of_result<1>},
    {AtenOp::cat_default, elements_of_result<0>},
    {AtenOp::stack_default, elements_of_result<0>},
    {AtenOp::softmax_int, elements_of_result<0>},
    {AtenOp::_softmax_default, elements_of_result<0>},
    {AtenOp::_safe_softmax_default, elements_of_result<0>},
    {AtenOp::log_softmax_int, elements_of_result<0>},
    {AtenOp::_log_softmax_default, elements_of_result<0>},
    {AtenOp::mean_dim, to_result},
    {AtenOp::mean_default, to_result},
    {AtenOp::sum_dim_IntList, to_result},
    {AtenOp::sum_default, to_result},
    {AtenOp::eq_Tensor, to_each_other},
    {AtenOp::ne_Tensor, to_each_other},
    {AtenOp::lt_Tensor, to_each_other},
    {AtenOp::le_Tensor, to_each_other},
    {AtenOp::gt_Tensor, to_each_other},
    {AtenOp::ge_Tensor, to_each_other},
};
static_assert(rewrites_what_becomes(kPromotionRows));

// Functions of one operand, such as tanh, compute in the type of a float result.
std::vector<RewriteRow> with_functions() {
  std::vector<RewriteRow> rows(std::begin(kPromotionRows), std::end(kPromotionRows));
  for (const AtenTraits& traits : kAtenTraits) {
    if (traits.family == AtenFamily::kFunction) rows.push_back({.op = traits.op, .rewrite = to_result});
  }
  return rows;
}

}  // namespace

std::span<const RewriteRow> canonical_promotions() {
  static const std::vector<RewriteRow> rows = with_functions();
  return rows;
}

}  // namespace carina::normalize
