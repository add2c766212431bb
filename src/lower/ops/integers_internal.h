#pragma once

#include "lower/lowering_internal.h"

namespace carina::lower {

// Functions of one element that PyTorch knows for integers, too.
constexpr bool has_integer_form(AtenOp op) {
  switch (op) {
    case AtenOp::abs_default:
    case AtenOp::neg_default:
    case AtenOp::sign_default:
    case AtenOp::floor_default:
    case AtenOp::ceil_default:
    case AtenOp::round_default:
    case AtenOp::trunc_default:
      return true;
    default:
      return false;
  }
}

// The lowering of such an operator of plain integers, of any width: in int32, of which narrower results are the low
// bits.
Result<ir::ValueId> integer_form(Lowering& in, const ir::Node& node);

}  // namespace carina::lower
