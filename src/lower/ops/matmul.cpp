// Products of two computed matrices.

#include "facts/aten_traits.h"
#include "lower/lowering_internal.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

Result<ValueId> bmm(Lowering& in, const Node& node) {
  const ValueId a = in.operand(node.inputs[0]), b = in.operand(node.inputs[1]);
  const bool quantized = in.is_quantized(node);
  const auto zero_point = [&](size_t index, ValueId value) {
    return in.out.zero_point(in.out.dtype(value), quantized ? in.quantization(node.inputs[index]).zero_point() : 0);
  };
  const ValueId a_zp = zero_point(0, a), b_zp = zero_point(1, b);
  const DType type = in.out.dtype(a);
  const DType accumulator = type == DType::kInt16 ? DType::kInt48 : (quantized ? DType::kInt32 : type);
  if (!quantized && type != DType::kFp32)
    return fail(about(node, "a product of matrices of integers is not supported"));
  const ValueId product = in.out.emit(TosaOp::MATMUL, {a, b, a_zp, b_zp}, {},
                                      {.dtype = accumulator, .shape = in.shape(node.outputs[0]), .suffix = "acc"});
  if (!quantized) return product;
  const Quantization& q = in.quantization(node.outputs[0]);
  const double scale = in.quantization(node.inputs[0]).scale() * in.quantization(node.inputs[1]).scale() / q.scale();
  return in.within_range(
      in.out.rescale(product, {.scales = {scale}, .input_zp = 0, .output_zp = q.zero_point(), .to = q.dtype}), q);
}

constexpr LoweringRow kMatmulRows[] = {
    {.op = AtenOp::bmm_default, .integers = PlainIntegers::kNone, .legal = needs_int8, .lower = bmm},
};
static_assert(lowers_all_of(kMatmulRows, {AtenFamily::kProduct}));

}  // namespace

std::span<const LoweringRow> matmul_rows() {
  return kMatmulRows;
}

}  // namespace carina::lower
