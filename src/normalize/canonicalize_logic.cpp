// Rewrites comparisons and selections with scalars, and operators that are comparisons, selections or bit operations
// under other names.

#include <algorithm>
#include <cmath>
#include <limits>

#include "normalize/canonicalize_internal.h"

namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ir::Value flags(const Node& node, std::string_view suffix, const Shape& shape) {
  return {.name = node.name + std::string(suffix),
          .dtype = DType::kBool,
          .shape = shape,
          .quantization = {},
          .constant = {}};
}

ValueId equal(Rewriter& in, const Node& node, ValueId a, ValueId b) {
  return in.make_value(AtenOp::eq_Tensor, {a, b}, {}, flags(node, "_equal", in.shape(node.outputs[0])));
}

Result<bool> negated(Rewriter& in, const Node& node, ValueId flag) {
  return rewritten(in.define(node.outputs[0], AtenOp::logical_not_default, {flag}, {}));
}

Result<bool> not_equal(Rewriter& in, const Node& node) {
  return negated(in, node, equal(in, node, node.inputs[0], node.inputs[1]));
}

template <AtenOp kTo>
Result<bool> swapped(Rewriter& in, const Node& node) {
  return rewritten(in.define(node.outputs[0], kTo, {node.inputs[1], node.inputs[0]}, {}));
}

// An integer limit that gives the same comparison as a fraction. Example: x < 2.5 is x <= 2, and x > 2.5 is x >= 3.
ValueId limit_of(Rewriter& in, const Node& node, AtenOp comparison) {
  const DType type = in[node.inputs[0]].dtype;
  const double other = node.attributes.number("other");
  if (is_float(type)) return constant_of(in, node, other, type);
  const bool down = comparison == AtenOp::gt_Tensor || comparison == AtenOp::le_Tensor;
  constexpr double kMinInt32 = std::numeric_limits<int32_t>::min(), kMaxInt32 = std::numeric_limits<int32_t>::max();
  return constant_of(in, node, std::clamp(down ? std::floor(other) : std::ceil(other), kMinInt32, kMaxInt32),
                     DType::kInt32);
}

template <AtenOp kTo>
Result<bool> order_with_scalar(Rewriter& in, const Node& node) {
  return rewritten(in.define(node.outputs[0], kTo, {node.inputs[0], limit_of(in, node, kTo)}, {}));
}

// An integer never equals a fraction. The comparison is made in float, where they differ too.
template <AtenOp kTo>
Result<bool> equality_with_scalar(Rewriter& in, const Node& node) {
  ValueId x = node.inputs[0];
  const double other = node.attributes.number("other");
  if (!is_float(in[x].dtype) && other != std::trunc(other)) {
    ir::Value floats{
        .name = node.name + "_real", .dtype = DType::kFp32, .shape = in.shape(x), .quantization = {}, .constant = {}};
    x = in.make_value(AtenOp::_to_copy_default, {x}, {{"dtype", DType::kFp32}}, std::move(floats));
  }
  const DType type = is_float(in[x].dtype) ? in[x].dtype : DType::kInt32;
  return rewritten(in.define(node.outputs[0], kTo, {x, constant_of(in, node, other, type)}, {}));
}

// The condition x != 0 as a bool tensor.
ValueId truth(Rewriter& in, const Node& node, ValueId x) {
  const DType type = in[x].dtype;
  if (type == DType::kBool) return x;
  const ValueId zero = constant_of(in, node, 0, is_float(type) ? type : DType::kInt32);
  const Shape shape = in.shape(x);
  const ValueId is_zero = in.make_value(AtenOp::eq_Tensor, {x, zero}, {}, flags(node, "_zero", shape));
  return in.make_value(AtenOp::logical_not_default, {is_zero}, {}, flags(node, "_true", shape));
}

