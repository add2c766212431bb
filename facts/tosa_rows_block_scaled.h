#pragma once

#include "facts/tosa_row.h"

// Part of facts/tosa_rows.h: the block-scaled operators of EXT-MXFP. Blocks of 32 elements along the last axis share
// one scale, a power of two. Sections are those of the specification 1.1 draft; operands and attributes are those of
// its FlatBuffer schema.
//   Example: data fp4e2m1 [2,64] has scales fp8ue8m0 [2,2]; element [1,40] is data[1,40] * scale[1,1].

namespace carina {

namespace tosa_rows {

inline constexpr auto kTosaBlockSizes = std::to_array<TosaEnumValue>({{32, "BLOCK_SIZE_32"}});
inline constexpr auto kBlockSizeAttribute = std::to_array<TosaAttribute>({
    {.name = "block_size", .kind = TosaAttributeKind::kEnum, .values = kTosaBlockSizes},
});
inline constexpr VgfForm kNotInVgf{.treatment = VgfTreatment::kRejected,
                                   .reason = "the instruction set TOSA.001000.1 has no block-scaled operators"};
inline constexpr TosaFeatures kMxFp = only(TosaFeature::kExtMxFp);

inline constexpr auto kMatMulTBlockScaledInputs = std::to_array<TosaOperand>({
    {.name = "A_data", .type = "in_t", .shape = "[N,H,C]", .min_rank = 3, .max_rank = 3},
    {.name = "A_scale", .type = "scale_t", .shape = "[N,H,CB]", .min_rank = 3, .max_rank = 3},
    {.name = "B_data", .type = "in_t", .shape = "[D,W,C]", .min_rank = 3, .max_rank = 3},
    {.name = "B_scale", .type = "scale_t", .shape = "[D,W,CB]", .min_rank = 3, .max_rank = 3},
});
inline constexpr auto kMatMulTBlockScaledOutputs = std::to_array<TosaOperand>({
    {.name = "output", .type = "out_t", .shape = "[N,H,W]", .min_rank = 3, .max_rank = 3},
});
inline constexpr auto kCastFromBlockScaledInputs = std::to_array<TosaOperand>({
    {.name = "input_data", .type = "in_t", .shape = "shape", .min_rank = 1},
    {.name = "input_scale", .type = "scale_t", .shape = "", .min_rank = 1},
});
inline constexpr auto kCastFromBlockScaledOutputs = std::to_array<TosaOperand>({
    {.name = "output_data", .type = "out_t", .shape = "shape", .min_rank = 1},
});
inline constexpr auto kCastToBlockScaledInputs = std::to_array<TosaOperand>({
    {.name = "input_data", .type = "in_t", .shape = "shape", .min_rank = 1},
});
inline constexpr auto kCastToBlockScaledOutputs = std::to_array<TosaOperand>({
    {.name = "output_data", .type = "out_t", .shape = "shape", .min_rank = 1},
    {.name = "output_scale", .type = "scale_t", .shape = "", .min_rank = 1},
});
inline constexpr auto kConv2dBlockScaledInputs = std::to_array<TosaOperand>({
    {.name = "input_data", .type = "in_t", .shape = "[N,IH,IW,IC]", .min_rank = 4, .max_rank = 4},
    {.name = "input_scale", .type = "scale_t", .shape = "[N,IH,IW,IB]", .min_rank = 4, .max_rank = 4},
    {.name = "weight_data", .type = "in_t", .shape = "[OC,KH,KW,IC]", .min_rank = 4, .max_rank = 4},
    {.name = "weight_scale", .type = "scale_t", .shape = "[OC,KH,KW,IB]", .min_rank = 4, .max_rank = 4},
    {.name = "bias", .type = "out_t", .shape = "[BC]", .min_rank = 1, .max_rank = 1},
    {.name = "pad",
     .kind = TosaOperandKind::kShape,
     .type = "shape",
     .shape = "[4]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
    {.name = "stride",
     .kind = TosaOperandKind::kShape,
     .type = "shape",
     .shape = "[2]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
    {.name = "dilation",
     .kind = TosaOperandKind::kShape,
     .type = "shape",
     .shape = "[2]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
});
inline constexpr auto kConv2dBlockScaledOutputs = std::to_array<TosaOperand>({
    {.name = "output", .type = "out_t", .shape = "[N,OH,OW,OC]", .min_rank = 4, .max_rank = 4},
});
inline constexpr auto kBlockScaledSumTypeNames = std::to_array<std::string_view>({
    "in_t",
    "scale_t",
    "out_t",
});
inline constexpr auto kBlockScaledSumTypes = std::to_array<TosaTypeRow>({
    {.mode = "mxfp4e2m1 with fp32 accumulate",
     .types = {TosaType::kFp4E2M1, TosaType::kFp8UE8M0, TosaType::kFp32},
     .any_of = kMxFp},
    {.mode = "mxfp6e2m3 with fp32 accumulate",
     .types = {TosaType::kFp6E2M3, TosaType::kFp8UE8M0, TosaType::kFp32},
     .any_of = kMxFp},
    {.mode = "mxfp6e3m2 with fp32 accumulate",
     .types = {TosaType::kFp6E3M2, TosaType::kFp8UE8M0, TosaType::kFp32},
     .any_of = kMxFp},
    {.mode = "mxfp8e4m3 with fp32 accumulate",
     .types = {TosaType::kFp8E4M3, TosaType::kFp8UE8M0, TosaType::kFp32},
     .any_of = kMxFp},
    {.mode = "mxfp8e5m2 with fp32 accumulate",
     .types = {TosaType::kFp8E5M2, TosaType::kFp8UE8M0, TosaType::kFp32},
     .any_of = kMxFp},
});
inline constexpr auto kCastFromBlockScaledTypes = std::to_array<TosaTypeRow>({
    {.mode = "mxfp4e2m1 to bf16", .types = {TosaType::kFp4E2M1, TosaType::kFp8UE8M0, TosaType::kBf16}, .any_of = kMxFp},
    {.mode = "mxfp4e2m1 to fp16", .types = {TosaType::kFp4E2M1, TosaType::kFp8UE8M0, TosaType::kFp16}, .any_of = kMxFp},
    {.mode = "mxfp4e2m1 to fp32", .types = {TosaType::kFp4E2M1, TosaType::kFp8UE8M0, TosaType::kFp32}, .any_of = kMxFp},
    {.mode = "mxfp6e2m3 to bf16", .types = {TosaType::kFp6E2M3, TosaType::kFp8UE8M0, TosaType::kBf16}, .any_of = kMxFp},
    {.mode = "mxfp6e2m3 to fp16", .types = {TosaType::kFp6E2M3, TosaType::kFp8UE8M0, TosaType::kFp16}, .any_of = kMxFp},
    {.mode = "mxfp6e2m3 to fp32", .types = {TosaType::kFp6E2M3, TosaType::kFp8UE8M0, TosaType::kFp32}, .any_of = kMxFp},
    {.mode = "mxfp6e3m2 to bf16", .types = {TosaType::kFp6E3M2, TosaType::kFp8UE8M0, TosaType::kBf16}, .any_of = kMxFp},
    {.mode = "mxfp6e3m2 to fp16", .types = {TosaType::kFp6E3M2, TosaType::kFp8UE8M0, TosaType::kFp16}, .any_of = kMxFp},
    {.mode = "mxfp6e3m2 to fp32", .types = {TosaType::kFp6E3M2, TosaType::kFp8UE8M0, TosaType::kFp32}, .any_of = kMxFp},
    {.mode = "mxfp8e4m3 to bf16", .types = {TosaType::kFp8E4M3, TosaType::kFp8UE8M0, TosaType::kBf16}, .any_of = kMxFp},
    {.mode = "mxfp8e4m3 to fp16", .types = {TosaType::kFp8E4M3, TosaType::kFp8UE8M0, TosaType::kFp16}, .any_of = kMxFp},
    {.mode = "mxfp8e4m3 to fp32", .types = {TosaType::kFp8E4M3, TosaType::kFp8UE8M0, TosaType::kFp32}, .any_of = kMxFp},
    {.mode = "mxfp8e5m2 to bf16", .types = {TosaType::kFp8E5M2, TosaType::kFp8UE8M0, TosaType::kBf16}, .any_of = kMxFp},
    {.mode = "mxfp8e5m2 to fp16", .types = {TosaType::kFp8E5M2, TosaType::kFp8UE8M0, TosaType::kFp16}, .any_of = kMxFp},
    {.mode = "mxfp8e5m2 to fp32", .types = {TosaType::kFp8E5M2, TosaType::kFp8UE8M0, TosaType::kFp32}, .any_of = kMxFp},
});
inline constexpr auto kCastToBlockScaledTypeNames = std::to_array<std::string_view>({
    "in_t",
    "out_t",
    "scale_t",
});
inline constexpr auto kCastToBlockScaledTypes = std::to_array<TosaTypeRow>({
    {.mode = "bf16 to mxfp4e2m1", .types = {TosaType::kBf16, TosaType::kFp4E2M1, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "fp16 to mxfp4e2m1", .types = {TosaType::kFp16, TosaType::kFp4E2M1, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "fp32 to mxfp4e2m1", .types = {TosaType::kFp32, TosaType::kFp4E2M1, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "bf16 to mxfp6e2m3", .types = {TosaType::kBf16, TosaType::kFp6E2M3, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "fp16 to mxfp6e2m3", .types = {TosaType::kFp16, TosaType::kFp6E2M3, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "fp32 to mxfp6e2m3", .types = {TosaType::kFp32, TosaType::kFp6E2M3, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "bf16 to mxfp6e3m2", .types = {TosaType::kBf16, TosaType::kFp6E3M2, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "fp16 to mxfp6e3m2", .types = {TosaType::kFp16, TosaType::kFp6E3M2, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "fp32 to mxfp6e3m2", .types = {TosaType::kFp32, TosaType::kFp6E3M2, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "bf16 to mxfp8e4m3", .types = {TosaType::kBf16, TosaType::kFp8E4M3, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "fp16 to mxfp8e4m3", .types = {TosaType::kFp16, TosaType::kFp8E4M3, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "fp32 to mxfp8e4m3", .types = {TosaType::kFp32, TosaType::kFp8E4M3, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "bf16 to mxfp8e5m2", .types = {TosaType::kBf16, TosaType::kFp8E5M2, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "fp16 to mxfp8e5m2", .types = {TosaType::kFp16, TosaType::kFp8E5M2, TosaType::kFp8UE8M0}, .any_of = kMxFp},
    {.mode = "fp32 to mxfp8e5m2", .types = {TosaType::kFp32, TosaType::kFp8E5M2, TosaType::kFp8UE8M0}, .any_of = kMxFp},
});
inline constexpr auto kBlockScaledRows = std::to_array<TosaOpRow>({
    {.op = TosaOp::MATMUL_T_BLOCK_SCALED,
     .group = "Block-scaled",
     .section = "2.3 of 1.1-draft",
     .inputs = kMatMulTBlockScaledInputs,
     .outputs = kMatMulTBlockScaledOutputs,
     .attributes = kBlockSizeAttribute,
     .type_names = kBlockScaledSumTypeNames,
     .types = kBlockScaledSumTypes,
     .vgf = kNotInVgf},
    {.op = TosaOp::CAST_FROM_BLOCK_SCALED,
     .group = "Block-scaled",
     .section = "2.11 of 1.1-draft",
     .inputs = kCastFromBlockScaledInputs,
     .outputs = kCastFromBlockScaledOutputs,
     .attributes = kBlockSizeAttribute,
     .type_names = kBlockScaledSumTypeNames,
     .types = kCastFromBlockScaledTypes,
     .vgf = kNotInVgf},
    {.op = TosaOp::CAST_TO_BLOCK_SCALED,
     .group = "Block-scaled",
     .section = "2.11 of 1.1-draft",
     .inputs = kCastToBlockScaledInputs,
     .outputs = kCastToBlockScaledOutputs,
     .attributes = kBlockSizeAttribute,
     .type_names = kCastToBlockScaledTypeNames,
     .types = kCastToBlockScaledTypes,
     .vgf = kNotInVgf},
    {.op = TosaOp::CONV2D_BLOCK_SCALED,
     .group = "Block-scaled",
     .section = "2.3 of 1.1-draft",
     .inputs = kConv2dBlockScaledInputs,
     .outputs = kConv2dBlockScaledOutputs,
     .attributes = kBlockSizeAttribute,
     .type_names = kBlockScaledSumTypeNames,
     .types = kBlockScaledSumTypes,
     .vgf = kNotInVgf},
});

}  // namespace tosa_rows

}  // namespace carina
