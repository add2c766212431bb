#include "firmware/npu/arithmetic.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace carina::firmware::npu_core {

namespace {

constexpr size_t kInterpolatedEntries = 512;

// A 128-bit number in two's complement. The compiler has no such type for 32-bit targets.
struct Wide {
  int64_t high;
  uint64_t low;
};

Wide product_of(int64_t value, uint32_t multiplier) {
  const uint64_t low = uint64_t{static_cast<uint32_t>(value)} * multiplier;
  const int64_t middle = (value >> 32) * int64_t{multiplier};
  const uint64_t sum = low + (static_cast<uint64_t>(middle) << 32);
  return {.high = (middle >> 32) + (sum < low ? 1 : 0), .low = sum};
}

Wide sum_of(const Wide& a, int64_t b) {
  const uint64_t low = a.low + static_cast<uint64_t>(b);
  return {.high = a.high + (b >> 63) + (low < a.low ? 1 : 0), .low = low};
}

int64_t shifted(const Wide& value, int shift) {
  return static_cast<int64_t>(value.low >> shift | static_cast<uint64_t>(value.high) << (64 - shift));
}

// The rounding term, which is added to the exact product before the shift. The shift is in [1, 63].
int64_t rounding_term(bool negative, const Scaling& s) {
  const int64_t half = int64_t{1} << (s.shift - 1);
  switch (s.mode) {
    case Rounding::kNatural:
      return half;
    case Rounding::kDouble: {
      if (int{s.shift} <= 31 - s.double_round || s.double_round > 30) return half;
      const int64_t second = int64_t{1} << (30 - s.double_round);
      return negative ? half - second : half + second;
    }
    case Rounding::kTruncate:
      return negative ? static_cast<int64_t>((uint64_t{1} << s.shift) - 1) : 0;
  }
  return 0;
}

int64_t shift_right(int64_t a, int64_t b, Rounding mode) {
  const int count = static_cast<int>(std::clamp<int64_t>(b, 0, 63));
  if (count == 0) return a;
  const int64_t half = mode == Rounding::kNatural ? int64_t{1} << (count - 1) : 0;
  return (a + half) >> count;
}

int64_t shift_left(int64_t a, int64_t b) {
  if (b >= 32) return 0;
  return static_cast<int32_t>(static_cast<uint32_t>(a) << std::max<int64_t>(b, 0));
}

// The left shift of the operand without a scale of its own, so that both operands have one scale.
int operand_shift(const Operation& op) {
  return op.ifm.type.bytes == 1 ? 19 : 14;
}

int64_t scale_first(const Operation& op, int64_t a) {
  if (op.has_wide_operand()) return a;
  switch (op.operand_scaling) {
    case OperandScaling::kBoth16:
      return a * int64_t{op.first.multiplier & 0xFFFF};
    case OperandScaling::kFirst32:
      return apply(a, op.first);
    case OperandScaling::kSecond32:
      return a * (int64_t{1} << operand_shift(op));
  }
  return a;
}

int64_t scale_second(const Operation& op, int64_t b) {
  if (op.has_wide_operand()) return b;
  switch (op.operand_scaling) {
    case OperandScaling::kBoth16:
      return b * int64_t{op.second.multiplier};
    case OperandScaling::kFirst32:
      return b * (int64_t{1} << operand_shift(op));
    case OperandScaling::kSecond32:
      return apply(b, op.first);  // OPA_SCALE always contains the 32-bit scale
  }
  return b;
}

int64_t entry_at(std::span<const std::byte> table, size_t at, const ElementType& type) {
  uint64_t raw = 0;
  for (size_t i = type.bytes; i-- > 0;) raw = raw << 8 | std::to_integer<uint64_t>(table[at + i]);
  const int unused = 64 - 8 * type.bytes;
  return type.is_signed ? static_cast<int64_t>(raw << unused) >> unused : static_cast<int64_t>(raw);
}

}  // namespace

int64_t apply(int64_t value, const Scaling& scaling) {
  const Wide product = product_of(value, scaling.multiplier);
  if (scaling.shift == 0) return static_cast<int64_t>(product.low);
  return shifted(sum_of(product, rounding_term(product.high < 0, scaling)), scaling.shift);
}

int64_t divide_half_away(int64_t sum, int64_t count) {
  if (count == 0) return 0;
  return sum >= 0 ? (sum + count / 2) / count : -((-sum + count / 2) / count);
}

int64_t combine(const Operation& op, int64_t a, int64_t b) {
  switch (op.elementwise) {
    case Elementwise::kMul: {
      int64_t product = 0;  // signed 32-bit operands fit, unsigned ones may not
      if (!__builtin_mul_overflow(a, b, &product)) return product;
      return (a < 0) == (b < 0) ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
    }
    case Elementwise::kAdd:
      return scale_first(op, a) + scale_second(op, b);
    case Elementwise::kSub:
      return scale_first(op, a) - scale_second(op, b);
    case Elementwise::kMin:
      return std::min(a, b);
    case Elementwise::kMax:
      return std::max(a, b);
    case Elementwise::kLrelu:
      return a >= 0 ? a : apply(a, op.output);
    case Elementwise::kAbs:
      return a < 0 ? -a : a;
    case Elementwise::kClz:
      return std::countl_zero(static_cast<uint32_t>(a));
    case Elementwise::kShr:
      return shift_right(a, b, op.output.mode);
    case Elementwise::kShl:
      return shift_left(a, b);
  }
  return 0;
}

size_t table_bytes(const ElementType& input, const ElementType& output) {
  return input.bytes == 1 ? size_t{256} * output.bytes : kInterpolatedEntries * 4;
}

int64_t look_up(std::span<const std::byte> table, const ElementType& input, const ElementType& output, int64_t value) {
  if (input.bytes == 1) {
    const int64_t index = input.is_signed ? value + 128 : value;
    return entry_at(table, static_cast<size_t>(index & 0xFF) * output.bytes, output);
  }
  // A table for 16 bits has a base and a slope for every 128 values.
  constexpr ElementType kInt16{.bytes = 2, .is_signed = true};
  const auto index = static_cast<size_t>(((value >> 7) + 256) & 511);
  const int64_t base = entry_at(table, index * 4, kInt16);
  const int64_t slope = entry_at(table, index * 4 + 2, kInt16);
  const int64_t wide = base * 128 + slope * (value & 127);
  return output.bytes == 2 ? (wide + 64) >> 7 : wide;
}

}  // namespace carina::firmware::npu_core