template <AtenOp kOp>
Result<bool> logic_of_truths(Rewriter& in, const Node& node) {
  if (in[node.inputs[0]].dtype == DType::kBool && in[node.inputs[1]].dtype == DType::kBool) return false;
  return rewritten(
      in.define(node.outputs[0], kOp, {truth(in, node, node.inputs[0]), truth(in, node, node.inputs[1])}, {}));
}

Result<bool> not_true(Rewriter& in, const Node& node) {
  const DType type = in[node.inputs[0]].dtype;
  if (type == DType::kBool) return false;
  const ValueId zero = constant_of(in, node, 0, is_float(type) ? type : DType::kInt32);
  return rewritten(in.define(node.outputs[0], AtenOp::eq_Tensor, {node.inputs[0], zero}, {}));
}

// The scalar keeps its position in the schema. In overloads Scalar_Tensor it precedes the tensor.
template <AtenOp kTo, const char* kScalar, bool kFirst>
Result<bool> bits_with_scalar(Rewriter& in, const Node& node) {
  const ValueId scalar = constant_of(in, node, node.attributes.number(kScalar), in[node.outputs[0]].dtype);
  std::vector<ValueId> inputs{node.inputs[0], scalar};
  if (kFirst) std::swap(inputs[0], inputs[1]);
  return rewritten(in.define(node.outputs[0], kTo, std::move(inputs), {}));
}
constexpr char kOther[] = "other", kSelf[] = "self";

Result<bool> choice_with_scalars(Rewriter& in, const Node& node) {
  const DType type = in[node.outputs[0]].dtype;
  size_t next = 1;
  const auto branch = [&](std::string_view name) {
    return node.attributes.find(name) == nullptr ? node.inputs[next++]
                                                 : constant_of(in, node, node.attributes.number(name), type);
  };
  const ValueId yes = branch("self"), no = branch("other");
  return rewritten(in.define(node.outputs[0], AtenOp::where_self, {node.inputs[0], yes, no}, {}));
}

Result<bool> masked_fill(Rewriter& in, const Node& node) {
  const ValueId value = node.inputs.size() > 2
                            ? node.inputs[2]
                            : constant_of(in, node, node.attributes.number("value"), in[node.outputs[0]].dtype);
  return rewritten(in.define(node.outputs[0], AtenOp::where_self, {node.inputs[1], value, node.inputs[0]}, {}));
}

// Converts `any` to its canonical form: bools, along listed axes.
Result<bool> any_along(Rewriter& in, const Node& node) {
  const size_t rank = in.shape(node.inputs[0]).rank();
  const ir::Attribute* dim = node.attributes.find("dim");
  std::vector<int64_t> axes;
  if (dim == nullptr || node.attributes.is_none("dim"))
    axes = identity_order(rank);
  else if (const auto* one = std::get_if<int64_t>(dim))
    axes = {*one};
  else
    axes = node.attributes.integers("dim");
  const bool known = node.op == ir::Op(AtenOp::any_dims) && in[node.inputs[0]].dtype == DType::kBool;
  if (known && dim != nullptr && !node.attributes.is_none("dim") && !axes.empty()) return false;
  const ValueId x = truth(in, node, node.inputs[0]);
  if (axes.empty() || rank == 0) return rewritten(in.view_into(node.outputs[0], x));
  const bool kept = in.shape(node.outputs[0]).rank() == rank;
  return rewritten(in.define(node.outputs[0], AtenOp::any_dims, {x}, {{"dim", axes}, {"keepdim", kept}}));
}

// all(x) = not any(not x).
template <AtenOp kAny>
Result<bool> all_along(Rewriter& in, const Node& node) {
  const ValueId opposite =
      in.make_value(AtenOp::logical_not_default, {node.inputs[0]}, {}, flags(node, "_not", in.shape(node.inputs[0])));
  return negated(in, node,
                 in.make_value(kAny, {opposite}, node.attributes, flags(node, "_any", in.shape(node.outputs[0]))));
}

