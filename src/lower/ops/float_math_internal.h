#pragma once

#include <cmath>
#include <cstdint>

#include "lower/emitter_internal.h"

namespace carina::lower {

// Expressions of floats, for functions that TOSA does not have.
class FloatMath {
 public:
  explicit FloatMath(Emitter& out) : out_(out) {}

  ir::ValueId add(ir::ValueId a, ir::ValueId b) { return out_.binary(TosaOp::ADD, a, b); }
  ir::ValueId sub(ir::ValueId a, ir::ValueId b) { return out_.binary(TosaOp::SUB, a, b); }
  ir::ValueId mul(ir::ValueId a, ir::ValueId b) { return out_.binary(TosaOp::MUL, a, b); }
  ir::ValueId add(ir::ValueId a, double b) { return add(a, like(a, b)); }
  ir::ValueId mul(ir::ValueId a, double b) { return mul(a, like(a, b)); }
  // TOSA's POW REQUIREs a base that is not negative; whole exponents are products, which take any base.
  ir::ValueId power(ir::ValueId a, double b) {
    constexpr double kLargest = 1 << 20;
    if (b != std::trunc(b) || std::abs(b) > kLargest) return out_.binary(TosaOp::POW, a, like(a, b));
    const ir::ValueId product = whole_power(a, static_cast<uint32_t>(std::abs(b)));
    return b < 0 ? apply(TosaOp::RECIPROCAL, product) : product;
  }
  ir::ValueId clamp(ir::ValueId a, double min, double max) { return out_.clamp(a, min, max); }
  ir::ValueId apply(TosaOp op, ir::ValueId a) { return out_.unary(op, a); }
  ir::ValueId exp(ir::ValueId a) { return apply(TosaOp::EXP, a); }
  ir::ValueId log(ir::ValueId a) { return apply(TosaOp::LOG, a); }
  ir::ValueId negate(ir::ValueId a) { return mul(a, -1); }
  ir::ValueId like(ir::ValueId a, double value) { return out_.splat(out_.dtype(a), value, out_.shape(a).rank()); }
  Emitter& out() { return out_; }

 private:
  // By repeated squares.
  ir::ValueId whole_power(ir::ValueId a, uint32_t exponent) {
    if (exponent == 0) return clamp(a, 1, 1);
    ir::ValueId product;
    for (ir::ValueId square = a;; square = mul(square, square)) {
      if (exponent % 2 == 1) product = product.valid() ? mul(product, square) : square;
      exponent /= 2;
      if (exponent == 0) return product;
    }
  }

  Emitter& out_;
};

}  // namespace carina::lower
