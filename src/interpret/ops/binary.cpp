// Binary operators with broadcasting: arithmetic, shifts, bits, logic, comparison, and SELECT.

#include <cmath>
#include <limits>

#include "interpret/elementwise_internal.h"
#include "interpret/ops/elementwise_f32_internal.h"
#include "interpret/ops/nan_internal.h"
#include "kernels/micro/float_math.h"

namespace carina::interpret {

namespace {

using enum DType;

// Overflow is found by signs, as compilers vectorize neither __builtin_add_overflow nor a bool among 32-bit lanes.
struct AddInt {
  static constexpr std::string_view kRequire = "the sum does not fit i32";
  static int32_t apply(int32_t a, int32_t b, BadIfNegative& bad) {
    const auto sum = static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
    bad.signs |= (a ^ sum) & (b ^ sum);
    return sum;
  }
};
struct SubInt {
  static constexpr std::string_view kRequire = "the difference does not fit i32";
  static int32_t apply(int32_t a, int32_t b, BadIfNegative& bad) {
    const auto difference = static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
    bad.signs |= (a ^ b) & (a ^ difference);
    return difference;
  }
};
struct IntDiv {
  static constexpr std::string_view kRequire = "division by zero, or of -2^31 by -1";
  static int32_t apply(int32_t a, int32_t b, bool& bad) {
    const bool wrong = b == 0 || (a == std::numeric_limits<int32_t>::min() && b == -1);
    bad |= wrong;
    return wrong ? 0 : a / b;
  }
};

struct AddFloat {
  static constexpr std::string_view kRequire = {};
  static float apply(float a, float b, bool&) { return a + b; }
};
struct SubFloat {
  static constexpr std::string_view kRequire = {};
  static float apply(float a, float b, bool&) { return a - b; }
};
struct PowFloat {
  static constexpr std::string_view kRequire =
      "the base is below zero, or zero to a power that is not above zero, or an operand is infinite or NaN";
  static float apply(float a, float b, bool& bad) {
    bad |= !(a > 0 || (a == 0 && b > 0)) || !std::isfinite(a) || !std::isfinite(b);
    return kernels::exact_pow(a, b);
  }
};

struct MaxInt {
  static constexpr std::string_view kRequire = {};
  static int32_t apply(int32_t a, int32_t b, bool&) { return std::max(a, b); }
};
struct MinInt {
  static constexpr std::string_view kRequire = {};
  static int32_t apply(int32_t a, int32_t b, bool&) { return std::min(a, b); }
};
template <NanMode Mode>
struct MaxFloat {
  static constexpr std::string_view kRequire = {};
  static float apply(float a, float b, bool&) { return float_max<Mode>(a, b); }
};
template <NanMode Mode>
struct MinFloat {
  static constexpr std::string_view kRequire = {};
  static float apply(float a, float b, bool&) { return float_min<Mode>(a, b); }
};

// The second operand of a shift must be less than the width of the type.
template <typename Element>
struct ShiftBase {
  static constexpr int kBits = std::numeric_limits<std::make_unsigned_t<typename Element::Storage>>::digits;
  static constexpr std::string_view kRequire = "a shift outside of [0, bits of the type)";
  static bool wrong(int32_t shift) { return shift < 0 || shift >= kBits; }
};
template <typename Element>
struct ShiftLeft : ShiftBase<Element> {
  static int32_t apply(int32_t a, int32_t shift, bool& bad) {
    const bool wrong = ShiftBase<Element>::wrong(shift);
    bad |= wrong;
    return static_cast<int32_t>(static_cast<uint32_t>(a) << (wrong ? 0 : shift));
  }
};
template <typename Element>
struct ShiftRightLogical : ShiftBase<Element> {
  static int32_t apply(int32_t a, int32_t shift, bool& bad) {
    const bool wrong = ShiftBase<Element>::wrong(shift);
    bad |= wrong;
    const auto unsigned_a = static_cast<std::make_unsigned_t<typename Element::Storage>>(a);
    return static_cast<int32_t>(uint32_t{unsigned_a} >> (wrong ? 0 : shift));
  }
};
template <typename Element, bool Round>
struct ShiftRightArithmetic : ShiftBase<Element> {
  static int32_t apply(int32_t a, int32_t shift, bool& bad) {
    const bool wrong = ShiftBase<Element>::wrong(shift);
    bad |= wrong;
    const int s = wrong ? 0 : shift;
    const int32_t half = Round && s > 0 ? (a >> (s - 1)) & 1 : 0;
    return (a >> s) + half;
  }
};

template <auto Function>
struct Bits {
  static constexpr std::string_view kRequire = {};
  static auto apply(auto a, auto b, bool&) { return static_cast<decltype(a)>(Function(a, b)); }
};
using And = Bits<[](auto a, auto b) { return a & b; }>;
using Or = Bits<[](auto a, auto b) { return a | b; }>;
using Xor = Bits<[](auto a, auto b) { return a ^ b; }>;

template <auto Function>
struct Compare {
  static constexpr std::string_view kRequire = {};
  static uint8_t apply(auto a, auto b, bool&) { return Function(a, b) ? 1 : 0; }
};
using Equal = Compare<std::equal_to<>{}>;
using Greater = Compare<std::greater<>{}>;
using GreaterEqual = Compare<std::greater_equal<>{}>;

template <typename Int, typename Float, auto kF32 = &elementwise<Float, F32, F32, F32>>
Result<Kernel> arithmetic(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kInt32, kInt32, kInt32}, .make = &elementwise<Int, I32, I32, I32>},
      {.types = {kFp32, kFp32, kFp32}, .make = kF32},
      {.types = {kFp16, kFp16, kFp16}, .make = &elementwise<Float, F16, F16, F16>},
      {.types = {kBf16, kBf16, kBf16}, .make = &elementwise<Float, BF16, BF16, BF16>},
  };
  return prepare_elementwise(plan, 2, kRows);
}

