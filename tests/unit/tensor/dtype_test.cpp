#include "carina/dtype.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "carina/check.h"

namespace carina {
namespace {

using enum DType;

enum class Kind { kOther, kInteger, kUnsigned, kFloat, kScale };

struct Expected {
  DType dtype;
  std::string_view name;
  size_t element_bytes;
  int bits;
  Kind kind;
};

// A second source for the table: TOSA's names and widths, and the memory format of dtype.h.
constexpr Expected kExpected[] = {
    {kUnknown, "unknown", 0, 0, Kind::kOther}, {kBool, "bool", 1, 1, Kind::kOther},
    {kInt4, "i4", 1, 4, Kind::kInteger},       {kInt8, "i8", 1, 8, Kind::kInteger},
    {kUInt8, "u8", 1, 8, Kind::kUnsigned},     {kInt16, "i16", 2, 16, Kind::kInteger},
    {kUInt16, "u16", 2, 16, Kind::kUnsigned},  {kInt32, "i32", 4, 32, Kind::kInteger},
    {kUInt32, "u32", 4, 32, Kind::kUnsigned},  {kInt48, "i48", 8, 48, Kind::kInteger},
    {kInt64, "i64", 8, 64, Kind::kInteger},    {kShape, "shape", 8, 64, Kind::kInteger},
    {kFp16, "fp16", 2, 16, Kind::kFloat},      {kBf16, "bf16", 2, 16, Kind::kFloat},
    {kFp32, "fp32", 4, 32, Kind::kFloat},      {kFp64, "fp64", 8, 64, Kind::kFloat},
    {kFp8E4M3, "fp8e4m3", 1, 8, Kind::kFloat}, {kFp8E5M2, "fp8e5m2", 1, 8, Kind::kFloat},
    {kFp6E2M3, "fp6e2m3", 1, 6, Kind::kFloat}, {kFp6E3M2, "fp6e3m2", 1, 6, Kind::kFloat},
    {kFp4E2M1, "fp4e2m1", 1, 4, Kind::kFloat}, {kFp8UE8M0, "fp8ue8m0", 1, 8, Kind::kScale},
};
static_assert(std::size(kExpected) == kDTypeCount);

TEST(DType, rows_have_name_size_and_kind) {
  for (const auto& [dtype, name, bytes, bits, kind] : kExpected) {
    const DTypeRow& row = row_of(dtype);
    EXPECT_EQ(row.name, name);
    EXPECT_EQ(row.element_bytes, bytes) << name;
    EXPECT_EQ(row.bits, bits) << name;
    EXPECT_EQ(row.is_integer, kind == Kind::kInteger || kind == Kind::kUnsigned) << name;
    EXPECT_EQ(row.is_signed, kind == Kind::kInteger || kind == Kind::kFloat) << name;
    EXPECT_EQ(row.is_float, kind == Kind::kFloat || kind == Kind::kScale) << name;
    EXPECT_EQ(dtype_of_name(name), dtype == kUnknown ? std::nullopt : std::optional(dtype)) << name;
  }
  EXPECT_EQ(dtype_of_name("i7"), std::nullopt);
}

TEST(DType, range_follows_bit_width) {
  EXPECT_EQ(range_of(kBool), (IntegerRange{.min = 0, .max = 1}));
  EXPECT_EQ(range_of(kInt4), (IntegerRange{.min = -8, .max = 7}));
  EXPECT_EQ(range_of(kUInt8), (IntegerRange{.min = 0, .max = 255}));
  EXPECT_EQ(range_of(kInt8), (IntegerRange{.min = -128, .max = 127}));
  EXPECT_EQ(range_of(kUInt32), (IntegerRange{.min = 0, .max = 4'294'967'295}));
  EXPECT_EQ(range_of(kInt48), (IntegerRange{.min = -(int64_t{1} << 47), .max = (int64_t{1} << 47) - 1}));
  using Limits = std::numeric_limits<int64_t>;
  EXPECT_EQ(range_of(kInt64), (IntegerRange{.min = Limits::min(), .max = Limits::max()}));
  EXPECT_THROW(range_of(kFp16), InternalError);
}

}  // namespace
}  // namespace carina
