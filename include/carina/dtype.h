// Defines the element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace carina {

// Element types of all stages. Names are those of TOSA 1.1 where TOSA has the type.
enum class DType : uint8_t {
  kUnknown,
  kBool,
  kInt4,
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt48,
  kInt64,
  kShape,
  kFp16,
  kBf16,
  kFp32,
  kFp64,
  kFp8E4M3,
  kFp8E5M2,
  kFp6E2M3,
  kFp6E3M2,
  kFp4E2M1,
  kFp8UE8M0,
};
inline constexpr int kDTypeCount = 22;

// Properties of an element type as tensors hold it in memory: bool is a byte 0 or 1, int4 a sign-extended byte, int48 a
// sign-extended int64, shape an int64, fp6 and fp4 the low bits of a byte. (Files pack some of them tighter; their
// readers unpack.)
struct DTypeRow {
  DType dtype;
  std::string_view name;  // in the text form and in messages
  size_t element_bytes;   // in memory
  int bits;               // of the value itself
  bool is_integer;        // two's complement or unsigned integer, bool excluded
  bool is_signed;
  bool is_float;
};
// Returns the properties of a type.
const DTypeRow& row_of(DType dtype);

// The name in the text form and in messages: "int8".
inline std::string_view name_of(DType dtype) {
  return row_of(dtype).name;
}
// The bytes that an element takes in memory: 1 for int4.
inline size_t element_bytes(DType dtype) {
  return row_of(dtype).element_bytes;
}
// Returns whether it is a floating-point type.
inline bool is_float(DType dtype) {
  return row_of(dtype).is_float;
}
// Returns whether it is a signed or unsigned integer type; false for bool and shape.
inline bool is_integer(DType dtype) {
  return row_of(dtype).is_integer;
}
// Returns the type of this name, as name_of() spells it. No value if there is none.
std::optional<DType> dtype_of_name(std::string_view name);

// Smallest and largest value of an integer type (bool: 0 and 1).
struct IntegerRange {
  int64_t min;
  int64_t max;
  bool operator==(const IntegerRange&) const = default;
};
// Returns the range of an integer type or bool. InternalError for other types.
IntegerRange range_of(DType dtype);

// The DType of the C++ type that holds an element in memory; kUnknown if several DTypes or none have that C++ type.
template <typename T>
inline constexpr DType kDTypeOf = DType::kUnknown;
template <>
inline constexpr DType kDTypeOf<bool> = DType::kBool;
template <>
inline constexpr DType kDTypeOf<int8_t> = DType::kInt8;
template <>
inline constexpr DType kDTypeOf<uint8_t> = DType::kUInt8;
template <>
inline constexpr DType kDTypeOf<int16_t> = DType::kInt16;
template <>
inline constexpr DType kDTypeOf<uint16_t> = DType::kUInt16;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::kInt32;
template <>
inline constexpr DType kDTypeOf<uint32_t> = DType::kUInt32;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::kInt64;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFp32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFp64;

}  // namespace carina
