#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "facts/tosa_rows.h"

namespace carina {

// The FlatBuffer of TOSA 0.80 where it differs from 1.0: the numbers of operators and types, and attribute tables that
// several operators share. In 0.80, zero points, shifts, multipliers, shapes, paddings and tables are attributes; in
// 1.0 they are operands. Source: schema and serializer of the TOSA serialization library v0.80.1 (its public
// repository). v0.80.0 has fewer slots at the end of some tables, which are read as defaults.

enum class Tosa080Table : uint8_t {
  kNone = 0,
  kPool,
  kConv,
  kTransposeConv,
  kPad,
  kAxis,
  kReshape,
  kSlice,
  kTile,
  kResize,
  kClamp,
  kRescale,
  kMul,
  kArithmeticRightShift,
  kCondIf,
  kWhileLoop,
  kTranspose,
  kTable,
  kMatMul,
  kFullyConnected,
  kNegate,
  kCustom,
  kFft,
  kRfft,
};

enum class Tosa080Field : uint8_t {
  kBool,
  kInt,     // int32
  kWord,    // uint32: enumerations; types with the numbers of 0.80
  kInts,    // list of int32
  kShorts,  // list of int16
  kBytes,   // list of uint8
  kFloat,   // list of uint8: one number as fp32, whatever the tensor's type
  kString,
};

// Where 1.0 keeps the content of a slot.
enum class Tosa080Source : uint8_t {
  kAttribute,         // an attribute
  kOperand,           // a constant operand
  kIntegerOperand,    // a constant operand; the slot is used for integer types only
  kFloatOperand,      // a constant operand; the slot is used for floating-point types only
  kIntegerAttribute,  // an attribute; the slot is used for integer types only
  kFloatAttribute,    // an attribute; the slot is used for floating-point types only
  kDoubleRound,       // whether rounding_mode is DOUBLE_ROUND
  kOutputShape,       // the output's shape
};

struct Tosa080Slot {
  std::string_view name;
  Tosa080Field field;
  Tosa080Source source;
  std::string_view name_1_0;  // of the attribute or operand; if the operator does not have it, the slot is 0
};

namespace tosa_0_80 {
using enum Tosa080Field;
using enum Tosa080Source;
inline constexpr auto kPool = std::to_array<Tosa080Slot>({
    {"pad", kInts, kAttribute, "pad"},
    {"kernel", kInts, kAttribute, "kernel"},
    {"stride", kInts, kAttribute, "stride"},
    {"input_zp", kInt, kOperand, "input_zp"},
    {"output_zp", kInt, kOperand, "output_zp"},
    {"accum_dtype", kWord, kAttribute, "acc_type"},
});
inline constexpr auto kConv = std::to_array<Tosa080Slot>({
    {"pad", kInts, kAttribute, "pad"},
    {"stride", kInts, kAttribute, "stride"},
    {"dilation", kInts, kAttribute, "dilation"},
    {"input_zp", kInt, kOperand, "input_zp"},
    {"weight_zp", kInt, kOperand, "weight_zp"},
    {"local_bound", kBool, kAttribute, "local_bound"},
});
inline constexpr auto kTransposeConv = std::to_array<Tosa080Slot>({
    {"out_pad", kInts, kAttribute, "out_pad"},
    {"stride", kInts, kAttribute, "stride"},
    {"output_shape", kInts, kOutputShape, ""},
    {"input_zp", kInt, kOperand, "input_zp"},
    {"weight_zp", kInt, kOperand, "weight_zp"},
    {"local_bound", kBool, kAttribute, "local_bound"},
});
inline constexpr auto kPad = std::to_array<Tosa080Slot>({
    {"padding", kInts, kOperand, "padding"},
    {"pad_const_int", kInt, kIntegerOperand, "pad_const"},
    {"pad_const_fp", kFloat, kFloatOperand, "pad_const"},
});
inline constexpr auto kAxis = std::to_array<Tosa080Slot>({{"axis", kInt, kAttribute, "axis"}});
inline constexpr auto kReshape = std::to_array<Tosa080Slot>({{"new_shape", kInts, kOperand, "shape"}});
inline constexpr auto kSlice = std::to_array<Tosa080Slot>({
    {"start", kInts, kOperand, "start"},
    {"size", kInts, kOperand, "size"},
});
inline constexpr auto kTile = std::to_array<Tosa080Slot>({{"multiples", kInts, kOperand, "multiples"}});
inline constexpr auto kResize = std::to_array<Tosa080Slot>({
    {"scale", kShorts, kOperand, "scale"},
    {"offset", kShorts, kOperand, "offset"},
    {"border", kShorts, kOperand, "border"},
    {"mode", kWord, kAttribute, "mode"},
});
inline constexpr auto kClamp = std::to_array<Tosa080Slot>({
    {"min_int", kInt, kIntegerAttribute, "min_val"},
    {"max_int", kInt, kIntegerAttribute, "max_val"},
    {"min_fp", kFloat, kFloatAttribute, "min_val"},
    {"max_fp", kFloat, kFloatAttribute, "max_val"},
});
inline constexpr auto kRescale = std::to_array<Tosa080Slot>({
    {"input_zp", kInt, kOperand, "input_zp"},
    {"output_zp", kInt, kOperand, "output_zp"},
    {"multiplier", kInts, kOperand, "multiplier"},
    {"shift", kInts, kOperand, "shift"},
    {"scale32", kBool, kAttribute, "scale32"},
    {"double_round", kBool, kDoubleRound, "rounding_mode"},
    {"per_channel", kBool, kAttribute, "per_channel"},
    {"input_unsigned", kBool, kAttribute, "input_unsigned"},
    {"output_unsigned", kBool, kAttribute, "output_unsigned"},
});
inline constexpr auto kMul = std::to_array<Tosa080Slot>({{"shift", kInt, kOperand, "shift"}});
inline constexpr auto kArithmeticRightShift = std::to_array<Tosa080Slot>({{"round", kBool, kAttribute, "round"}});
inline constexpr auto kCondIf = std::to_array<Tosa080Slot>({
    {"then_branch", kString, kAttribute, "then_graph"},
    {"else_branch", kString, kAttribute, "else_graph"},
});
inline constexpr auto kWhileLoop = std::to_array<Tosa080Slot>({
    {"cond_branch", kString, kAttribute, "cond_graph"},
    {"body_branch", kString, kAttribute, "body_graph"},
});
inline constexpr auto kTranspose = std::to_array<Tosa080Slot>({{"perms", kInts, kAttribute, "perms"}});
inline constexpr auto kTable = std::to_array<Tosa080Slot>({{"table", kShorts, kOperand, "table"}});
inline constexpr auto kMatMul = std::to_array<Tosa080Slot>({
    {"a_zp", kInt, kOperand, "A_zp"},
    {"b_zp", kInt, kOperand, "B_zp"},
});
inline constexpr auto kFullyConnected = std::to_array<Tosa080Slot>({
    {"input_zp", kInt, kOperand, "input_zp"},
    {"weight_zp", kInt, kOperand, "weight_zp"},
});
inline constexpr auto kNegate = std::to_array<Tosa080Slot>({
    {"input1_zp", kInt, kOperand, "input1_zp"},
    {"output_zp", kInt, kOperand, "output_zp"},
});
inline constexpr auto kCustom = std::to_array<Tosa080Slot>({
    {"operator_name", kString, kAttribute, "operator_name"},
    {"domain_name", kString, kAttribute, "domain_name"},
    {"implementation_attrs", kBytes, kAttribute, "implementation_attrs"},
});
inline constexpr auto kFft = std::to_array<Tosa080Slot>({
    {"inverse", kBool, kAttribute, "inverse"},
    {"local_bound", kBool, kAttribute, "local_bound"},
});
inline constexpr auto kRfft = std::to_array<Tosa080Slot>({{"local_bound", kBool, kAttribute, "local_bound"}});
}  // namespace tosa_0_80

// By tag of the attribute union.
inline constexpr std::array<std::span<const Tosa080Slot>, 24> kTosa080Tables{
    std::span<const Tosa080Slot>(),
    tosa_0_80::kPool,
    tosa_0_80::kConv,
    tosa_0_80::kTransposeConv,
    tosa_0_80::kPad,
    tosa_0_80::kAxis,
    tosa_0_80::kReshape,
    tosa_0_80::kSlice,
    tosa_0_80::kTile,
    tosa_0_80::kResize,
    tosa_0_80::kClamp,
    tosa_0_80::kRescale,
    tosa_0_80::kMul,
    tosa_0_80::kArithmeticRightShift,
    tosa_0_80::kCondIf,
    tosa_0_80::kWhileLoop,
    tosa_0_80::kTranspose,
    tosa_0_80::kTable,
    tosa_0_80::kMatMul,
    tosa_0_80::kFullyConnected,
    tosa_0_80::kNegate,
    tosa_0_80::kCustom,
    tosa_0_80::kFft,
    tosa_0_80::kRfft,
};

struct Tosa080Op {
  std::string_view name;
  std::optional<TosaOp> op;  // empty: 1.0 has no such operator
  Tosa080Table table;
};

// By operator number - 1.
inline constexpr auto kTosa080Ops = std::to_array<Tosa080Op>({
    {"ARGMAX", TosaOp::ARGMAX, Tosa080Table::kAxis},
    {"AVG_POOL2D", TosaOp::AVG_POOL2D, Tosa080Table::kPool},
    {"CONV2D", TosaOp::CONV2D, Tosa080Table::kConv},
    {"CONV3D", TosaOp::CONV3D, Tosa080Table::kConv},
    {"DEPTHWISE_CONV2D", TosaOp::DEPTHWISE_CONV2D, Tosa080Table::kConv},
    {"FULLY_CONNECTED", std::nullopt, Tosa080Table::kFullyConnected},
    {"MATMUL", TosaOp::MATMUL, Tosa080Table::kMatMul},
    {"MAX_POOL2D", TosaOp::MAX_POOL2D, Tosa080Table::kPool},
    {"TRANSPOSE_CONV2D", TosaOp::TRANSPOSE_CONV2D, Tosa080Table::kTransposeConv},
    {"CLAMP", TosaOp::CLAMP, Tosa080Table::kClamp},
    {"RESERVED", std::nullopt, Tosa080Table::kNone},
    {"SIGMOID", TosaOp::SIGMOID, Tosa080Table::kNone},
    {"TANH", TosaOp::TANH, Tosa080Table::kNone},
    {"ADD", TosaOp::ADD, Tosa080Table::kNone},
    {"ARITHMETIC_RIGHT_SHIFT", TosaOp::ARITHMETIC_RIGHT_SHIFT, Tosa080Table::kArithmeticRightShift},
    {"BITWISE_AND", TosaOp::BITWISE_AND, Tosa080Table::kNone},
    {"BITWISE_OR", TosaOp::BITWISE_OR, Tosa080Table::kNone},
    {"BITWISE_XOR", TosaOp::BITWISE_XOR, Tosa080Table::kNone},
    {"INTDIV", TosaOp::INTDIV, Tosa080Table::kNone},
    {"LOGICAL_AND", TosaOp::LOGICAL_AND, Tosa080Table::kNone},
    {"LOGICAL_LEFT_SHIFT", TosaOp::LOGICAL_LEFT_SHIFT, Tosa080Table::kNone},
    {"LOGICAL_RIGHT_SHIFT", TosaOp::LOGICAL_RIGHT_SHIFT, Tosa080Table::kNone},
    {"LOGICAL_OR", TosaOp::LOGICAL_OR, Tosa080Table::kNone},
    {"LOGICAL_XOR", TosaOp::LOGICAL_XOR, Tosa080Table::kNone},
    {"MAXIMUM", TosaOp::MAXIMUM, Tosa080Table::kNone},
    {"MINIMUM", TosaOp::MINIMUM, Tosa080Table::kNone},
    {"MUL", TosaOp::MUL, Tosa080Table::kMul},
    {"POW", TosaOp::POW, Tosa080Table::kNone},
    {"SUB", TosaOp::SUB, Tosa080Table::kNone},
    {"TABLE", TosaOp::TABLE, Tosa080Table::kTable},
    {"ABS", TosaOp::ABS, Tosa080Table::kNone},
    {"BITWISE_NOT", TosaOp::BITWISE_NOT, Tosa080Table::kNone},
    {"CEIL", TosaOp::CEIL, Tosa080Table::kNone},
    {"CLZ", TosaOp::CLZ, Tosa080Table::kNone},
    {"EXP", TosaOp::EXP, Tosa080Table::kNone},
    {"FLOOR", TosaOp::FLOOR, Tosa080Table::kNone},
    {"LOG", TosaOp::LOG, Tosa080Table::kNone},
    {"LOGICAL_NOT", TosaOp::LOGICAL_NOT, Tosa080Table::kNone},
    {"NEGATE", TosaOp::NEGATE, Tosa080Table::kNegate},
    {"RECIPROCAL", TosaOp::RECIPROCAL, Tosa080Table::kNone},
    {"RSQRT", TosaOp::RSQRT, Tosa080Table::kNone},
    {"SELECT", TosaOp::SELECT, Tosa080Table::kNone},
    {"EQUAL", TosaOp::EQUAL, Tosa080Table::kNone},
    {"GREATER", TosaOp::GREATER, Tosa080Table::kNone},
    {"GREATER_EQUAL", TosaOp::GREATER_EQUAL, Tosa080Table::kNone},
    {"REDUCE_ANY", TosaOp::REDUCE_ANY, Tosa080Table::kAxis},
    {"REDUCE_ALL", TosaOp::REDUCE_ALL, Tosa080Table::kAxis},
    {"REDUCE_MAX", TosaOp::REDUCE_MAX, Tosa080Table::kAxis},
    {"REDUCE_MIN", TosaOp::REDUCE_MIN, Tosa080Table::kAxis},
    {"REDUCE_PRODUCT", TosaOp::REDUCE_PRODUCT, Tosa080Table::kAxis},
    {"REDUCE_SUM", TosaOp::REDUCE_SUM, Tosa080Table::kAxis},
    {"CONCAT", TosaOp::CONCAT, Tosa080Table::kAxis},
    {"PAD", TosaOp::PAD, Tosa080Table::kPad},
    {"RESHAPE", TosaOp::RESHAPE, Tosa080Table::kReshape},
    {"REVERSE", TosaOp::REVERSE, Tosa080Table::kAxis},
    {"SLICE", TosaOp::SLICE, Tosa080Table::kSlice},
    {"TILE", TosaOp::TILE, Tosa080Table::kTile},
    {"TRANSPOSE", TosaOp::TRANSPOSE, Tosa080Table::kTranspose},
    {"GATHER", TosaOp::GATHER, Tosa080Table::kNone},
    {"SCATTER", TosaOp::SCATTER, Tosa080Table::kNone},
    {"RESIZE", TosaOp::RESIZE, Tosa080Table::kResize},
    {"CAST", TosaOp::CAST, Tosa080Table::kNone},
    {"RESCALE", TosaOp::RESCALE, Tosa080Table::kRescale},
    {"CONST", TosaOp::CONST, Tosa080Table::kNone},
    {"IDENTITY", TosaOp::IDENTITY, Tosa080Table::kNone},
    {"CUSTOM", TosaOp::CUSTOM, Tosa080Table::kCustom},
    {"COND_IF", TosaOp::COND_IF, Tosa080Table::kCondIf},
    {"WHILE_LOOP", TosaOp::WHILE_LOOP, Tosa080Table::kWhileLoop},
    {"FFT2D", TosaOp::FFT2D, Tosa080Table::kFft},
    {"RFFT2D", TosaOp::RFFT2D, Tosa080Table::kRfft},
    {"ERF", TosaOp::ERF, Tosa080Table::kNone},
    {"DIM", std::nullopt, Tosa080Table::kAxis},
});

// Element types by their numbers in 0.80. A tensor of an unsigned type gets the signed type in 1.0, where attributes of
// RESCALE mark its input or output as unsigned.
struct Tosa080Type {
  std::string_view name;
  TosaType type;  // kUnknown: not in 1.0, or not a type of tensors
  bool is_unsigned;
};
inline constexpr auto kTosa080Types = std::to_array<Tosa080Type>({
    {"unknown", TosaType::kUnknown, false},
    {"bool", TosaType::kBool, false},
    {"u8", TosaType::kInt8, true},
    {"i4", TosaType::kInt4, false},
    {"i8", TosaType::kInt8, false},
    {"i16", TosaType::kInt16, false},
    {"i32", TosaType::kInt32, false},
    {"i48", TosaType::kInt48, false},
    {"fp32", TosaType::kFp32, false},
    {"u16", TosaType::kInt16, true},
    {"fp16", TosaType::kFp16, false},
    {"bf16", TosaType::kBf16, false},
    {"shape", TosaType::kUnknown, false},
});

// The number of a type in 0.80, if there is one.
constexpr std::optional<uint32_t> number_in_0_80(TosaType type, bool is_unsigned) {
  for (uint32_t i = 0; i < kTosa080Types.size(); ++i) {
    if (type != TosaType::kUnknown && kTosa080Types[i].type == type && kTosa080Types[i].is_unsigned == is_unsigned)
      return i;
  }
  return std::nullopt;
}

// The number of an operator in 0.80, if there is one.
constexpr std::optional<uint32_t> number_in_0_80(TosaOp op) {
  for (uint32_t i = 0; i < kTosa080Ops.size(); ++i) {
    if (kTosa080Ops[i].op == op) return i + 1;
  }
  return std::nullopt;
}

constexpr std::span<const Tosa080Slot> slots_of(Tosa080Table table) {
  return kTosa080Tables[static_cast<size_t>(table)];
}

// Returns whether a slot holds this operand (or attribute) of 1.0, for a tensor of integers or of floats.
constexpr bool holds_operand(const Tosa080Slot& slot, std::string_view operand, bool is_float) {
  return slot.name_1_0 == operand &&
         (slot.source == Tosa080Source::kOperand ||
          slot.source == (is_float ? Tosa080Source::kFloatOperand : Tosa080Source::kIntegerOperand));
}
constexpr bool holds_attribute(const Tosa080Slot& slot, std::string_view attribute, bool is_float) {
  return slot.name_1_0 == attribute &&
         (slot.source == Tosa080Source::kAttribute || slot.source == Tosa080Source::kDoubleRound ||
          slot.source == (is_float ? Tosa080Source::kFloatAttribute : Tosa080Source::kIntegerAttribute));
}

// The slot of this operand; nullptr if there is none.
constexpr const Tosa080Slot* slot_of_operand(Tosa080Table table, std::string_view operand, bool is_float) {
  for (const Tosa080Slot& slot : slots_of(table)) {
    if (holds_operand(slot, operand, is_float)) return &slot;
  }
  return nullptr;
}
constexpr const Tosa080Slot* slot_of_attribute(Tosa080Table table, std::string_view attribute, bool is_float) {
  for (const Tosa080Slot& slot : slots_of(table)) {
    if (holds_attribute(slot, attribute, is_float)) return &slot;
  }
  return nullptr;
}

// A result type that an operator has in 1.0 but not in 0.80. Convolutions of bf16 give fp32 in 0.80.
struct Tosa080MissingResult {
  TosaOp op;
  TosaType type;
};
inline constexpr auto kTosa080MissingResults = std::to_array<Tosa080MissingResult>({
    {TosaOp::CONV2D, TosaType::kBf16},
    {TosaOp::CONV3D, TosaType::kBf16},
    {TosaOp::DEPTHWISE_CONV2D, TosaType::kBf16},
    {TosaOp::TRANSPOSE_CONV2D, TosaType::kBf16},
});

// Numbers start at 1, and every operand of 1.0 that must be constant has a slot. (Pointers are not compared: g++ 12
// with UBSan does not treat the comparison as a constant.)
static_assert(number_in_0_80(TosaOp::ERF) == 71 && number_in_0_80(TosaOp::REDUCE_ANY) == 46);
static_assert(std::ranges::all_of(kTosa080Ops, [](const Tosa080Op& row) {
  return !row.op || std::ranges::all_of(row_of(*row.op).inputs, [&](const TosaOperand& operand) {
    const bool tensor = operand.constness == TosaConstness::kRunTime && operand.kind != TosaOperandKind::kShape;
    return tensor || std::ranges::any_of(slots_of(row.table), [&](const Tosa080Slot& slot) {
             return holds_operand(slot, operand.name, true);
           });
  });
}));

// Attributes that 0.80 implies: NaN propagates, and the types decide the accumulator.
inline constexpr auto kTosa080Implied = std::to_array<std::string_view>({"nan_mode", "acc_type"});
static_assert(std::ranges::all_of(kTosa080Ops, [](const Tosa080Op& row) {
  return !row.op || std::ranges::all_of(row_of(*row.op).attributes, [&](const TosaAttribute& attribute) {
    const auto has_slot = [&](bool is_float) {
      return std::ranges::any_of(slots_of(row.table), [&](const Tosa080Slot& slot) {
        return holds_attribute(slot, attribute.name, is_float);
      });
    };
    return std::ranges::find(kTosa080Implied, attribute.name) != kTosa080Implied.end() ||
           (has_slot(true) && has_slot(false));
  });
}));

}  // namespace carina
