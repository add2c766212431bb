#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "ir/emitter.h"

namespace carina::lower {

// Adds float expressions of one type, for functions that TOSA does not have. No operand leaves the domain of its TOSA
// operator. POW is not used, because it REQUIREs a finite base above zero. LOG, RSQRT and RECIPROCAL are defined for
// all floats.
class FloatMath {
 public:
  explicit FloatMath(ir::Emitter& out) : out_(out) {}

  ir::ValueId add(ir::ValueId a, ir::ValueId b) { return out_.binary(TosaOp::ADD, a, b); }
  ir::ValueId sub(ir::ValueId a, ir::ValueId b) { return out_.binary(TosaOp::SUB, a, b); }
  ir::ValueId mul(ir::ValueId a, ir::ValueId b) { return out_.binary(TosaOp::MUL, a, b); }
  ir::ValueId add(ir::ValueId a, double b) { return add(a, like(a, b)); }
  ir::ValueId sub(double a, ir::ValueId b) { return sub(like(b, a), b); }
  ir::ValueId mul(ir::ValueId a, double b) { return mul(a, like(a, b)); }
  ir::ValueId minimum(ir::ValueId a, ir::ValueId b) { return out_.binary(TosaOp::MINIMUM, a, b); }
  ir::ValueId power(ir::ValueId a, double b) {
    constexpr double kLargest = 1 << 20;
    if (b != std::trunc(b) || std::abs(b) > kLargest) return exp(mul(log(a), b));
    const ir::ValueId product = whole_power(a, static_cast<uint32_t>(std::abs(b)));
    return b < 0 ? reciprocal(product) : product;
  }
  ir::ValueId clamp(ir::ValueId a, double min, double max) { return out_.clamp(a, min, max); }
  ir::ValueId apply(TosaOp op, ir::ValueId a) { return out_.unary(op, a); }
  ir::ValueId exp(ir::ValueId a) { return apply(TosaOp::EXP, a); }
  ir::ValueId log(ir::ValueId a) { return apply(TosaOp::LOG, a); }
  ir::ValueId abs(ir::ValueId a) { return apply(TosaOp::ABS, a); }
  ir::ValueId reciprocal(ir::ValueId a) { return apply(TosaOp::RECIPROCAL, a); }
  // 0 for 0, infinity for infinity, NaN below zero.
  ir::ValueId sqrt(ir::ValueId a) { return reciprocal(apply(TosaOp::RSQRT, a)); }
  ir::ValueId negate(ir::ValueId a) { return mul(a, -1); }

  // A comparison with NaN is false.
  ir::ValueId greater(ir::ValueId a, ir::ValueId b) { return out_.compare(TosaOp::GREATER, a, b); }
  ir::ValueId greater(ir::ValueId a, double b) { return greater(a, like(a, b)); }
  ir::ValueId less(ir::ValueId a, double b) { return greater(like(a, b), a); }
  ir::ValueId less_equal(ir::ValueId a, double b) { return out_.compare(TosaOp::GREATER_EQUAL, like(a, b), a); }
  ir::ValueId equal(ir::ValueId a, ir::ValueId b) { return out_.compare(TosaOp::EQUAL, a, b); }
  ir::ValueId equal(ir::ValueId a, double b) { return equal(a, like(a, b)); }
  ir::ValueId select(ir::ValueId condition, ir::ValueId yes, ir::ValueId no) { return out_.select(condition, yes, no); }
  ir::ValueId select(ir::ValueId condition, double yes, ir::ValueId no) { return select(condition, like(no, yes), no); }
  ir::ValueId select(ir::ValueId condition, ir::ValueId yes, double no) {
    return select(condition, yes, like(yes, no));
  }
  // `magnitude` with the sign of `x`. If `x` is NaN, `magnitude` must be NaN too.
  ir::ValueId signed_like(ir::ValueId magnitude, ir::ValueId x) {
    const ir::ValueId negated = negate(magnitude);
    return select(less(x, 0), negated, magnitude);
  }
  // Coefficients are in descending order of powers.
  ir::ValueId polynomial(ir::ValueId x, std::initializer_list<double> coefficients) {
    ir::ValueId sum = mul(x, *coefficients.begin());
    for (const double* c = coefficients.begin() + 1; c != coefficients.end(); ++c) {
      sum = add(sum, *c);
      if (c + 1 != coefficients.end()) sum = mul(sum, x);
    }
    return sum;
  }

  [[nodiscard]] DType dtype(ir::ValueId a) const { return out_.dtype(a); }
  // The number as a constant with the rank of `a`.
  ir::ValueId like(ir::ValueId a, double value) { return out_.splat(out_.dtype(a), value, out_.shape(a).rank()); }
  ir::Emitter& out() { return out_; }

 private:
  // Exponentiation by squaring.
  ir::ValueId whole_power(ir::ValueId a, uint32_t exponent) {
    if (exponent == 0) return clamp(a, 1, 1);
    ir::ValueId product;
    for (ir::ValueId square = a;; square = mul(square, square)) {
      if (exponent % 2 == 1) product = product.valid() ? mul(product, square) : square;
      exponent /= 2;
      if (exponent == 0) return product;
    }
  }

  ir::Emitter& out_;
};

}  // namespace carina::lower
