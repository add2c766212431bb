#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "carina/dtype.h"
#include "facts/executorch.h"

namespace carina::pte {

// The element type of a .pte file for each DType, and the inverse mapping. Both functions return no value if there is
// no equivalent.
struct ScalarTypeRow {
  DType dtype;
  PteScalarType scalar_type;
};
inline constexpr auto kScalarTypes = std::to_array<ScalarTypeRow>({
    {.dtype = DType::kUInt8, .scalar_type = PteScalarType::kByte},
    {.dtype = DType::kInt8, .scalar_type = PteScalarType::kChar},
    {.dtype = DType::kInt16, .scalar_type = PteScalarType::kShort},
    {.dtype = DType::kInt32, .scalar_type = PteScalarType::kInt},
    {.dtype = DType::kInt64, .scalar_type = PteScalarType::kLong},
    {.dtype = DType::kFp16, .scalar_type = PteScalarType::kHalf},
    {.dtype = DType::kFp32, .scalar_type = PteScalarType::kFloat},
    {.dtype = DType::kFp64, .scalar_type = PteScalarType::kDouble},
    {.dtype = DType::kBool, .scalar_type = PteScalarType::kBool},
    {.dtype = DType::kBf16, .scalar_type = PteScalarType::kBFloat16},
    {.dtype = DType::kUInt16, .scalar_type = PteScalarType::kUInt16},
    {.dtype = DType::kUInt32, .scalar_type = PteScalarType::kUInt32},
});

constexpr std::optional<PteScalarType> scalar_type_of(DType dtype) {
  for (const ScalarTypeRow& row : kScalarTypes) {
    if (row.dtype == dtype) return row.scalar_type;
  }
  return std::nullopt;
}

constexpr std::optional<DType> dtype_of(PteScalarType scalar_type) {
  for (const ScalarTypeRow& row : kScalarTypes) {
    if (row.scalar_type == scalar_type) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace carina::pte
