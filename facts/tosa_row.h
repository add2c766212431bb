#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "facts/tosa_ops.h"
#include "facts/vgf_form.h"

namespace carina {

// The shape of the rows of facts/tosa_rows.h. Names are those of the TOSA specification 1.0.

// Element types with the numbers of the FlatBuffer schema.
enum class TosaType : uint8_t {
  kUnknown = 0,
  kBool = 1,
  kInt4 = 2,
  kInt8 = 3,
  kInt16 = 4,
  kInt32 = 5,
  kInt48 = 6,
  kFp32 = 7,
  kFp16 = 8,
  kBf16 = 9,
  kShape = 10,
  kFp8E4M3 = 11,
  kFp8E5M2 = 12,
  kFp6E2M3 = 13,
  kFp6E3M2 = 14,
  kFp4E2M1 = 15,
  kFp8UE8M0 = 16,
};

struct TosaTypeName {
  TosaType type;
  std::string_view name;           // Carina's, in the text form: "i8"
  std::string_view specification;  // "i8_t"
};
inline constexpr auto kTosaTypeNames = std::to_array<TosaTypeName>({
    {TosaType::kUnknown, "unknown", ""},
    {TosaType::kBool, "bool", "bool_t"},
    {TosaType::kInt4, "i4", "i4_t"},
    {TosaType::kInt8, "i8", "i8_t"},
    {TosaType::kInt16, "i16", "i16_t"},
    {TosaType::kInt32, "i32", "i32_t"},
    {TosaType::kInt48, "i48", "i48_t"},
    {TosaType::kFp32, "fp32", "fp32_t"},
    {TosaType::kFp16, "fp16", "fp16_t"},
    {TosaType::kBf16, "bf16", "bf16_t"},
    {TosaType::kShape, "shape", "shape_t"},
    {TosaType::kFp8E4M3, "fp8e4m3", "fp8e4m3_t"},
    {TosaType::kFp8E5M2, "fp8e5m2", "fp8e5m2_t"},
    {TosaType::kFp6E2M3, "fp6e2m3", "fp6e2m3_t"},
    {TosaType::kFp6E3M2, "fp6e3m2", "fp6e3m2_t"},
    {TosaType::kFp4E2M1, "fp4e2m1", "fp4e2m1_t"},
    {TosaType::kFp8UE8M0, "fp8ue8m0", "fp8ue8m0_t"},
});
constexpr std::string_view name_of(TosaType type) {
  return kTosaTypeNames[static_cast<size_t>(type)].name;
}

// Profiles and extensions: a set of bits. Source: section 1.6.
enum class TosaFeature : uint16_t {
  kProInt = 1 << 0,
  kProFp = 1 << 1,
  kExtInt16 = 1 << 2,
  kExtInt4 = 1 << 3,
  kExtBf16 = 1 << 4,
  kExtFp8E4M3 = 1 << 5,
  kExtFp8E5M2 = 1 << 6,
  kExtFft = 1 << 7,
  kExtVariable = 1 << 8,
  kExtControlFlow = 1 << 9,
  kExtDynamic = 1 << 10,
  kExtDoubleRound = 1 << 11,
  kExtInexactRound = 1 << 12,
  kExtMxFp = 1 << 13,
};
struct TosaFeatures {
  uint16_t bits = 0;
  [[nodiscard]] constexpr bool has(TosaFeature feature) const { return (bits & static_cast<uint16_t>(feature)) != 0; }
  [[nodiscard]] constexpr bool meets(TosaFeatures other) const { return (bits & other.bits) != 0; }
  constexpr bool operator==(const TosaFeatures&) const = default;
};
constexpr TosaFeatures operator|(TosaFeature a, TosaFeature b) {
  return {.bits = static_cast<uint16_t>(static_cast<uint16_t>(a) | static_cast<uint16_t>(b))};
}
constexpr TosaFeatures operator|(TosaFeatures a, TosaFeature b) {
  return {.bits = static_cast<uint16_t>(a.bits | static_cast<uint16_t>(b))};
}
constexpr TosaFeatures only(TosaFeature feature) {
  return {.bits = static_cast<uint16_t>(feature)};
}

struct TosaFeatureName {
  TosaFeature feature;
  std::string_view name;
};
inline constexpr auto kTosaFeatureNames = std::to_array<TosaFeatureName>({
    {TosaFeature::kProInt, "PRO-INT"},
    {TosaFeature::kProFp, "PRO-FP"},
    {TosaFeature::kExtInt16, "EXT-INT16"},
    {TosaFeature::kExtInt4, "EXT-INT4"},
    {TosaFeature::kExtBf16, "EXT-BF16"},
    {TosaFeature::kExtFp8E4M3, "EXT-FP8E4M3"},
    {TosaFeature::kExtFp8E5M2, "EXT-FP8E5M2"},
    {TosaFeature::kExtFft, "EXT-FFT"},
    {TosaFeature::kExtVariable, "EXT-VARIABLE"},
    {TosaFeature::kExtControlFlow, "EXT-CONTROLFLOW"},
    {TosaFeature::kExtDynamic, "EXT-DYNAMIC"},
    {TosaFeature::kExtDoubleRound, "EXT-DOUBLEROUND"},
    {TosaFeature::kExtInexactRound, "EXT-INEXACTROUND"},
    {TosaFeature::kExtMxFp, "EXT-MXFP"},
});

// Limits that an implementation may set. Source: section 1.7.
struct TosaLevel {
  std::string_view name;
  int64_t max_rank;
  int64_t max_kernel;
  int64_t max_stride;
  int64_t max_scale;
  int64_t max_log2_size;
  int64_t max_nesting;
  int64_t max_tensor_list_size;
};
inline constexpr TosaLevel kTosaLevelNone{.name = "none",
                                          .max_rank = 32,
                                          .max_kernel = 2147483647,
                                          .max_stride = 2147483647,
                                          .max_scale = 2048,
                                          .max_log2_size = 63,
                                          .max_nesting = 256,
                                          .max_tensor_list_size = 256};
inline constexpr TosaLevel kTosaLevel8K{.name = "8K",
                                        .max_rank = 6,
                                        .max_kernel = 8192,
                                        .max_stride = 8192,
                                        .max_scale = 256,
                                        .max_log2_size = 31,
                                        .max_nesting = 6,
                                        .max_tensor_list_size = 64};

enum class TosaOperandKind : uint8_t {
  kTensor,
  kTensorList,  // the rest of the operands, any number
  kShape,       // a value of type shape
};
// Whether an operand must be known before the graph runs ("CTC"). The extension DYNAMIC removes the condition.
enum class TosaConstness : uint8_t { kRunTime, kCompileTime };

struct TosaOperand {
  static constexpr uint8_t kMaxRank = 255;  // means the level's MAX_RANK

