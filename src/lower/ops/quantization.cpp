// Lowers the model's own Q/DQ nodes, which convert between plain integers and quantized values. Most are at the inputs
// and outputs of programs with raw integers.

#include <fmt/format.h>

#include "facts/aten_traits.h"
#include "lower/lowering_internal.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

// The quantization of the node's plain integers.
Quantization parameters_of(const Node& node) {
  return {.dtype = node.attributes.get<DType>("dtype"),
          .scales = {node.attributes.number("scale")},
          .zero_points = {node.attributes.integer("zero_point")},
          .axis = Quantization::kPerTensor,
          .qmin = node.attributes.integer("quant_min"),
          .qmax = node.attributes.integer("quant_max")};
}

bool is_plain_type(DType type) {
  return type == DType::kInt8 || type == DType::kUInt8 || type == DType::kInt16 || type == DType::kInt32;
}

// `real` is the float side, which must be quantized too.
Rejected check_sides(const Candidate& c, const ir::Value& real) {
  if (!real.quantization) {
    return rejected(kNotQuantized, real.name + " is computed in float", "quantize what reads or makes it too");
  }
  const DType type = c.node.attributes.get<DType>("dtype");
  if (is_plain_type(type)) return std::nullopt;
  return rejected("types.integers", fmt::format("{} does not do this operator with {}", c.target.name, name_of(type)),
                  "convert it to int32 or less");
}

// TOSA's CLAMP supports signed integers only. So a narrower range of unsigned integers must be the range of the input
// already.
Rejected check_unsigned_range(const Candidate& c) {
  const Quantization to = parameters_of(c.node);
  const IntegerRange whole = range_of(to.dtype);
  const auto& from = c.input(0).quantization;
  if (to.dtype != DType::kUInt8 || (to.qmin <= whole.min && to.qmax >= whole.max) || !from) return std::nullopt;
  const bool same = from->scale() == to.scale() && from->qmin - from->zero_point() == to.qmin - to.zero_point() &&
                    from->qmax - from->zero_point() == to.qmax - to.zero_point();
  if (same) return std::nullopt;
  return rejected("types.unsigned-range", "a part of the range of uint8 is not supported", "use 0 to 255");
}

Rejected quantize_fits(const Candidate& c) {
  return first_of({check_sides(c, c.input(0)), check_unsigned_range(c)});
}
Rejected dequantize_fits(const Candidate& c) {
  return check_sides(c, c.output());
}

Result<ValueId> quantize(Lowering& in, const Node& node) {
  CARINA_CHECKED(accepted(node, quantize_fits(in.candidate(node))));
  return in.requantize(in.operand(node.inputs[0]), in.quantization(node.inputs[0]), parameters_of(node));
}

Result<ValueId> dequantize(Lowering& in, const Node& node) {
  CARINA_CHECKED(accepted(node, dequantize_fits(in.candidate(node))));
  return in.requantize(in.operand(node.inputs[0]), parameters_of(node), in.quantization(node.outputs[0]));
}

constexpr LoweringRow kQuantizationRows[] = {
    {.op = AtenOp::quantize_per_tensor_default,
     .integers = PlainIntegers::kAny,
     .legal = quantize_fits,
     .lower = quantize},
    {.op = AtenOp::dequantize_per_tensor_default,
     .integers = PlainIntegers::kAny,
     .legal = dequantize_fits,
     .lower = dequantize},
};
static_assert(lowers_all_of(kQuantizationRows, {AtenFamily::kQuantization}));

}  // namespace

std::span<const LoweringRow> quantization_rows() {
  return kQuantizationRows;
}

}  // namespace carina::lower
