// Lowers products of two computed matrices.

#include <fmt/format.h>

#include "facts/aten_traits.h"
#include "lower/lowering_internal.h"
#include "lower/ops/casts_internal.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

// The result type of MATMUL for operands of this type. Floats use the widest accumulator that TOSA has.
DType product_of(DType type) {
  if (type == DType::kInt8) return DType::kInt32;
  if (type == DType::kInt16) return DType::kInt48;
  if (type == DType::kFp8E4M3 || type == DType::kFp8E5M2) return DType::kFp16;
  return DType::kFp32;
}

struct Factor {
  ValueId value;
  int64_t zero_point = 0;
};

ValueId matmul(Lowering& in, const Node& node, const Factor& a, const Factor& b) {
  const DType type = in.out.dtype(a.value);
  const ValueId a_zp = in.out.zero_point(type, a.zero_point),
                b_zp = in.out.zero_point(in.out.dtype(b.value), b.zero_point);
  return in.out.emit(TosaOp::MATMUL, {a.value, b.value, a_zp, b_zp}, {},
                     {.dtype = product_of(type), .shape = in.shape(node.outputs[0]), .suffix = "acc"});
}

ValueId plain_matmul(Lowering& in, const Node& node) {
  const Factor b{.value = in.operand(node.inputs[1])};
  return matmul(in, node, {.value = in.operand(node.inputs[0])}, b);
}

// MATMUL needs operands of one width. An int8 operand is widened to int16, and its zero point is subtracted.
Factor factor(Lowering& in, const Node& node, size_t index) {
  const ValueId value = in.operand(node.inputs[index]), other = in.operand(node.inputs[1 - index]);
  const int64_t zero_point = in.quantization(node.inputs[index]).zero_point();
  if (in.out.dtype(value) != DType::kInt8 || in.out.dtype(other) != DType::kInt16)
    return {.value = value, .zero_point = zero_point};
  return {.value =
              in.out.rescale(value, {.scales = {1.0}, .input_zp = zero_point, .output_zp = 0, .to = DType::kInt16})};
}

// Plain integers wrap, as in PyTorch. MATMUL supports int8 only, with 32-bit sums. Wider integers are multiplied
// elementwise and added.
ValueId integer_product(Lowering& in, const Node& node) {
  ir::Emitter& out = in.out;
  const Shape shape = in.shape(node.outputs[0]);
  const DType type = in.value(node.outputs[0]).dtype;
  if (type == DType::kInt8) return out.cast(plain_matmul(in, node), type);
  const ValueId a = out.cast(in.operand(node.inputs[0]), DType::kInt32),
                b = out.cast(in.operand(node.inputs[1]), DType::kInt32);
  const int64_t depth = out.shape(a)[2];
  const ValueId rows = out.reshape(a, Shape{shape[0], shape[1], 1, depth});
  const ValueId columns = out.reshape(out.transpose(b, {0, 2, 1}), Shape{shape[0], 1, shape[2], depth});
  const ValueId sums = out.reshape(out.reduce(TosaOp::REDUCE_SUM, out.binary(TosaOp::MUL, rows, columns), 3), shape);
  return out.cast(sums, tosa_type(type));
}

Result<ValueId> bmm(Lowering& in, const Node& node) {
  if (!in.is_quantized(node)) {
    const DType type = in.value(node.outputs[0]).dtype;
    if (!is_float(type)) return integer_product(in, node);
    return in.out.cast(plain_matmul(in, node), tosa_type(type));
  }
  const Quantization &a = in.quantization(node.inputs[0]), &b = in.quantization(node.inputs[1]),
                     &q = in.quantization(node.outputs[0]);
  const ValueId product = matmul(in, node, factor(in, node, 0), factor(in, node, 1));
  const double scale = a.scale() * b.scale() / q.scale();
  return in.within_range(
      in.out.rescale(product, {.scales = {scale}, .input_zp = 0, .output_zp = q.zero_point(), .to = q.dtype}), q);
}

Rejected bmm_fits(const Candidate& c) {
  for (const ValueId id : c.node.inputs) {
    const DType type = Candidate::type_of(c.graph[id]);
    if (static_cast<int64_t>(element_bytes(type)) * 8 <= c.target.limits.product_bits) continue;
    return rejected("product.type",
                    fmt::format("{} is {}, {} multiplies computed matrices of int8", c.graph[id].name, name_of(type),
                                c.target.name),
                    "quantize to int8");
  }
  return std::nullopt;
}

constexpr LoweringRow kMatmulRows[] = {
    {.op = AtenOp::bmm_default, .integers = PlainIntegers::kNone, .legal = bmm_fits, .lower = bmm},
};
static_assert(lowers_all_of(kMatmulRows, {AtenFamily::kProduct}));

}  // namespace

std::span<const LoweringRow> matmul_rows() {
  return kMatmulRows;
}

}  // namespace carina::lower
