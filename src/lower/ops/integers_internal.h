#pragma once

#include "lower/lowering_internal.h"

namespace carina::lower {

// Elementwise functions of one operand that PyTorch also defines for integers.
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

// Lowers such an operator for plain integers of any width. It computes in int32; narrower results are its low bits.
Result<ir::ValueId> integer_form(Lowering& in, const ir::Node& node);

}  // namespace carina::lower
