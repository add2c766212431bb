// What:   composites of fp16 and bf16 are computed in fp32, between conversions.
// Before: %y: fp16 = aten.softmax.int(%x, dim=-1)
// After:  %w: fp32 = aten.to.dtype(%x); %s: fp32 = aten.softmax.int(%w, dim=-1); %y: fp16 = aten.to.dtype(%s)
// Needs:  one-spelling (canonicalize).
// Gives:  no composite computes with 16-bit floats; one-spelling still holds.
// Legal:  PyTorch's kernels do the same: each operator rounds once.
//
// A decomposition rounds after every operator. With 11 or 8 bits of significand the error is visible: a layer norm of
// bf16 would differ by several steps from PyTorch. What TOSA has as one operator (sums of two tensors, EXP, CONV2D,
// MATMUL, pools, data movement) stays in the model's type. Scalars and factors of additions, which PyTorch keeps in
// fp32, are widened too. Decompositions in the narrow type, as in the Arm backend, need fewer conversions and give
// other numbers than PyTorch.

#include <algorithm>

#include "facts/aten_traits.h"
#include "normalize/passes_internal.h"
#include "normalize/rewriter.h"
#include "tensor/elements.h"
#include "tensor/float_formats.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

bool is_half(const ir::Value& value) {
  return value.dtype == DType::kFp16 || value.dtype == DType::kBf16;
}

// Convolutions and matrix products stay, because TOSA accumulates them in fp32.
constexpr bool is_computed_composite(const AtenTraits& traits) {
  using enum AtenFamily;
  const bool computes = traits.family == kNormalization || traits.family == kComposite || traits.family == kFunction ||
                        traits.family == kArithmetic || traits.family == kReduction;
  if (traits.family == kDivision) return traits.lowering.kind != AtenLowering::Kind::kNone;
  return computes && traits.data == AtenData::kComputed && traits.lowering.kind == AtenLowering::Kind::kBecomes;
}

Tensor widened_constant(const Tensor& tensor) {
  MutableTensor wide(DType::kFp32, tensor.shape);
  const auto convert = tensor.dtype == DType::kFp16 ? fp16_to_fp32 : [](uint16_t bits) { return bf16_to_fp32(bits); };
  std::ranges::transform(tensor.values<uint16_t>(), wide.values<float>().begin(), convert);
  return std::move(wide).freeze();
}

ir::Value wide_like(const ir::Value& value) {
  return {
      .name = value.name + "_fp32", .dtype = DType::kFp32, .shape = value.shape, .quantization = {}, .constant = {}};
}

ir::Attributes conversion_to(DType type) {
  return {{"dtype", type}, {"non_blocking", false}, {"copy", false}, {"memory_format", std::monostate()}};
}

ValueId widened_value(Rewriter& in, ValueId id) {
  if (!id.valid() || !is_half(in[id])) return id;
  if (in[id].constant) return in.constant(in[id].name + "_fp32", widened_constant(*in[id].constant));
  return in.make_value(AtenOp::to_dtype, {id}, conversion_to(DType::kFp32), wide_like(in[id]));
}

Result<bool> widen(Rewriter& in, const Node& node) {
  const auto half = [&](ValueId id) { return id.valid() && is_half(in[id]); };
  if (std::ranges::none_of(node.inputs, half)) return false;
  Node wide = node;
  for (ValueId& input : wide.inputs) input = widened_value(in, input);
  if (wide.attributes.find("dtype") != nullptr) wide.attributes.set("dtype", std::monostate());
  for (ValueId& output : wide.outputs) {
    if (half(output)) output = in.graph().add_value(wide_like(in[output]));
  }
  const std::vector<ValueId> results = wide.outputs;
  CARINA_CHECKED(in.emit(std::move(wide)));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (half(node.outputs[i]))
      CARINA_CHECKED(
          in.define(node.outputs[i], AtenOp::to_dtype, {results[i]}, conversion_to(in[node.outputs[i]].dtype)));
  }
  return true;
}

// A sum, a difference or a product of two tensors is rounded once and stays. With a scalar of another type it would be
// rounded twice.
Result<bool> widen_mixture(Rewriter& in, const Node& node) {
  const DType type = in[node.outputs[0]].dtype;
  const bool mixed = std::ranges::any_of(node.inputs, [&](ValueId id) { return in[id].dtype != type; });
  return mixed ? widen(in, node) : Result<bool>(false);
}

// The conversions make `canonicalize` applicable, so its rows are applied again.
const std::vector<RewriteRow>& widening_rows() {
  static const std::vector<RewriteRow> rows = [] {
    std::vector<RewriteRow> widening;
    for (const AtenTraits& traits : kAtenTraits) {
      if (is_computed_composite(traits)) widening.push_back({traits.op, widen});
    }
    for (const AtenOp op : {AtenOp::add_Tensor, AtenOp::sub_Tensor, AtenOp::mul_Tensor})
      widening.push_back({op, widen_mixture});
    return joined({widening, canonical_rows()});
  }();
  return rows;
}

}  // namespace

Result<void> widen_halves(ir::Graph& graph, const Log&) {
  if (std::ranges::none_of(graph.values, is_half)) return {};
  return Rewriter(graph, widening_rows()).run();
}

}  // namespace carina::normalize
