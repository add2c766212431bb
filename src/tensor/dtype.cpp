#include "carina/dtype.h"

#include <algorithm>
#include <array>

#include "carina/check.h"

// The table of element types: names, bits, bytes in memory, ranges.
namespace carina {

namespace {

using enum DType;
constexpr std::array<DTypeRow, kDTypeCount> kRows{{
    {.dtype = kUnknown,
     .name = "unknown",
     .element_bytes = 0,
     .bits = 0,
     .is_integer = false,
     .is_signed = false,
     .is_float = false},
    {.dtype = kBool,
     .name = "bool",
     .element_bytes = 1,
     .bits = 1,
     .is_integer = false,
     .is_signed = false,
     .is_float = false},
    {.dtype = kInt4,
     .name = "i4",
     .element_bytes = 1,
     .bits = 4,
     .is_integer = true,
     .is_signed = true,
     .is_float = false},
    {.dtype = kInt8,
     .name = "i8",
     .element_bytes = 1,
     .bits = 8,
     .is_integer = true,
     .is_signed = true,
     .is_float = false},
    {.dtype = kUInt8,
     .name = "u8",
     .element_bytes = 1,
     .bits = 8,
     .is_integer = true,
     .is_signed = false,
     .is_float = false},
    {.dtype = kInt16,
     .name = "i16",
     .element_bytes = 2,
     .bits = 16,
     .is_integer = true,
     .is_signed = true,
     .is_float = false},
    {.dtype = kUInt16,
     .name = "u16",
     .element_bytes = 2,
     .bits = 16,
     .is_integer = true,
     .is_signed = false,
     .is_float = false},
    {.dtype = kInt32,
     .name = "i32",
     .element_bytes = 4,
     .bits = 32,
     .is_integer = true,
     .is_signed = true,
     .is_float = false},
    {.dtype = kUInt32,
     .name = "u32",
     .element_bytes = 4,
     .bits = 32,
     .is_integer = true,
     .is_signed = false,
     .is_float = false},
    {.dtype = kInt48,
     .name = "i48",
     .element_bytes = 8,
     .bits = 48,
     .is_integer = true,
     .is_signed = true,
     .is_float = false},
    {.dtype = kInt64,
     .name = "i64",
     .element_bytes = 8,
     .bits = 64,
     .is_integer = true,
     .is_signed = true,
     .is_float = false},
    {.dtype = kShape,
     .name = "shape",
     .element_bytes = 8,
     .bits = 64,
     .is_integer = true,
     .is_signed = true,
     .is_float = false},
    {.dtype = kFp16,
     .name = "fp16",
     .element_bytes = 2,
     .bits = 16,
     .is_integer = false,
     .is_signed = true,
     .is_float = true},
    {.dtype = kBf16,
     .name = "bf16",
     .element_bytes = 2,
     .bits = 16,
     .is_integer = false,
     .is_signed = true,
     .is_float = true},
    {.dtype = kFp32,
     .name = "fp32",
     .element_bytes = 4,
     .bits = 32,
     .is_integer = false,
     .is_signed = true,
     .is_float = true},
    {.dtype = kFp64,
     .name = "fp64",
     .element_bytes = 8,
     .bits = 64,
     .is_integer = false,
     .is_signed = true,
     .is_float = true},
    {.dtype = kFp8E4M3,
     .name = "fp8e4m3",
     .element_bytes = 1,
     .bits = 8,
     .is_integer = false,
     .is_signed = true,
     .is_float = true},
    {.dtype = kFp8E5M2,
     .name = "fp8e5m2",
     .element_bytes = 1,
     .bits = 8,
     .is_integer = false,
     .is_signed = true,
     .is_float = true},
    {.dtype = kFp6E2M3,
     .name = "fp6e2m3",
     .element_bytes = 1,
     .bits = 6,
     .is_integer = false,
     .is_signed = true,
     .is_float = true},
    {.dtype = kFp6E3M2,
     .name = "fp6e3m2",
     .element_bytes = 1,
     .bits = 6,
     .is_integer = false,
     .is_signed = true,
     .is_float = true},
    {.dtype = kFp4E2M1,
     .name = "fp4e2m1",
     .element_bytes = 1,
     .bits = 4,
     .is_integer = false,
     .is_signed = true,
     .is_float = true},
    {.dtype = kFp8UE8M0,
     .name = "fp8ue8m0",
     .element_bytes = 1,
     .bits = 8,
     .is_integer = false,
     .is_signed = false,
     .is_float = true},
}};
static_assert(std::ranges::all_of(kRows,
                                  [i = 0](const DTypeRow& row) mutable { return static_cast<int>(row.dtype) == i++; }));

}  // namespace

const DTypeRow& row_of(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  CARINA_CHECK(index < kRows.size(), "dtype {}", index);
  return kRows[index];
}

std::optional<DType> dtype_of_name(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &DTypeRow::name);
  if (found == kRows.end() || found->dtype == kUnknown) return std::nullopt;
  return found->dtype;
}

IntegerRange range_of(DType dtype) {
  const DTypeRow& row = row_of(dtype);
  CARINA_CHECK(row.is_integer || dtype == kBool, "{} has no integer range", row.name);
  if (!row.is_signed) return {.min = 0, .max = static_cast<int64_t>((uint64_t{1} << row.bits) - 1)};
  const auto max = static_cast<int64_t>((uint64_t{1} << (row.bits - 1)) - 1);
  return {.min = -max - 1, .max = max};
}

}  // namespace carina
