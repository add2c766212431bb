// ABS, BITWISE_NOT, CLZ, LOGICAL_NOT, NEGATE, CLAMP: operators with one operand (and zero points) on integers, bools
// and floats.

#include <bit>
#include <cmath>
#include <limits>

#include "carina/check.h"
#include "interpret/elementwise_internal.h"
#include "interpret/ops/clamp_bounds_internal.h"
#include "tensor/fixed_point.h"

namespace carina::interpret {

namespace {

using enum DType;

struct AbsInt {
  static constexpr std::string_view kRequire = "the absolute value of -2^31 does not fit";
  static int32_t apply(int32_t x, bool& bad) {
    bad |= x == std::numeric_limits<int32_t>::min();
    return x < 0 ? static_cast<int32_t>(0U - static_cast<uint32_t>(x)) : x;
  }
};

struct AbsFloat {
  static constexpr std::string_view kRequire = {};
  static float apply(float x, bool&) { return std::fabs(x); }
};

struct BitwiseNot {
  static constexpr std::string_view kRequire = {};
  static int32_t apply(int32_t x, bool&) { return ~x; }
};

struct CountLeadingZeros {
  static constexpr std::string_view kRequire = {};
  static int32_t apply(int32_t x, bool&) { return std::countl_zero(static_cast<uint32_t>(x)); }
};

struct LogicalNot {
  static constexpr std::string_view kRequire = {};
  static uint8_t apply(uint8_t x, bool&) { return x == 0 ? 1 : 0; }
};

struct NegateFloat {
  static constexpr std::string_view kRequire = {};
  static float apply(float x, bool&) { return -x; }
};

template <typename Element>
struct NegateInt {
  // Narrower types saturate; i32 has no wider accumulator.
  static constexpr bool kMayOverflow = std::is_same_v<typename Element::Storage, int32_t>;
  static constexpr std::string_view kRequire = kMayOverflow ? "the negative of -2^31 does not fit" : std::string_view{};
  int64_t input_zp;
  int64_t output_zp;
  int32_t apply(int32_t x, bool& bad) const {
    if constexpr (kMayOverflow) bad |= x == std::numeric_limits<int32_t>::min();
    return saturate<typename Element::Storage>(output_zp - (int64_t{x} - input_zp));
  }
};

template <typename Element>
Kernel negate(const NodePlan& plan) {
  return elementwise_with<Element, Element>(plan, [](const Call& call) {
    return NegateInt<Element>{.input_zp = scalar_at(call.in[1], Element::kDType),
                              .output_zp = scalar_at(call.in[2], Element::kDType)};
  });
}

// Returns a bound of CLAMP, which is an int64 for integers and a double for floats.
double number(const NodePlan& plan, std::string_view name) {
  return plan.node.attributes.number(name);
}

template <typename Element>
struct ClampInt {
  static constexpr std::string_view kRequire = {};
  int32_t low;
  int32_t high;
  int32_t apply(int32_t x, bool&) const { return std::min(std::max(x, low), high); }
};

template <typename Element>
Kernel clamp_int(const NodePlan& plan) {
  const ClampInt<Element> clamp{.low = static_cast<int32_t>(number(plan, "min_val")),
                                .high = static_cast<int32_t>(number(plan, "max_val"))};
  return elementwise_with<Element, Element>(plan, [clamp](const Call&) { return clamp; });
}

template <bool Ignore>
struct ClampFloat {
  static constexpr std::string_view kRequire = {};
  float low;
  float high;
  // A NaN fails every comparison, so it is returned unchanged; with kIgnore it becomes the lower bound. For equal
  // zeros, the upper bound's sign has priority over that of x, because apply_min_s returns its second operand if
  // neither is less.
  float apply(float x, bool&) const {
    const float raised = x < low || (Ignore && std::isnan(x)) ? low : x;
    return raised >= high ? high : raised;
  }
};

template <typename Element, bool Ignore>
Kernel clamp_float_with(const NodePlan& plan) {
  const ClampFloat<Ignore> clamp{.low = static_cast<float>(number(plan, "min_val")),
                                 .high = static_cast<float>(number(plan, "max_val"))};
  return elementwise_with<Element, Element>(plan, [clamp](const Call&) { return clamp; });
}

template <typename Element>
Kernel clamp_float(const NodePlan& plan) {
  constexpr int64_t kIgnore = 2;
  return plan.node.attributes.integer("nan_mode") == kIgnore ? clamp_float_with<Element, true>(plan)
                                                             : clamp_float_with<Element, false>(plan);
}

}  // namespace

std::optional<kernels::BoundsF32> clamp_bounds_of(const TailPlan& plan) {
  if (plan.tail.empty()) return kernels::BoundsF32{};
  const NodePlan& clamp = plan.tail.front();
  constexpr int64_t kPropagate = 1;
  if (plan.tail.size() > 1 || clamp.node.op != ir::Op(TosaOp::CLAMP) ||
      clamp.node.attributes.integer("nan_mode") != kPropagate)
    return std::nullopt;
  if (clamp.out[0].dtype != kFp32 || !(*clamp.out[0].shape == *plan.node.out[0].shape)) return std::nullopt;
  return kernels::BoundsF32{.low = static_cast<float>(number(clamp, "min_val")),
                            .high = static_cast<float>(number(clamp, "max_val"))};
}

Result<Kernel> prepare_ABS(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kInt32, kInt32}, .make = &elementwise<AbsInt, I32, I32>},
      {.types = {kFp32, kFp32}, .make = &elementwise<AbsFloat, F32, F32>},
      {.types = {kFp16, kFp16}, .make = &elementwise<AbsFloat, F16, F16>},
      {.types = {kBf16, kBf16}, .make = &elementwise<AbsFloat, BF16, BF16>},
  };
  return prepare_elementwise(plan, 1, kRows);
}

