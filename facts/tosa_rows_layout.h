#pragma once

#include "facts/tosa_rows_unary.h"

// Part of facts/tosa_rows.h: reductions, data layout, scatter and gather (sections 2.9 to 2.11).

namespace carina {

namespace tosa_rows {

inline constexpr auto kReduceInputs = std::to_array<TosaOperand>({
    {.name = "input", .type = "in_out_t", .shape = "shape1", .min_rank = 1},
});
inline constexpr auto kLayoutOutputs = std::to_array<TosaOperand>({
    {.name = "output", .type = "in_out_t", .shape = "shape", .min_rank = 1},
});
inline constexpr auto kAxisAttribute = std::to_array<TosaAttribute>({
    {.name = "axis", .kind = TosaAttributeKind::kInt},
});
inline constexpr auto kReduceMinMaxTypes = std::to_array<TosaTypeRow>({
    {.mode = "signed 8", .types = {TosaType::kInt8}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "signed 16", .types = {TosaType::kInt16}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "signed 32", .types = {TosaType::kInt32}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "fp16", .types = {TosaType::kFp16}, .any_of = only(TosaFeature::kProFp)},
    {.mode = "bf16", .types = {TosaType::kBf16}, .any_of = only(TosaFeature::kExtBf16)},
    {.mode = "fp32", .types = {TosaType::kFp32}, .any_of = only(TosaFeature::kProFp)},
});
inline constexpr auto kReduceSumTypes = std::to_array<TosaTypeRow>({
    {.mode = "signed 32", .types = {TosaType::kInt32, TosaType::kInt32}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "fp16", .types = {TosaType::kFp16, TosaType::kFp16}, .any_of = only(TosaFeature::kProFp)},
    {.mode = "bf16", .types = {TosaType::kBf16, TosaType::kFp32}, .any_of = only(TosaFeature::kExtBf16)},
    {.mode = "fp32", .types = {TosaType::kFp32, TosaType::kFp32}, .any_of = only(TosaFeature::kProFp)},
});
inline constexpr auto kConcatInputs = std::to_array<TosaOperand>({
    {.name = "input1", .kind = TosaOperandKind::kTensorList, .type = "in_out_t", .shape = "shapes1", .min_rank = 1},
});
inline constexpr auto kConcatTypes = std::to_array<TosaTypeRow>({
    {.mode = "Boolean", .types = {TosaType::kBool}, .any_of = TosaFeature::kProInt | TosaFeature::kProFp},
    {.mode = "signed 8", .types = {TosaType::kInt8}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "signed 16", .types = {TosaType::kInt16}, .any_of = only(TosaFeature::kExtInt16)},
    {.mode = "signed 32", .types = {TosaType::kInt32}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "fp8e4m3", .types = {TosaType::kFp8E4M3}, .any_of = only(TosaFeature::kExtFp8E4M3)},
    {.mode = "fp8e5m2", .types = {TosaType::kFp8E5M2}, .any_of = only(TosaFeature::kExtFp8E5M2)},
    {.mode = "fp16", .types = {TosaType::kFp16}, .any_of = only(TosaFeature::kProFp)},
    {.mode = "bf16", .types = {TosaType::kBf16}, .any_of = only(TosaFeature::kExtBf16)},
    {.mode = "fp32", .types = {TosaType::kFp32}, .any_of = only(TosaFeature::kProFp)},
});
inline constexpr auto kPadInputs = std::to_array<TosaOperand>({
    {.name = "input1", .type = "in_out_t", .shape = "shape1", .min_rank = 1},
    {.name = "padding",
     .kind = TosaOperandKind::kShape,
     .type = "shape",
     .shape = "[2*rank(shape1)]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
    {.name = "pad_const",
     .type = "in_out_t",
     .shape = "[1]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
});
inline constexpr auto kLayoutTypes = std::to_array<TosaTypeRow>({
    {.mode = "Boolean", .types = {TosaType::kBool}, .any_of = TosaFeature::kProInt | TosaFeature::kProFp},
    {.mode = "signed 8", .types = {TosaType::kInt8}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "signed 16", .types = {TosaType::kInt16}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "signed 32", .types = {TosaType::kInt32}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "fp8e4m3", .types = {TosaType::kFp8E4M3}, .any_of = only(TosaFeature::kExtFp8E4M3)},
    {.mode = "fp8e5m2", .types = {TosaType::kFp8E5M2}, .any_of = only(TosaFeature::kExtFp8E5M2)},
    {.mode = "fp16", .types = {TosaType::kFp16}, .any_of = only(TosaFeature::kProFp)},
    {.mode = "bf16", .types = {TosaType::kBf16}, .any_of = only(TosaFeature::kExtBf16)},
    {.mode = "fp32", .types = {TosaType::kFp32}, .any_of = only(TosaFeature::kProFp)},
});
inline constexpr auto kReshapeInputs = std::to_array<TosaOperand>({
    {.name = "input1", .type = "in_out_t", .shape = "shape1"},
    {.name = "shape",
     .kind = TosaOperandKind::kShape,
     .type = "shape",
     .shape = "[rank(shape)]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
});
inline constexpr auto kReverseInputs = std::to_array<TosaOperand>({
    {.name = "input1", .type = "in_out_t", .shape = "shape", .min_rank = 1},
});
inline constexpr auto kSliceInputs = std::to_array<TosaOperand>({
    {.name = "input1", .type = "in_out_t", .shape = "shape1", .min_rank = 1},
    {.name = "start",
     .kind = TosaOperandKind::kShape,
     .type = "shape",
     .shape = "[rank(shape1)]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
    {.name = "size",
     .kind = TosaOperandKind::kShape,
     .type = "shape",
     .shape = "[rank(shape1)]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
});
inline constexpr auto kTileInputs = std::to_array<TosaOperand>({
    {.name = "input1", .type = "in_out_t", .shape = "shape1", .min_rank = 1},
    {.name = "multiples",
     .kind = TosaOperandKind::kShape,
     .type = "shape",
     .shape = "[rank(shape1)]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
});
inline constexpr auto kTransposeInputs = std::to_array<TosaOperand>({
    {.name = "input1", .type = "in_out_t", .shape = "shape1", .min_rank = 1},
});
inline constexpr auto kTransposeAttributes = std::to_array<TosaAttribute>({
    {.name = "perms", .kind = TosaAttributeKind::kInts},
});
inline constexpr auto kGatherInputs = std::to_array<TosaOperand>({
    {.name = "values", .type = "in_out_t", .shape = "[N,K,C]", .min_rank = 3, .max_rank = 3},
    {.name = "indices", .type = "index_t", .shape = "[N,W]", .min_rank = 2, .max_rank = 2},
});
inline constexpr auto kGatherOutputs = std::to_array<TosaOperand>({
    {.name = "output", .type = "in_out_t", .shape = "[N,W,C]", .min_rank = 3, .max_rank = 3},
});
inline constexpr auto kGatherTypeNames = std::to_array<std::string_view>({
    "index_t",
    "in_out_t",
});
inline constexpr auto kGatherTypes = std::to_array<TosaTypeRow>({
    {.mode = "signed 8", .types = {TosaType::kInt32, TosaType::kInt8}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "signed 16", .types = {TosaType::kInt32, TosaType::kInt16}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "signed 32", .types = {TosaType::kInt32, TosaType::kInt32}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "fp8e4m3", .types = {TosaType::kInt32, TosaType::kFp8E4M3}, .any_of = only(TosaFeature::kExtFp8E4M3)},
    {.mode = "fp8e5m2", .types = {TosaType::kInt32, TosaType::kFp8E5M2}, .any_of = only(TosaFeature::kExtFp8E5M2)},
    {.mode = "fp16", .types = {TosaType::kInt32, TosaType::kFp16}, .any_of = only(TosaFeature::kProFp)},
    {.mode = "bf16", .types = {TosaType::kInt32, TosaType::kBf16}, .any_of = only(TosaFeature::kExtBf16)},
    {.mode = "fp32", .types = {TosaType::kInt32, TosaType::kFp32}, .any_of = only(TosaFeature::kProFp)},
});
inline constexpr auto kScatterInputs = std::to_array<TosaOperand>({
    {.name = "values_in", .type = "in_out_t", .shape = "[N,K,C]", .min_rank = 3, .max_rank = 3},
    {.name = "indices", .type = "index_t", .shape = "[N,W]", .min_rank = 2, .max_rank = 2},
    {.name = "input", .type = "in_out_t", .shape = "[N,W,C]", .min_rank = 3, .max_rank = 3},
});
inline constexpr auto kScatterOutputs = std::to_array<TosaOperand>({
    {.name = "values_out", .type = "in_out_t", .shape = "[N,K,C]", .min_rank = 3, .max_rank = 3},
});

inline constexpr auto kLayoutRows = std::to_array<TosaOpRow>({
    {.op = TosaOp::REDUCE_ALL,
     .group = "Reduction",
     .section = "2.9.1",
     .inputs = kReduceInputs,
     .outputs = kLayoutOutputs,
     .attributes = kAxisAttribute,
     .type_names = kInOutType,
     .types = kBoolType,
     .vgf = {.instruction = 48, .attributes = vgf_ops::kAxis}},
    {.op = TosaOp::REDUCE_ANY,
     .group = "Reduction",
     .section = "2.9.2",
     .inputs = kReduceInputs,
     .outputs = kLayoutOutputs,
     .attributes = kAxisAttribute,
     .type_names = kInOutType,
     .types = kBoolType,
     .vgf = {.instruction = 49, .attributes = vgf_ops::kAxis}},
    {.op = TosaOp::REDUCE_MAX,
     .group = "Reduction",
     .section = "2.9.3",
     .inputs = kReduceInputs,
     .outputs = kLayoutOutputs,
     .attributes = kArgmaxAttributes,
     .type_names = kInOutType,
     .types = kReduceMinMaxTypes,
     .vgf = {.instruction = 50, .attributes = vgf_ops::kAxisAndNanMode}},
    {.op = TosaOp::REDUCE_MIN,
     .group = "Reduction",
     .section = "2.9.4",
     .inputs = kReduceInputs,
     .outputs = kLayoutOutputs,
     .attributes = kArgmaxAttributes,
     .type_names = kInOutType,
     .types = kReduceMinMaxTypes,
     .vgf = {.instruction = 51, .attributes = vgf_ops::kAxisAndNanMode}},
    {.op = TosaOp::REDUCE_PRODUCT,
     .group = "Reduction",
     .section = "2.9.5",
     .inputs = kReduceInputs,
     .outputs = kLayoutOutputs,
     .attributes = kAxisAttribute,
     .type_names = kInOutType,
     .types = kFloatTypes,
     .vgf = {.instruction = 52, .attributes = vgf_ops::kAxis}},
    {.op = TosaOp::REDUCE_SUM,
     .group = "Reduction",
     .section = "2.9.6",
     .inputs = kReduceInputs,
     .outputs = kLayoutOutputs,
     .attributes = kAxisAttribute,
     .type_names = kInOutAndAccTypes,
     .types = kReduceSumTypes,
     .vgf = {.instruction = 53, .attributes = vgf_ops::kAxis}},
    {.op = TosaOp::CONCAT,
     .group = "Data layout",
     .section = "2.10.1",
     .inputs = kConcatInputs,
     .outputs = kLayoutOutputs,
     .attributes = kAxisAttribute,
     .type_names = kInOutType,
     .types = kConcatTypes,
     .vgf = {.instruction = 54, .attributes = vgf_ops::kAxis}},
    {.op = TosaOp::PAD,
     .group = "Data layout",
     .section = "2.10.2",
     .inputs = kPadInputs,
     .outputs = kLayoutOutputs,
     .attributes = {},
     .type_names = kInOutType,
     .types = kLayoutTypes,
     .vgf = {.instruction = 55}},
    {.op = TosaOp::RESHAPE,
     .group = "Data layout",
     .section = "2.10.3",
     .inputs = kReshapeInputs,
     .outputs = kSameShapeOutput,
     .attributes = {},
     .type_names = kInOutType,
     .types = kLayoutTypes,
     .vgf = {.instruction = 56}},
    {.op = TosaOp::REVERSE,
     .group = "Data layout",
     .section = "2.10.4",
     .inputs = kReverseInputs,
     .outputs = kLayoutOutputs,
     .attributes = kAxisAttribute,
     .type_names = kInOutType,
     .types = kLayoutTypes,
     .vgf = {.instruction = 57, .attributes = vgf_ops::kAxis}},
    {.op = TosaOp::SLICE,
     .group = "Data layout",
     .section = "2.10.5",
     .inputs = kSliceInputs,
     .outputs = kLayoutOutputs,
     .attributes = {},
     .type_names = kInOutType,
     .types = kLayoutTypes,
     .vgf = {.instruction = 58}},
    {.op = TosaOp::TILE,
     .group = "Data layout",
     .section = "2.10.6",
     .inputs = kTileInputs,
     .outputs = kLayoutOutputs,
     .attributes = {},
     .type_names = kInOutType,
     .types = kLayoutTypes,
     .vgf = {.instruction = 59}},
    {.op = TosaOp::TRANSPOSE,
     .group = "Data layout",
     .section = "2.10.7",
     .inputs = kTransposeInputs,
     .outputs = kLayoutOutputs,
     .attributes = kTransposeAttributes,
     .type_names = kInOutType,
     .types = kLayoutTypes,
     .vgf = {.instruction = 60, .attributes = vgf_ops::kPerms}},
    {.op = TosaOp::GATHER,
     .group = "Scatter/gather",
     .section = "2.11.1",
     .inputs = kGatherInputs,
     .outputs = kGatherOutputs,
     .attributes = {},
     .type_names = kGatherTypeNames,
     .types = kGatherTypes,
     .vgf = {.instruction = 61}},
    {.op = TosaOp::SCATTER,
     .group = "Scatter/gather",
     .section = "2.11.2",
     .inputs = kScatterInputs,
     .outputs = kScatterOutputs,
     .attributes = {},
     .type_names = kGatherTypeNames,
     .types = kGatherTypes,
     .vgf = {.instruction = 62}},
});

}  // namespace tosa_rows

}  // namespace carina
