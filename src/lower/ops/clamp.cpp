// Lowers activations with limits: relu and clamp.

#include <algorithm>
#include <cmath>
#include <limits>

#include "facts/aten_traits.h"
#include "lower/lowering_internal.h"
#include "lower/ops/casts_internal.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

constexpr double kUnlimited = std::numeric_limits<float>::max();

struct Limits {
  double min;
  double max;
};

// Quantization is monotonic, so clamping the integers gives the same result as clamping the floats.
ValueId clamp_integers(Lowering& in, const Node& node, const Limits& limits) {
  const Quantization& from = in.quantization(node.inputs[0]);
  const Quantization& to = in.quantization(node.outputs[0]);
  const auto bound = [&](double real) { return quantized(static_cast<float>(real), to); };
  const int64_t min = bound(limits.min), max = bound(limits.max);
  const ValueId input = in.requantize(in.operand(node.inputs[0]), from, to);
  const IntegerRange whole = range_of(to.dtype);
  if (min <= whole.min && max >= whole.max) return input;
  return in.out.clamp(input, min, max);
}

ValueId clamp_floats(Lowering& in, const Node& node, const Limits& limits) {
  const double largest = largest_of(in.value(node.outputs[0]).dtype);
  return in.out.clamp(in.operand(node.inputs[0]), std::clamp(limits.min, -largest, largest),
                      std::clamp(limits.max, -largest, largest));
}

// Clamps int32, which TOSA's CLAMP does not support.
ValueId clamp_plain_integers(Lowering& in, const Node& node, const Limits& limits) {
  const size_t rank = in.shape(node.inputs[0]).rank();
  const auto bound = [&](double limit) {
    const IntegerRange whole = range_of(DType::kInt32);
    return in.out.splat(DType::kInt32,
                        std::clamp(limit, static_cast<double>(whole.min), static_cast<double>(whole.max)), rank);
  };
  ValueId result = converted(in.out, in.operand(node.inputs[0]), DType::kInt32);
  if (limits.min > -kUnlimited) result = in.out.binary(TosaOp::MAXIMUM, result, bound(std::ceil(limits.min)));
  if (limits.max < kUnlimited) result = in.out.binary(TosaOp::MINIMUM, result, bound(std::floor(limits.max)));
  return converted(in.out, result, tosa_type(in.value(node.outputs[0]).dtype));
}

Result<ValueId> limit(Lowering& in, const Node& node, const Limits& limits) {
  if (in.is_quantized(node)) return clamp_integers(in, node, limits);
  const DType type = in.value(node.outputs[0]).dtype;
  if (computes(type)) return clamp_floats(in, node, limits);
  if (!is_float(type)) return clamp_plain_integers(in, node, limits);
  return fail(
      normalize::about(node, std::string(node.op.name()) + " of " + std::string(name_of(type)) + " is not supported"));
}

Result<ValueId> relu(Lowering& in, const Node& node) {
  return limit(in, node, {.min = 0, .max = kUnlimited});
}

Result<ValueId> clamp(Lowering& in, const Node& node) {
  const auto number = [&](std::string_view name, double otherwise) {
    return node.attributes.is_none(name) ? otherwise
                                         : std::clamp(node.attributes.number(name), -kUnlimited, kUnlimited);
  };
  return limit(in, node, {.min = number("min", -kUnlimited), .max = number("max", kUnlimited)});
}

constexpr LoweringRow kClampRows[] = {
    {.op = AtenOp::relu_default, .integers = PlainIntegers::kAny, .legal = always, .lower = relu},
    {.op = AtenOp::clamp_default, .integers = PlainIntegers::kAny, .legal = always, .lower = clamp},
};
static_assert(lowers_all_of(kClampRows, {AtenFamily::kLimit}));

}  // namespace

std::span<const LoweringRow> clamp_rows() {
  return kClampRows;
}

}  // namespace carina::lower