Result<bool> is_nan(Rewriter& in, const Node& node) {
  return negated(in, node, equal(in, node, node.inputs[0], node.inputs[0]));
}

ValueId magnitude(Rewriter& in, const Node& node) {
  return in.make(AtenOp::abs_default, {node.inputs[0]}, {}, in.shape(node.inputs[0]));
}

Result<bool> is_infinite(Rewriter& in, const Node& node) {
  const DType type = in[node.inputs[0]].dtype;
  if (!is_float(type)) return is_nan(in, node);
  return rewritten(
      in.define(node.outputs[0], AtenOp::eq_Tensor, {magnitude(in, node), constant_of(in, node, kInfinity, type)}, {}));
}

Result<bool> is_finite(Rewriter& in, const Node& node) {
  const DType type = in[node.inputs[0]].dtype;
  const ValueId x = node.inputs[0];
  if (!is_float(type)) return rewritten(in.define(node.outputs[0], AtenOp::eq_Tensor, {x, x}, {}));
  return rewritten(
      in.define(node.outputs[0], AtenOp::gt_Tensor, {constant_of(in, node, kInfinity, type), magnitude(in, node)}, {}));
}

Result<bool> nan_to_num(Rewriter& in, const Node& node) {
  const ValueId x = node.inputs[0];
  const Shape shape = in.shape(x);
  const DType type = in[x].dtype;
  if (type != DType::kFp32) return false;
  const auto number = [&](std::string_view name, double otherwise) {
    return node.attributes.is_none(name) ? otherwise : node.attributes.number(name);
  };
  const auto chosen = [&](ValueId flag, ValueId yes, ValueId no) {
    return in.make_value(
        AtenOp::where_self, {flag, yes, no}, {},
        {.name = node.name + "_where", .dtype = type, .shape = shape, .quantization = {}, .constant = {}});
  };
  const ValueId of_nan = constant_of(in, node, number("nan", 0), type);
  ValueId result = chosen(equal(in, node, x, x), x, of_nan);
  for (const auto& [name, infinity] : {std::pair{"posinf", kInfinity}, std::pair{"neginf", -kInfinity}}) {
    if (node.attributes.is_none(name)) continue;
    const ValueId found = equal(in, node, result, constant_of(in, node, infinity, type));
    result = chosen(found, constant_of(in, node, node.attributes.number(name), type), result);
  }
  return rewritten(in.define(node.outputs[0], AtenOp::clamp_default, {result},
                             {{"min", -static_cast<double>(std::numeric_limits<float>::max())},
                              {"max", static_cast<double>(std::numeric_limits<float>::max())}}));
}

