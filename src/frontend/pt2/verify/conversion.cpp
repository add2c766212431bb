#include <array>

#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

namespace {

ResultType type_of_other(const NodeView& n, size_t) {
  return {.dtype = n.dtype(1)};
}

// The results of dropout: the values and the mask.
Shapes all_same(const NodeView& n) {
  return std::vector<std::optional<Shape>>(n.node.outputs.size(), n.shape(0));
}
ResultType value_and_mask(const NodeView& n, size_t result) {
  return result == 0 ? same_type(n, 0) : bool_type(n, result);
}

constexpr std::array kConversionRules = {
    Rule{AtenOp::to_device, same_as_first, asked_or_same},
    Rule{AtenOp::to_dtype, same_as_first, asked_or_same},
    Rule{AtenOp::to_dtype_layout, same_as_first, asked_or_same},
    Rule{AtenOp::_to_copy_default, same_as_first, asked_or_same},
    Rule{AtenOp::_to_dim_order_copy_default, same_as_first, asked_or_same},
    Rule{AtenOp::to_other, same_as_first, type_of_other},
    Rule{AtenOp::type_as_default, same_as_first, type_of_other},
    Rule{AtenOp::to_prim_Device, same_as_first, unchecked_type},
    Rule{AtenOp::to_prim_dtype, same_as_first, unchecked_type},
    Rule{AtenOp::to_prim_other, same_as_first, unchecked_type},
    Rule{AtenOp::native_dropout_default, all_same, value_and_mask},
    Rule{AtenOp::dequantize_self, same_as_first, unchecked_type},
    Rule{AtenOp::dequantize_tensor, same_as_first, unchecked_type},
    Rule{AtenOp::dequantize_tensors, unchecked, unchecked_type},
    Rule{AtenOp::dequantize_list, unchecked, unchecked_type},
};

}  // namespace

std::span<const Rule> conversion_rules() {
  return kConversionRules;
}

}  // namespace carina::aten
