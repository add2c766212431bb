#pragma once

#include <optional>

#include "carina/dtype.h"
#include "facts/tosa_row.h"

namespace carina::ir {

// Maps element types of tensors to TOSA types and back. Returns the TOSA type of a DType, if there is one.
constexpr std::optional<TosaType> tosa_type_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return TosaType::kBool;
    case DType::kInt4:
      return TosaType::kInt4;
    case DType::kInt8:
      return TosaType::kInt8;
    case DType::kInt16:
      return TosaType::kInt16;
    case DType::kInt32:
      return TosaType::kInt32;
    case DType::kInt48:
      return TosaType::kInt48;
    case DType::kFp32:
      return TosaType::kFp32;
    case DType::kFp16:
      return TosaType::kFp16;
    case DType::kBf16:
      return TosaType::kBf16;
    case DType::kShape:
      return TosaType::kShape;
    case DType::kFp8E4M3:
      return TosaType::kFp8E4M3;
    case DType::kFp8E5M2:
      return TosaType::kFp8E5M2;
    case DType::kFp6E2M3:
      return TosaType::kFp6E2M3;
    case DType::kFp6E3M2:
      return TosaType::kFp6E3M2;
    case DType::kFp4E2M1:
      return TosaType::kFp4E2M1;
    case DType::kFp8UE8M0:
      return TosaType::kFp8UE8M0;
    case DType::kUnknown:
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kInt64:
    case DType::kFp64:
      return std::nullopt;
  }
  return std::nullopt;
}

constexpr DType dtype_of(TosaType type) {
  switch (type) {
    case TosaType::kUnknown:
      return DType::kUnknown;
    case TosaType::kBool:
      return DType::kBool;
    case TosaType::kInt4:
      return DType::kInt4;
    case TosaType::kInt8:
      return DType::kInt8;
    case TosaType::kInt16:
      return DType::kInt16;
    case TosaType::kInt32:
      return DType::kInt32;
    case TosaType::kInt48:
      return DType::kInt48;
    case TosaType::kFp32:
      return DType::kFp32;
    case TosaType::kFp16:
      return DType::kFp16;
    case TosaType::kBf16:
      return DType::kBf16;
    case TosaType::kShape:
      return DType::kShape;
    case TosaType::kFp8E4M3:
      return DType::kFp8E4M3;
    case TosaType::kFp8E5M2:
      return DType::kFp8E5M2;
    case TosaType::kFp6E2M3:
      return DType::kFp6E2M3;
    case TosaType::kFp6E3M2:
      return DType::kFp6E3M2;
    case TosaType::kFp4E2M1:
      return DType::kFp4E2M1;
    case TosaType::kFp8UE8M0:
      return DType::kFp8UE8M0;
  }
  return DType::kUnknown;
}

// Returns the type with this number in the FlatBuffer schema, if there is one.
constexpr std::optional<DType> dtype_of_number(uint32_t number) {
  if (number == 0 || number >= kTosaTypeNames.size()) return std::nullopt;
  return dtype_of(static_cast<TosaType>(number));
}

}  // namespace carina::ir