  std::string_view name;
  TosaOperandKind kind = TosaOperandKind::kTensor;
  std::string_view type;   // a variable of the op's type rows ("in_t"), or a type's own name ("i8"); empty: any
  std::string_view shape;  // in the specification's notation: "[N,IH,IW,C]", or a variable: "shape1"
  uint8_t min_rank = 0;
  uint8_t max_rank = kMaxRank;
  TosaConstness constness = TosaConstness::kRunTime;
};

enum class TosaAttributeKind : uint8_t {
  kBool,    // bool
  kInt,     // int64_t, an int32 in the file
  kInts,    // std::vector<int64_t>, int32 in the file
  kType,    // DType
  kEnum,    // int64_t, one of `values`
  kScalar,  // int64_t or double: a scalar of the first operand's type, bytes in the file
  kString,  // std::string
  kBytes,   // ir::Bytes
  kGraph,   // std::string: the name of a graph of the module
};

// Where a file stores an attribute: in the operator's attribute table, or with the tensor of the variable.
enum class TosaAttributeStorage : uint8_t { kTable, kVariableTensor };

struct TosaEnumValue {
  int64_t value;
  std::string_view name;
};

struct TosaAttribute {
  std::string_view name;
  TosaAttributeKind kind;
  uint8_t count = 0;                           // kInts: required length; 0: any
  std::span<const TosaEnumValue> values = {};  // kEnum
  TosaAttributeStorage stored = TosaAttributeStorage::kTable;
};

// A legal combination of types: one per variable of the op's `type_names`, in that order.
struct TosaTypeRow {
  static constexpr size_t kMaxTypes = 4;
  std::string_view mode;  // the specification's name of the combination
  std::array<TosaType, kMaxTypes> types;
  TosaFeatures any_of;  // legal with any of these
};

struct TosaOpRow {
  TosaOp op;
  std::string_view group;    // heading of its chapter
  std::string_view section;  // of the specification 1.0
  std::span<const TosaOperand> inputs;
  std::span<const TosaOperand> outputs;
  std::span<const TosaAttribute> attributes;  // in the order of the schema's slots
  std::span<const std::string_view> type_names;
  std::span<const TosaTypeRow> types;  // empty: any type
  VgfForm vgf;                         // in VGF files
  TosaFeatures also_needs = {};        // one of these, besides what the type row needs; empty: none
};

}  // namespace carina
