#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "facts/executorch.h"
#include "tensor/dtype.h"

namespace carina::pte {

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

constexpr std::optional<int8_t> scalar_type_of(DType dtype) {
  for (const ScalarTypeRow& row : kScalarTypes) {
    if (row.dtype == dtype) return static_cast<int8_t>(row.scalar_type);
  }
  return std::nullopt;
}

constexpr std::optional<DType> dtype_of(int8_t scalar_type) {
  for (const ScalarTypeRow& row : kScalarTypes) {
    if (static_cast<int8_t>(row.scalar_type) == scalar_type) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace carina::pte