template <typename Function8, typename Function16, typename Function32>
Result<Kernel> integers(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kInt8, kInt8, kInt8}, .make = &elementwise<Function8, I8, I8, I8>},
      {.types = {kInt16, kInt16, kInt16}, .make = &elementwise<Function16, I16, I16, I16>},
      {.types = {kInt32, kInt32, kInt32}, .make = &elementwise<Function32, I32, I32, I32>},
  };
  return prepare_elementwise(plan, 2, kRows);
}

template <typename Function>
Result<Kernel> booleans(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kBool, kBool, kBool}, .make = &elementwise<Function, Bool, Bool, Bool>}};
  return prepare_elementwise(plan, 2, kRows);
}

template <typename Function>
Result<Kernel> comparison(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kInt32, kInt32, kBool}, .make = &elementwise<Function, Bool, I32, I32>},
      {.types = {kFp32, kFp32, kBool}, .make = &elementwise<Function, Bool, F32, F32>},
      {.types = {kFp16, kFp16, kBool}, .make = &elementwise<Function, Bool, F16, F16>},
      {.types = {kBf16, kBf16, kBool}, .make = &elementwise<Function, Bool, BF16, BF16>},
  };
  return prepare_elementwise(plan, 2, kRows);
}

// SELECT copies bytes and does not interpret them.
template <typename Element>
struct Choose {
  static constexpr std::string_view kRequire = {};
  static auto apply(uint8_t condition, auto a, auto b, bool&) { return condition != 0 ? a : b; }
};
template <typename Storage>
using Raw = Plain<kUnknown, Storage>;
template <typename Storage>
inline constexpr auto kSelect = &elementwise<Choose<Raw<Storage>>, Raw<Storage>, Bool, Raw<Storage>, Raw<Storage>>;

}  // namespace

Result<Kernel> prepare_ADD(const NodePlan& plan) {
  return arithmetic<AddInt, AddFloat, &elementwise_f32>(plan);
}
Result<Kernel> prepare_SUB(const NodePlan& plan) {
  return arithmetic<SubInt, SubFloat, &elementwise_f32>(plan);
}

Result<Kernel> prepare_INTDIV(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {{.types = {kInt32, kInt32, kInt32}, .make = &elementwise<IntDiv, I32, I32, I32>}};
  return prepare_elementwise(plan, 2, kRows);
}

