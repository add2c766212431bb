// MUL: the product. An i32 product is shifted right with rounding; with shift 0 the result is its low 32 bits.

#include <limits>

#include "interpret/elementwise_internal.h"
#include "interpret/ops/elementwise_f32_internal.h"

namespace carina::interpret {

namespace {

using enum DType;

struct MulSmall {
  static constexpr std::string_view kRequire = {};
  static int32_t apply(int32_t a, int32_t b, bool&) { return a * b; }
};

struct MulFloat {
  static constexpr std::string_view kRequire = {};
  static float apply(float a, float b, bool&) { return a * b; }
};

// The low bits of the product. No REQUIRE: section 2.5.14.
struct MulLow {
  static constexpr std::string_view kRequire = {};
  static int32_t apply(int32_t a, int32_t b, bool&) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
  }
};

struct MulShifted {
  static constexpr std::string_view kRequire = "the shifted product does not fit i32, or the shift is outside [0, 63]";
  int shift;
  bool shift_wrong;
  int32_t apply(int32_t a, int32_t b, bool& bad) const {
    const int64_t product = int64_t{a} * b;
    // |product| <= 2^62. For a shift of at most 62, adding half of 2^shift cannot exceed 2^63. A shift of 63 gives 0.
    bad |= shift_wrong;
    if (shift == 0) return static_cast<int32_t>(product);
    const int64_t result = shift == 63 ? 0 : (product + (int64_t{1} << (shift - 1))) >> shift;
    bad |= result < std::numeric_limits<int32_t>::min() || result > std::numeric_limits<int32_t>::max();
    return static_cast<int32_t>(result);
  }
};

Kernel mul_i32(const NodePlan& plan) {
  const Tensor* shift = plan.in[2].constant;
  if (shift != nullptr && scalar_at(shift->data.data(), kInt8) == 0) return elementwise<MulLow, I32, I32, I32>(plan);
  return elementwise_with<I32, I32, I32>(plan, [](const Call& call) {
    const int64_t bits = scalar_at(call.in[2], kInt8);
    const bool wrong = bits < 0 || bits > 63;
    return MulShifted{.shift = wrong ? 0 : static_cast<int>(bits), .shift_wrong = wrong};
  });
}

}  // namespace

Result<Kernel> prepare_MUL(const NodePlan& plan) {
  CARINA_CHECKED(check_elementwise(plan, 2, 1));
  CARINA_CHECKED(Checks(plan).same_type(plan.in[2], kInt8).scalar(plan.in[2]).done());
  static constexpr TypeRow kRows[] = {
      {.types = {kInt8, kInt8, kInt8, kInt32}, .make = &elementwise<MulSmall, I32, I8, I8>},
      {.types = {kInt16, kInt16, kInt8, kInt32}, .make = &elementwise<MulSmall, I32, I16, I16>},
      {.types = {kInt32, kInt32, kInt8, kInt32}, .make = &mul_i32},
      {.types = {kFp32, kFp32, kInt8, kFp32}, .make = &elementwise_f32},
      {.types = {kFp16, kFp16, kInt8, kFp16}, .make = &elementwise<MulFloat, F16, F16, F16>},
      {.types = {kBf16, kBf16, kInt8, kBf16}, .make = &elementwise<MulFloat, BF16, BF16, BF16>},
  };
  return choose(plan, kRows);
}

}  // namespace carina::interpret