constexpr RewriteRow kCanonicalizeLogicRows[] = {
    {AtenOp::eq_Scalar, equality_with_scalar<AtenOp::eq_Tensor>},
    {AtenOp::ne_Scalar, equality_with_scalar<AtenOp::ne_Tensor>},
    {AtenOp::gt_Scalar, order_with_scalar<AtenOp::gt_Tensor>},
    {AtenOp::ge_Scalar, order_with_scalar<AtenOp::ge_Tensor>},
    {AtenOp::lt_Scalar, order_with_scalar<AtenOp::lt_Tensor>},
    {AtenOp::le_Scalar, order_with_scalar<AtenOp::le_Tensor>},
    {AtenOp::ne_Tensor, not_equal},
    {AtenOp::lt_Tensor, swapped<AtenOp::gt_Tensor>},
    {AtenOp::le_Tensor, swapped<AtenOp::ge_Tensor>},
    {AtenOp::logical_and_default, logic_of_truths<AtenOp::logical_and_default>},
    {AtenOp::logical_or_default, logic_of_truths<AtenOp::logical_or_default>},
    {AtenOp::logical_xor_default, logic_of_truths<AtenOp::logical_xor_default>},
    {AtenOp::logical_not_default, not_true},
    {AtenOp::bitwise_and_Scalar, bits_with_scalar<AtenOp::bitwise_and_Tensor, kOther, false>},
    {AtenOp::bitwise_or_Scalar, bits_with_scalar<AtenOp::bitwise_or_Tensor, kOther, false>},
    {AtenOp::bitwise_xor_Scalar, bits_with_scalar<AtenOp::bitwise_xor_Tensor, kOther, false>},
    {AtenOp::bitwise_and_Scalar_Tensor, bits_with_scalar<AtenOp::bitwise_and_Tensor, kSelf, true>},
    {AtenOp::bitwise_or_Scalar_Tensor, bits_with_scalar<AtenOp::bitwise_or_Tensor, kSelf, true>},
    {AtenOp::bitwise_xor_Scalar_Tensor, bits_with_scalar<AtenOp::bitwise_xor_Tensor, kSelf, true>},
    {AtenOp::__and___Scalar, bits_with_scalar<AtenOp::bitwise_and_Tensor, kOther, false>},
    {AtenOp::__or___Scalar, bits_with_scalar<AtenOp::bitwise_or_Tensor, kOther, false>},
    {AtenOp::__xor___Scalar, bits_with_scalar<AtenOp::bitwise_xor_Tensor, kOther, false>},
    {AtenOp::__and___Tensor, renamed<AtenOp::bitwise_and_Tensor>},
    {AtenOp::__or___Tensor, renamed<AtenOp::bitwise_or_Tensor>},
    {AtenOp::__xor___Tensor, renamed<AtenOp::bitwise_xor_Tensor>},
    {AtenOp::bitwise_left_shift_Tensor_Scalar, bits_with_scalar<AtenOp::bitwise_left_shift_Tensor, kOther, false>},
    {AtenOp::bitwise_right_shift_Tensor_Scalar, bits_with_scalar<AtenOp::bitwise_right_shift_Tensor, kOther, false>},
    {AtenOp::bitwise_left_shift_Scalar_Tensor, bits_with_scalar<AtenOp::bitwise_left_shift_Tensor, kSelf, true>},
    {AtenOp::bitwise_right_shift_Scalar_Tensor, bits_with_scalar<AtenOp::bitwise_right_shift_Tensor, kSelf, true>},
    {AtenOp::__lshift___Scalar, bits_with_scalar<AtenOp::bitwise_left_shift_Tensor, kOther, false>},
    {AtenOp::__rshift___Scalar, bits_with_scalar<AtenOp::bitwise_right_shift_Tensor, kOther, false>},
    {AtenOp::__lshift___Tensor, renamed<AtenOp::bitwise_left_shift_Tensor>},
    {AtenOp::__rshift___Tensor, renamed<AtenOp::bitwise_right_shift_Tensor>},
    {AtenOp::where_ScalarOther, choice_with_scalars},
    {AtenOp::where_ScalarSelf, choice_with_scalars},
    {AtenOp::where_Scalar, choice_with_scalars},
    {AtenOp::masked_fill_Scalar, masked_fill},
    {AtenOp::masked_fill_Tensor, masked_fill},
    {AtenOp::any_default, any_along},
    {AtenOp::any_dim, any_along},
    {AtenOp::any_dims, any_along},
    {AtenOp::all_default, all_along<AtenOp::any_default>},
    {AtenOp::all_dim, all_along<AtenOp::any_dim>},
    {AtenOp::all_dims, all_along<AtenOp::any_dims>},
    {AtenOp::isnan_default, is_nan},
    {AtenOp::isinf_default, is_infinite},
    {AtenOp::isfinite_default, is_finite},
    {AtenOp::nan_to_num_default, nan_to_num},
};
static_assert(rewrites_what_becomes(kCanonicalizeLogicRows));

}  // namespace

std::span<const RewriteRow> canonical_logic() {
  return kCanonicalizeLogicRows;
}

}  // namespace carina::normalize
