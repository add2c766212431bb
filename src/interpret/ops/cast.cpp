// CAST: converts each element to another type.

#include <cmath>
#include <limits>
#include <type_traits>

#include "interpret/elementwise_internal.h"

namespace carina::interpret {

namespace {

using enum DType;

// Converts a float to an integer: rounds to nearest, ties to even, and saturates. NaN gives 0.
template <typename S>
int32_t to_integer(float value) {
  if (std::isnan(value)) return 0;
  const double rounded = std::nearbyint(static_cast<double>(value));
  const double low = std::numeric_limits<S>::min();
  const double high = std::numeric_limits<S>::max();
  return static_cast<int32_t>(rounded < low ? low : rounded > high ? high : rounded);
}

template <typename In, typename Out>
struct Cast {
  static constexpr std::string_view kRequire = {};
  static typename Out::Compute apply(typename In::Compute value, bool&) {
    if constexpr (Out::kDType == kBool) {
      return value != 0 ? 1 : 0;
    } else if constexpr (Out::kIsFloat) {
      return static_cast<float>(value);  // i32 rounds to even; storing a narrower float rounds again
    } else if constexpr (In::kIsFloat) {
      return to_integer<typename Out::Storage>(value);
    } else {
      return static_cast<typename Out::Storage>(value);  // the low bits
    }
  }
};

// Converts i32 to a narrow float. The intermediate fp32 value is rounded to odd, so that the second rounding, to the
// narrow float, gives the correctly rounded result.
template <typename Out>
struct CastWide {
  static constexpr std::string_view kRequire = {};
  static float apply(int32_t value, bool&) {
    const auto rounded = static_cast<float>(value);
    const auto back = static_cast<int64_t>(rounded);
    if (back == value) return rounded;
    const auto bits = std::bit_cast<uint32_t>(rounded);
    if ((bits & 1) != 0) return rounded;
    const bool towards_zero = std::abs(back) > std::abs(int64_t{value});
    return std::bit_cast<float>(towards_zero ? bits - 1 : bits + 1);
  }
};

template <typename In, typename Out>
inline constexpr auto kCast = &elementwise<Cast<In, Out>, Out, In>;
template <typename Out>
inline constexpr auto kCastWide = &elementwise<CastWide<Out>, Out, I32>;

constexpr TypeRow kRows[] = {
    {.types = {kBool, kInt8}, .make = kCast<Bool, I8>},      {.types = {kBool, kInt16}, .make = kCast<Bool, I16>},
    {.types = {kBool, kInt32}, .make = kCast<Bool, I32>},    {.types = {kInt8, kBool}, .make = kCast<I8, Bool>},
    {.types = {kInt8, kInt16}, .make = kCast<I8, I16>},      {.types = {kInt8, kInt32}, .make = kCast<I8, I32>},
    {.types = {kInt8, kFp16}, .make = kCast<I8, F16>},       {.types = {kInt8, kBf16}, .make = kCast<I8, BF16>},
    {.types = {kInt8, kFp32}, .make = kCast<I8, F32>},       {.types = {kInt16, kBool}, .make = kCast<I16, Bool>},
    {.types = {kInt16, kInt8}, .make = kCast<I16, I8>},      {.types = {kInt16, kInt32}, .make = kCast<I16, I32>},
    {.types = {kInt16, kFp16}, .make = kCast<I16, F16>},     {.types = {kInt16, kBf16}, .make = kCast<I16, BF16>},
    {.types = {kInt16, kFp32}, .make = kCast<I16, F32>},     {.types = {kInt32, kBool}, .make = kCast<I32, Bool>},
    {.types = {kInt32, kInt8}, .make = kCast<I32, I8>},      {.types = {kInt32, kInt16}, .make = kCast<I32, I16>},
    {.types = {kInt32, kFp16}, .make = kCastWide<F16>},      {.types = {kInt32, kBf16}, .make = kCastWide<BF16>},
    {.types = {kInt32, kFp32}, .make = kCast<I32, F32>},     {.types = {kBf16, kInt8}, .make = kCast<BF16, I8>},
    {.types = {kBf16, kInt16}, .make = kCast<BF16, I16>},    {.types = {kBf16, kInt32}, .make = kCast<BF16, I32>},
    {.types = {kBf16, kFp8E4M3}, .make = kCast<BF16, E4M3>}, {.types = {kBf16, kFp8E5M2}, .make = kCast<BF16, E5M2>},
    {.types = {kBf16, kFp32}, .make = kCast<BF16, F32>},     {.types = {kFp8E4M3, kFp16}, .make = kCast<E4M3, F16>},
    {.types = {kFp8E4M3, kBf16}, .make = kCast<E4M3, BF16>}, {.types = {kFp8E4M3, kFp32}, .make = kCast<E4M3, F32>},
    {.types = {kFp8E5M2, kFp16}, .make = kCast<E5M2, F16>},  {.types = {kFp8E5M2, kBf16}, .make = kCast<E5M2, BF16>},
    {.types = {kFp8E5M2, kFp32}, .make = kCast<E5M2, F32>},  {.types = {kFp16, kInt8}, .make = kCast<F16, I8>},
    {.types = {kFp16, kInt16}, .make = kCast<F16, I16>},     {.types = {kFp16, kInt32}, .make = kCast<F16, I32>},
    {.types = {kFp16, kFp8E4M3}, .make = kCast<F16, E4M3>},  {.types = {kFp16, kFp8E5M2}, .make = kCast<F16, E5M2>},
    {.types = {kFp16, kBf16}, .make = kCast<F16, BF16>},     {.types = {kFp16, kFp32}, .make = kCast<F16, F32>},
    {.types = {kFp32, kInt8}, .make = kCast<F32, I8>},       {.types = {kFp32, kInt16}, .make = kCast<F32, I16>},
    {.types = {kFp32, kInt32}, .make = kCast<F32, I32>},     {.types = {kFp32, kFp8E4M3}, .make = kCast<F32, E4M3>},
    {.types = {kFp32, kFp8E5M2}, .make = kCast<F32, E5M2>},  {.types = {kFp32, kFp16}, .make = kCast<F32, F16>},
    {.types = {kFp32, kBf16}, .make = kCast<F32, BF16>},     {.types = {kBf16, kFp16}, .make = kCast<BF16, F16>},
};

}  // namespace

Result<Kernel> prepare_CAST(const NodePlan& plan) {
  return prepare_elementwise(plan, 1, kRows);
}

}  // namespace carina::interpret