Result<Kernel> prepare_POW(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kFp32, kFp32, kFp32}, .make = &elementwise<PowFloat, F32, F32, F32>},
      {.types = {kFp16, kFp16, kFp16}, .make = &elementwise<PowFloat, F16, F16, F16>},
      {.types = {kBf16, kBf16, kBf16}, .make = &elementwise<PowFloat, BF16, BF16, BF16>},
  };
  return prepare_elementwise(plan, 2, kRows);
}

Result<Kernel> prepare_MAXIMUM(const NodePlan& plan) {
  return nan_mode_of(plan) == NanMode::kIgnore ? arithmetic<MaxInt, MaxFloat<NanMode::kIgnore>>(plan)
                                               : arithmetic<MaxInt, MaxFloat<NanMode::kPropagate>>(plan);
}
Result<Kernel> prepare_MINIMUM(const NodePlan& plan) {
  return nan_mode_of(plan) == NanMode::kIgnore ? arithmetic<MinInt, MinFloat<NanMode::kIgnore>>(plan)
                                               : arithmetic<MinInt, MinFloat<NanMode::kPropagate>>(plan);
}

Result<Kernel> prepare_LOGICAL_LEFT_SHIFT(const NodePlan& plan) {
  return integers<ShiftLeft<I8>, ShiftLeft<I16>, ShiftLeft<I32>>(plan);
}
Result<Kernel> prepare_LOGICAL_RIGHT_SHIFT(const NodePlan& plan) {
  return integers<ShiftRightLogical<I8>, ShiftRightLogical<I16>, ShiftRightLogical<I32>>(plan);
}
Result<Kernel> prepare_ARITHMETIC_RIGHT_SHIFT(const NodePlan& plan) {
  if (plan.node.attributes.get<bool>("round")) {
    return integers<ShiftRightArithmetic<I8, true>, ShiftRightArithmetic<I16, true>, ShiftRightArithmetic<I32, true>>(
        plan);
  }
  return integers<ShiftRightArithmetic<I8, false>, ShiftRightArithmetic<I16, false>, ShiftRightArithmetic<I32, false>>(
      plan);
}

Result<Kernel> prepare_BITWISE_AND(const NodePlan& plan) {
  return integers<And, And, And>(plan);
}
Result<Kernel> prepare_BITWISE_OR(const NodePlan& plan) {
  return integers<Or, Or, Or>(plan);
}
Result<Kernel> prepare_BITWISE_XOR(const NodePlan& plan) {
  return integers<Xor, Xor, Xor>(plan);
}
Result<Kernel> prepare_LOGICAL_AND(const NodePlan& plan) {
  return booleans<And>(plan);
}
Result<Kernel> prepare_LOGICAL_OR(const NodePlan& plan) {
  return booleans<Or>(plan);
}
Result<Kernel> prepare_LOGICAL_XOR(const NodePlan& plan) {
  return booleans<Xor>(plan);
}
Result<Kernel> prepare_EQUAL(const NodePlan& plan) {
  return comparison<Equal>(plan);
}
Result<Kernel> prepare_GREATER(const NodePlan& plan) {
  return comparison<Greater>(plan);
}
Result<Kernel> prepare_GREATER_EQUAL(const NodePlan& plan) {
  return comparison<GreaterEqual>(plan);
}

Result<Kernel> prepare_SELECT(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kBool, kBool, kBool, kBool}, .make = kSelect<uint8_t>},
      {.types = {kBool, kInt8, kInt8, kInt8}, .make = kSelect<uint8_t>},
      {.types = {kBool, kInt16, kInt16, kInt16}, .make = kSelect<uint16_t>},
      {.types = {kBool, kInt32, kInt32, kInt32}, .make = kSelect<uint32_t>},
      {.types = {kBool, kFp16, kFp16, kFp16}, .make = kSelect<uint16_t>},
      {.types = {kBool, kBf16, kBf16, kBf16}, .make = kSelect<uint16_t>},
      {.types = {kBool, kFp32, kFp32, kFp32}, .make = kSelect<uint32_t>},
  };
  return prepare_elementwise(plan, 3, kRows);
}

}  // namespace carina::interpret
