#include "lower/ops/integers_internal.h"

#include "lower/ops/casts_internal.h"

namespace carina::lower {

using ir::ValueId;

namespace {

ValueId sign(ir::Emitter& out, ValueId x, const auto& number) {
  const ValueId below = out.select(out.compare(TosaOp::GREATER, number(0), x), number(-1), number(0));
  return out.select(out.compare(TosaOp::GREATER, x, number(0)), number(1), below);
}

}  // namespace

Result<ValueId> integer_form(Lowering& in, const ir::Node& node) {
  const ValueId x = converted(in.out, in.operand(node.inputs[0]), DType::kInt32);
  const auto number = [&](double value) { return in.out.splat(DType::kInt32, value, in.out.shape(x).rank()); };
  ValueId result = x;  // integers need no rounding
  if (node.op == ir::Op(AtenOp::abs_default)) result = in.out.unary(TosaOp::ABS, x);
  if (node.op == ir::Op(AtenOp::neg_default)) result = in.out.binary(TosaOp::SUB, number(0), x);
  if (node.op == ir::Op(AtenOp::sign_default)) result = sign(in.out, x, number);
  return converted(in.out, result, tosa_type(in.value(node.outputs[0]).dtype));
}

}  // namespace carina::lower
