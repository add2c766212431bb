#include <algorithm>
#include <bit>
#include <limits>

#include "simulate/kernels/scaling_internal.h"
#include "simulate/kernels/store_internal.h"

// The function of an elementwise operation for one pair of elements: operand scaling, then the operator in 64 bits.
//   Example: ADD with scales 2^-1 and 2^-2: 8 + 4 becomes 8 / 2 + 4 / 4 = 5, before the output's scale.
namespace carina::simulate {

namespace {

int operand_bits(const Operation& op) {
  return 8 * op.ifm.type.bytes;
}

int64_t saturating(Wide value) {
  return static_cast<int64_t>(
      std::clamp<Wide>(value, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
}

int64_t shift_count(int64_t b) {
  return std::clamp<int64_t>(b, 0, 63);
}

// Arithmetic shift right, rounded half up in NATURAL mode, down otherwise. Source: docs/facts/ethosu.md 4.4.
int64_t shift_right(int64_t a, int64_t b, RoundMode mode) {
  const int64_t count = shift_count(b);
  if (count == 0) return a;
  const Wide half = mode == RoundMode::kNatural ? Wide{1} << (count - 1) : 0;
  return static_cast<int64_t>((Wide{a} + half) >> count);
}

int64_t shift_right_logical(int64_t a, int64_t b, int bits) {
  const uint64_t masked =
      bits >= 64 ? static_cast<uint64_t>(a) : static_cast<uint64_t>(a) & ((uint64_t{1} << bits) - 1);
  return b >= bits ? 0 : static_cast<int64_t>(masked >> shift_count(b));
}

int64_t shift_left(int64_t a, int64_t b) {
  if (b >= 32) return 0;
  return static_cast<int32_t>(static_cast<uint32_t>(a) << shift_count(b));
}

int64_t divide(int64_t a, int64_t b) {
  if (b == 0) return a >= 0 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int32_t>::min();
  return saturating(Wide{a} / b);
}

int64_t truth(bool value) {
  return value ? -1 : 0;
}

}  // namespace

int64_t ElementwiseFunction::scale_first(int64_t a) const {
  const int k = op_.ifm.type.bytes == 1 ? 19 : 14;
  switch (op_.operand_scaling) {
    case OperandScaling::kBothFull:
      return apply(a, op_.first);
    case OperandScaling::kBoth16:
      return wide_ ? a : multiply_wrapping(a, op_.first.multiplier & 0xFFFF);
    case OperandScaling::kFirst32:
      return wide_ ? a : apply(a, op_.first);
    case OperandScaling::kSecond32:
      return wide_ ? a : multiply_wrapping(a, int64_t{1} << k);
  }
  return a;
}

int64_t ElementwiseFunction::scale_second(int64_t b) const {
  const int k = op_.ifm.type.bytes == 1 ? 19 : 14;
  switch (op_.operand_scaling) {
    case OperandScaling::kBothFull:
      return apply(b, op_.second);
    case OperandScaling::kBoth16:
      return wide_ ? b : multiply_wrapping(b, op_.second.multiplier);
    case OperandScaling::kFirst32:
      return wide_ ? b : multiply_wrapping(b, int64_t{1} << k);
    case OperandScaling::kSecond32:
      return wide_ ? b : apply(b, op_.first);  // the 32-bit scale is always in OPA_SCALE
  }
  return b;
}

int64_t ElementwiseFunction::operator()(int64_t a, int64_t b) const {
  const bool scaled = op_.u85;  // U55 scales the operands of ADD and SUB only
  using enum ElementwiseMode;
  switch (op_.elementwise) {
    case kMul:
      return saturating(Wide{a} * b);
    case kAdd:
      return add_wrapping(scale_first(a), scale_second(b));
    case kSub:
      return subtract_wrapping(scale_first(a), scale_second(b));
    case kMin:
      return scaled ? std::min(scale_first(a), scale_second(b)) : std::min(a, b);
    case kMax:
      return scaled ? std::max(scale_first(a), scale_second(b)) : std::max(a, b);
    case kLrelu:
      if (op_.u85) return a >= 0 ? apply(a, op_.first) : apply(a, op_.second);
      return a >= 0 ? a : apply(a, op_.output);
    case kAbs:
      return a < 0 ? subtract_wrapping(0, a) : a;
    case kClz:
      return std::countl_zero(static_cast<uint32_t>(a));
    case kShr:
      return shift_right(a, b, op_.output.mode);
    case kShl:
      return shift_left(a, b);
    case kLsr:
      return shift_right_logical(a, b, operand_bits(op_));
    case kDiv:
      return divide(a, b);
    case kCmpEq:
      return truth(a == b);
    case kCmpNe:
      return truth(a != b);
    case kCmpGe:
      return truth(a >= b);
    case kCmpGt:
      return truth(a > b);
    case kAnd:
      return a & b;
    case kOr:
      return a | b;
    case kXor:
      return a ^ b;
    case kNot:
      return ~a;
    case kAndNot:
      return a & ~b;
  }
  return 0;
}

}  // namespace carina::simulate