Result<Kernel> prepare_BITWISE_NOT(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kInt8, kInt8}, .make = &elementwise<BitwiseNot, I8, I8>},
      {.types = {kInt16, kInt16}, .make = &elementwise<BitwiseNot, I16, I16>},
      {.types = {kInt32, kInt32}, .make = &elementwise<BitwiseNot, I32, I32>},
  };
  return prepare_elementwise(plan, 1, kRows);
}

Result<Kernel> prepare_CLZ(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {{.types = {kInt32, kInt32}, .make = &elementwise<CountLeadingZeros, I32, I32>}};
  return prepare_elementwise(plan, 1, kRows);
}

Result<Kernel> prepare_LOGICAL_NOT(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {{.types = {kBool, kBool}, .make = &elementwise<LogicalNot, Bool, Bool>}};
  return prepare_elementwise(plan, 1, kRows);
}

Result<Kernel> prepare_NEGATE(const NodePlan& plan) {
  CARINA_CHECKED(check_elementwise(plan, 1, 2));
  for (size_t i = 1; i <= 2; ++i)
    CARINA_CHECKED(Checks(plan).same_type(plan.in[i], plan.in[0].dtype).scalar(plan.in[i]).done());
  static constexpr TypeRow kRows[] = {
      {.types = {kInt8, kInt8, kInt8, kInt8}, .make = &negate<I8>},
      {.types = {kInt16, kInt16, kInt16, kInt16}, .make = &negate<I16>},
      {.types = {kInt32, kInt32, kInt32, kInt32}, .make = &negate<I32>},
      {.types = {kFp32, kFp32, kFp32, kFp32}, .make = &elementwise<NegateFloat, F32, F32>},
      {.types = {kFp16, kFp16, kFp16, kFp16}, .make = &elementwise<NegateFloat, F16, F16>},
      {.types = {kBf16, kBf16, kBf16, kBf16}, .make = &elementwise<NegateFloat, BF16, BF16>},
  };
  return choose(plan, kRows);
}

Result<Kernel> prepare_CLAMP(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kInt8, kInt8}, .make = &clamp_int<I8>},     {.types = {kInt16, kInt16}, .make = &clamp_int<I16>},
      {.types = {kFp32, kFp32}, .make = &clamp_float<F32>},  {.types = {kFp16, kFp16}, .make = &clamp_float<F16>},
      {.types = {kBf16, kBf16}, .make = &clamp_float<BF16>},
  };
  return prepare_elementwise(plan, 1, kRows);
}

}  // namespace carina::interpret
