#include "lower/ops/casts_internal.h"

namespace carina::lower {

using ir::ValueId;

namespace {

ValueId zero_like(ir::Emitter& out, ValueId value) {
  return out.splat(out.dtype(value), 0, out.shape(value).rank());
}

// PyTorch truncates and, through int32, wraps. TOSA rounds to nearest and saturates, so both need extra nodes.
ValueId to_integers(ir::Emitter& out, ValueId floats, DType to) {
  return out.cast(out.cast(truncated(out, floats), DType::kInt32), to);
}

}  // namespace

ValueId truncated(ir::Emitter& out, ValueId floats) {
  const ValueId is_negative = out.compare(TosaOp::GREATER, zero_like(out, floats), floats);
  const ValueId floor = out.unary(TosaOp::FLOOR, floats);
  return out.select(is_negative, out.unary(TosaOp::CEIL, floats), floor);
}

ValueId converted(ir::Emitter& out, ValueId input, DType to) {
  const DType from = out.dtype(input);
  if (from == to) return input;
  if (is_float(from) && to == DType::kBool)
    return out.unary(TosaOp::LOGICAL_NOT, out.compare(TosaOp::EQUAL, input, zero_like(out, input)));
  if (is_float(from) && !is_float(to)) return to_integers(out, input, to);
  // TOSA casts bool to integers only.
  if (from == DType::kBool && is_float(to)) return out.cast(out.cast(input, DType::kInt8), to);
  return out.cast(input, to);
}

}  // namespace carina::lower
