#include <array>

#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

namespace {

// Scales are floats, zero points whole numbers.
std::expected<void, std::string> check_parameters_of_quantization(const NodeView& n) {
  for (size_t i = 1; i < n.node.inputs.size(); ++i) {
    if (n.has(i) && (i == 1 ? !is_float(n.dtype(i)) : is_float(n.dtype(i)) || n.dtype(i) == DType::kBool))
      return broken("a parameter of type {}", name_of(n.dtype(i)));
  }
  return {};
}

// One scale and one zero point, as numbers or as tensors of one element.
Shapes per_tensor(const NodeView& n) {
  CARINA_CHECKED(check_parameters_of_quantization(n));
  for (size_t i = 1; i < n.node.inputs.size(); ++i) {
    if (n.has(i) && n.shape(i).elements() != 1) return broken("a parameter of shape {}", to_string(n.shape(i)));
  }
  return one(n.shape(0));
}

// One scale and one zero point for each element of the axis.
Shapes per_channel(const NodeView& n) {
  CARINA_CHECKED(check_parameters_of_quantization(n));
  CARINA_TRY(const size_t axis, axis_of(n.integer("axis"), n.rank(0)));
  if (n.rank(0) == 0) return broken("its operand has no axis");
  CARINA_CHECKED(expect_shape(n, 1, "scales", Shape{n.shape(0)[axis]}));
  CARINA_CHECKED(expect_shape(n, 2, "zero points", Shape{n.shape(0)[axis]}));
  return one(n.shape(0));
}

// One scale for each group along the last axis of a matrix.
Shapes per_group(const NodeView& n) {
  if (!is_float(n.dtype(1))) return broken("scales of type {}", name_of(n.dtype(1)));
  const int64_t size = n.integer("group_size");
  const Shape& x = n.shape(0);
  if (x.rank() != 2 || size < 1 || x[1] % size != 0) return broken("{} in groups of {}", to_string(x), size);
  const Shape groups{x[0], x[1] / size};
  CARINA_CHECKED(expect_shape(n, 1, "scales", groups));
  CARINA_CHECKED(expect_shape(n, 2, "zero points", groups));
  return one(x);
}

// One scale for each row of the last axis.
Shapes per_token(const NodeView& n) {
  if (n.rank(0) < 1) return broken("its operand has no axis");
  const auto& x = n.shape(0).dims();
  int64_t tokens = 1;
  for (const int64_t size : x.first(x.size() - 1)) tokens *= size;
  for (size_t i = 1; i < n.node.inputs.size(); ++i) {
    if (n.has(i) && n.shape(i).elements() != tokens)
      return broken("{} parameters for {} rows", n.shape(i).elements(), tokens);
  }
  return one(n.shape(0));
}

ResultType asked_output(const NodeView& n, size_t) {
  for (const std::string_view name : {"out_dtype", "output_dtype"}) {
    const ir::Attribute* dtype = n.node.attributes.find(name);
    if (dtype != nullptr && std::holds_alternative<DType>(*dtype)) return {.dtype = std::get<DType>(*dtype)};
  }
  return {.dtype = DType::kFp32, .instead = ResultType::Instead::kAnyFloat};
}

constexpr std::array kQuantizationRules = {
    Rule{AtenOp::quantize_per_tensor_default, per_tensor, asked_or_same},
    Rule{AtenOp::quantize_per_tensor_tensor, per_tensor, asked_or_same},
    Rule{AtenOp::quantize_per_tensor_tensor2, per_tensor, asked_or_same},
    Rule{AtenOp::dequantize_per_tensor_default, per_tensor, asked_output},
    Rule{AtenOp::dequantize_per_tensor_tensor, per_tensor, asked_output},
    Rule{AtenOp::dequantize_per_tensor_tensor2, per_tensor, asked_output},
    Rule{AtenOp::quantize_per_channel_default, per_channel, asked_or_same},
    Rule{AtenOp::dequantize_per_channel_default, per_channel, asked_output},
    Rule{AtenOp::quantize_per_channel_group_default, per_group, asked_or_same},
    Rule{AtenOp::dequantize_per_channel_group_default, per_group, asked_output},
    Rule{AtenOp::quantize_per_token_default, per_token, asked_or_same},
    Rule{AtenOp::dequantize_per_token_default, per_token, asked_output},
    Rule{AtenOp::choose_qparams_tensor, unchecked, unchecked_type},
    Rule{AtenOp::choose_qparams_symmetric_tensor, unchecked, unchecked_type},
    Rule{AtenOp::choose_qparams_per_token_asymmetric_default, unchecked, unchecked_type},
    Rule{AtenOp::convert_element_type_no_fuse, same_as_first, asked_or_same},
};

}  // namespace

std::span<const Rule> quantization_rules() {
  return kQuantizationRules;
}

}  // namespace carina::aten
