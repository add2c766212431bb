#pragma once

#include "facts/tosa_row.h"

// Part of facts/tosa_rows.h: tensor operators (section 2.3).

namespace carina {

namespace tosa_rows {

inline constexpr auto kTosaNanModes = std::to_array<TosaEnumValue>({{1, "PROPAGATE"}, {2, "IGNORE"}});
inline constexpr auto kTosaResizeModes = std::to_array<TosaEnumValue>({{1, "NEAREST"}, {2, "BILINEAR"}});
inline constexpr auto kTosaRoundingModes =
    std::to_array<TosaEnumValue>({{1, "SINGLE_ROUND"}, {2, "INEXACT_ROUND"}, {3, "DOUBLE_ROUND"}});

inline constexpr auto kArgmaxInputs = std::to_array<TosaOperand>({
    {.name = "input", .type = "in_t", .shape = "shape1", .min_rank = 1},
});
inline constexpr auto kArgmaxOutputs = std::to_array<TosaOperand>({
    {.name = "output", .type = "out_t", .shape = "shape"},
});
inline constexpr auto kArgmaxAttributes = std::to_array<TosaAttribute>({
    {.name = "axis", .kind = TosaAttributeKind::kInt},
    {.name = "nan_mode", .kind = TosaAttributeKind::kEnum, .values = kTosaNanModes},
});
inline constexpr auto kInAndOutTypes = std::to_array<std::string_view>({
    "in_t",
    "out_t",
});
inline constexpr auto kArgmaxTypes = std::to_array<TosaTypeRow>({
    {.mode = "signed 8", .types = {TosaType::kInt8, TosaType::kInt32}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "signed 16", .types = {TosaType::kInt16, TosaType::kInt32}, .any_of = only(TosaFeature::kExtInt16)},
    {.mode = "fp8e4m3", .types = {TosaType::kFp8E4M3, TosaType::kInt32}, .any_of = only(TosaFeature::kExtFp8E4M3)},
    {.mode = "fp8e5m2", .types = {TosaType::kFp8E5M2, TosaType::kInt32}, .any_of = only(TosaFeature::kExtFp8E5M2)},
    {.mode = "fp16", .types = {TosaType::kFp16, TosaType::kInt32}, .any_of = only(TosaFeature::kProFp)},
    {.mode = "bf16", .types = {TosaType::kBf16, TosaType::kInt32}, .any_of = only(TosaFeature::kExtBf16)},
    {.mode = "fp32", .types = {TosaType::kFp32, TosaType::kInt32}, .any_of = only(TosaFeature::kProFp)},
});
inline constexpr auto kAvgPool2dInputs = std::to_array<TosaOperand>({
    {.name = "input", .type = "in_out_t", .shape = "[N,IH,IW,C]", .min_rank = 4, .max_rank = 4},
    {.name = "input_zp",
     .type = "in_out_t",
     .shape = "[1]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
    {.name = "output_zp",
     .type = "in_out_t",
     .shape = "[1]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
});
inline constexpr auto kAvgPool2dOutputs = std::to_array<TosaOperand>({
    {.name = "output", .type = "in_out_t", .shape = "[N,OH,OW,C]", .min_rank = 4, .max_rank = 4},
});
inline constexpr auto kAvgPool2dAttributes = std::to_array<TosaAttribute>({
    {.name = "kernel", .kind = TosaAttributeKind::kInts, .count = 2},
    {.name = "stride", .kind = TosaAttributeKind::kInts, .count = 2},
    {.name = "pad", .kind = TosaAttributeKind::kInts, .count = 4},
    {.name = "acc_type", .kind = TosaAttributeKind::kType},
});
inline constexpr auto kInOutAndAccTypes = std::to_array<std::string_view>({
    "in_out_t",
    "acc_t",
});
inline constexpr auto kAvgPool2dTypes = std::to_array<TosaTypeRow>({
    {.mode = "signed 8 with int32 accumulate",
     .types = {TosaType::kInt8, TosaType::kInt32},
     .any_of = only(TosaFeature::kProInt)},
    {.mode = "signed 16 with int32 accumulate",
     .types = {TosaType::kInt16, TosaType::kInt32},
     .any_of = only(TosaFeature::kExtInt16)},
    {.mode = "fp8e4m3 with fp16 accumulate",
     .types = {TosaType::kFp8E4M3, TosaType::kFp16},
     .any_of = only(TosaFeature::kExtFp8E4M3)},
    {.mode = "fp8e5m2 with fp16 accumulate",
     .types = {TosaType::kFp8E5M2, TosaType::kFp16},
     .any_of = only(TosaFeature::kExtFp8E5M2)},
    {.mode = "fp16 with fp16 accumulate",
     .types = {TosaType::kFp16, TosaType::kFp16},
     .any_of = only(TosaFeature::kProFp)},
    {.mode = "fp16 with fp32 accumulate",
     .types = {TosaType::kFp16, TosaType::kFp32},
     .any_of = only(TosaFeature::kProFp)},
    {.mode = "bf16 with fp32 accumulate",
     .types = {TosaType::kBf16, TosaType::kFp32},
     .any_of = only(TosaFeature::kExtBf16)},
    {.mode = "fp32 with fp32 accumulate",
     .types = {TosaType::kFp32, TosaType::kFp32},
     .any_of = only(TosaFeature::kProFp)},
});
inline constexpr auto kConv2dInputs = std::to_array<TosaOperand>({
    {.name = "input", .type = "in_t", .shape = "[N,IH,IW,IC]", .min_rank = 4, .max_rank = 4},
    {.name = "weight", .type = "weight_t", .shape = "[OC,KH,KW,IC]", .min_rank = 4, .max_rank = 4},
    {.name = "bias", .type = "out_t", .shape = "[BC]", .min_rank = 1, .max_rank = 1},
    {.name = "input_zp",
     .type = "in_t",
     .shape = "[1]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
    {.name = "weight_zp",
     .type = "weight_t",
     .shape = "[1]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
});
inline constexpr auto kConv2dOutputs = std::to_array<TosaOperand>({
    {.name = "output", .type = "out_t", .shape = "[N,OH,OW,OC]", .min_rank = 4, .max_rank = 4},
});
inline constexpr auto kConv2dAttributes = std::to_array<TosaAttribute>({
    {.name = "pad", .kind = TosaAttributeKind::kInts, .count = 4},
    {.name = "stride", .kind = TosaAttributeKind::kInts, .count = 2},
    {.name = "dilation", .kind = TosaAttributeKind::kInts, .count = 2},
    {.name = "local_bound", .kind = TosaAttributeKind::kBool},
    {.name = "acc_type", .kind = TosaAttributeKind::kType},
});
inline constexpr auto kConvTypeNames = std::to_array<std::string_view>({
    "in_t",
    "weight_t",
    "out_t",
    "acc_t",
});
inline constexpr auto kConvTypes = std::to_array<TosaTypeRow>({
    {.mode = "signed 8x8 with int32 accumulate",
     .types = {TosaType::kInt8, TosaType::kInt8, TosaType::kInt32, TosaType::kInt32},
     .any_of = only(TosaFeature::kProInt)},
    {.mode = "signed 8x4 with int32 accumulate",
     .types = {TosaType::kInt8, TosaType::kInt4, TosaType::kInt32, TosaType::kInt32},
     .any_of = only(TosaFeature::kExtInt4)},
    {.mode = "signed 16x8 with int48 accumulate",
     .types = {TosaType::kInt16, TosaType::kInt8, TosaType::kInt48, TosaType::kInt48},
     .any_of = only(TosaFeature::kExtInt16)},
    {.mode = "fp8e4m3 with fp16 accumulate",
     .types = {TosaType::kFp8E4M3, TosaType::kFp8E4M3, TosaType::kFp16, TosaType::kFp16},
     .any_of = only(TosaFeature::kExtFp8E4M3)},
    {.mode = "fp8e5m2 with fp16 accumulate",
     .types = {TosaType::kFp8E5M2, TosaType::kFp8E5M2, TosaType::kFp16, TosaType::kFp16},
     .any_of = only(TosaFeature::kExtFp8E5M2)},
    {.mode = "fp16 with fp16 accumulate",
     .types = {TosaType::kFp16, TosaType::kFp16, TosaType::kFp16, TosaType::kFp16},
     .any_of = only(TosaFeature::kProFp)},
    {.mode = "fp16 with fp32 accumulate",
     .types = {TosaType::kFp16, TosaType::kFp16, TosaType::kFp16, TosaType::kFp32},
     .any_of = only(TosaFeature::kProFp)},
    {.mode = "bf16 with fp32 accumulate",
     .types = {TosaType::kBf16, TosaType::kBf16, TosaType::kBf16, TosaType::kFp32},
     .any_of = only(TosaFeature::kExtBf16)},
    {.mode = "fp32 with fp32 accumulate",
     .types = {TosaType::kFp32, TosaType::kFp32, TosaType::kFp32, TosaType::kFp32},
     .any_of = only(TosaFeature::kProFp)},
});
inline constexpr auto kConv3dInputs = std::to_array<TosaOperand>({
    {.name = "input", .type = "in_t", .shape = "[N,ID,IH,IW,IC]", .min_rank = 5, .max_rank = 5},
    {.name = "weight", .type = "weight_t", .shape = "[OC,KD,KH,KW,IC]", .min_rank = 5, .max_rank = 5},
    {.name = "bias", .type = "out_t", .shape = "[BC]", .min_rank = 1, .max_rank = 1},
    {.name = "input_zp",
     .type = "in_t",
     .shape = "[1]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
    {.name = "weight_zp",
     .type = "weight_t",
     .shape = "[1]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
});
inline constexpr auto kConv3dOutputs = std::to_array<TosaOperand>({
    {.name = "output", .type = "out_t", .shape = "[N,OD,OH,OW,OC]", .min_rank = 5, .max_rank = 5},
});
inline constexpr auto kConv3dAttributes = std::to_array<TosaAttribute>({
    {.name = "pad", .kind = TosaAttributeKind::kInts, .count = 6},
    {.name = "stride", .kind = TosaAttributeKind::kInts, .count = 3},
    {.name = "dilation", .kind = TosaAttributeKind::kInts, .count = 3},
    {.name = "local_bound", .kind = TosaAttributeKind::kBool},
    {.name = "acc_type", .kind = TosaAttributeKind::kType},
});
inline constexpr auto kDepthwiseConv2dInputs = std::to_array<TosaOperand>({
    {.name = "input", .type = "in_t", .shape = "[N,IH,IW,C]", .min_rank = 4, .max_rank = 4},
    {.name = "weight", .type = "weight_t", .shape = "[KH,KW,C,M]", .min_rank = 4, .max_rank = 4},
    {.name = "bias", .type = "out_t", .shape = "[BC]", .min_rank = 1, .max_rank = 1},
    {.name = "input_zp",
     .type = "in_t",
     .shape = "[1]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
    {.name = "weight_zp",
     .type = "weight_t",
     .shape = "[1]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
});
inline constexpr auto kDepthwiseConv2dOutputs = std::to_array<TosaOperand>({
    {.name = "output", .type = "out_t", .shape = "[N,OH,OW,C*M]", .min_rank = 4, .max_rank = 4},
});
inline constexpr auto kFft2dInputs = std::to_array<TosaOperand>({
    {.name = "input_real", .type = "in_out_t", .shape = "[N,H,W]", .min_rank = 3, .max_rank = 3},
    {.name = "input_imag", .type = "in_out_t", .shape = "[N,H,W]", .min_rank = 3, .max_rank = 3},
});
inline constexpr auto kFft2dOutputs = std::to_array<TosaOperand>({
    {.name = "output_real", .type = "in_out_t", .shape = "[N,H,W]", .min_rank = 3, .max_rank = 3},
    {.name = "output_imag", .type = "in_out_t", .shape = "[N,H,W]", .min_rank = 3, .max_rank = 3},
});
inline constexpr auto kFft2dAttributes = std::to_array<TosaAttribute>({
    {.name = "inverse", .kind = TosaAttributeKind::kBool},
    {.name = "local_bound", .kind = TosaAttributeKind::kBool},
});
inline constexpr auto kInOutType = std::to_array<std::string_view>({
    "in_out_t",
});
inline constexpr auto kFft2dTypes = std::to_array<TosaTypeRow>({
    {.mode = "fp32", .types = {TosaType::kFp32}, .any_of = only(TosaFeature::kExtFft)},
});
inline constexpr auto kMatmulInputs = std::to_array<TosaOperand>({
    {.name = "A", .type = "in_t", .shape = "[N,H,C]", .min_rank = 3, .max_rank = 3},
    {.name = "B", .type = "in_t", .shape = "[N,C,W]", .min_rank = 3, .max_rank = 3},
    {.name = "A_zp",
     .type = "in_t",
     .shape = "[1]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
    {.name = "B_zp",
     .type = "in_t",
     .shape = "[1]",
     .min_rank = 1,
     .max_rank = 1,
     .constness = TosaConstness::kCompileTime},
});
inline constexpr auto kMatmulOutputs = std::to_array<TosaOperand>({
    {.name = "output", .type = "out_t", .shape = "[N,H,W]", .min_rank = 3, .max_rank = 3},
});
inline constexpr auto kMatmulTypes = std::to_array<TosaTypeRow>({
    {.mode = "signed 8x8 with int32 accumulate",
     .types = {TosaType::kInt8, TosaType::kInt32},
     .any_of = only(TosaFeature::kProInt)},
    {.mode = "signed 16x16 with int48 accumulate",
     .types = {TosaType::kInt16, TosaType::kInt48},
     .any_of = only(TosaFeature::kExtInt16)},
    {.mode = "fp8e4m3 with fp16 accumulate",
     .types = {TosaType::kFp8E4M3, TosaType::kFp16},
     .any_of = only(TosaFeature::kExtFp8E4M3)},
    {.mode = "fp8e5m2 with fp16 accumulate",
     .types = {TosaType::kFp8E5M2, TosaType::kFp16},
     .any_of = only(TosaFeature::kExtFp8E5M2)},
    {.mode = "fp16 with fp16 accumulate",
     .types = {TosaType::kFp16, TosaType::kFp16},
     .any_of = only(TosaFeature::kProFp)},
    {.mode = "fp16 with fp32 accumulate",
     .types = {TosaType::kFp16, TosaType::kFp32},
     .any_of = only(TosaFeature::kProFp)},
    {.mode = "bf16 with fp32 accumulate",
     .types = {TosaType::kBf16, TosaType::kFp32},
     .any_of = only(TosaFeature::kExtBf16)},
    {.mode = "fp32 with fp32 accumulate",
     .types = {TosaType::kFp32, TosaType::kFp32},
     .any_of = only(TosaFeature::kProFp)},
});
inline constexpr auto kMaxPool2dInputs = std::to_array<TosaOperand>({
    {.name = "input", .type = "in_out_t", .shape = "[N,IH,IW,C]", .min_rank = 4, .max_rank = 4},
});
inline constexpr auto kMaxPool2dAttributes = std::to_array<TosaAttribute>({
    {.name = "kernel", .kind = TosaAttributeKind::kInts, .count = 2},
    {.name = "stride", .kind = TosaAttributeKind::kInts, .count = 2},
    {.name = "pad", .kind = TosaAttributeKind::kInts, .count = 4},
    {.name = "nan_mode", .kind = TosaAttributeKind::kEnum, .values = kTosaNanModes},
});
inline constexpr auto kMaxPool2dTypes = std::to_array<TosaTypeRow>({
    {.mode = "signed 8", .types = {TosaType::kInt8}, .any_of = only(TosaFeature::kProInt)},
    {.mode = "signed 16", .types = {TosaType::kInt16}, .any_of = only(TosaFeature::kExtInt16)},
    {.mode = "fp8e4m3", .types = {TosaType::kFp8E4M3}, .any_of = only(TosaFeature::kExtFp8E4M3)},
    {.mode = "fp8e5m2", .types = {TosaType::kFp8E5M2}, .any_of = only(TosaFeature::kExtFp8E5M2)},
    {.mode = "fp16", .types = {TosaType::kFp16}, .any_of = only(TosaFeature::kProFp)},
    {.mode = "bf16", .types = {TosaType::kBf16}, .any_of = only(TosaFeature::kExtBf16)},
    {.mode = "fp32", .types = {TosaType::kFp32}, .any_of = only(TosaFeature::kProFp)},
});
inline constexpr auto kRfft2dInputs = std::to_array<TosaOperand>({
    {.name = "input_real", .type = "in_out_t", .shape = "[N,H,W]", .min_rank = 3, .max_rank = 3},
});
inline constexpr auto kRfft2dOutputs = std::to_array<TosaOperand>({
    {.name = "output_real", .type = "in_out_t", .shape = "[N,H,W/2 + 1]", .min_rank = 3, .max_rank = 3},
    {.name = "output_imag", .type = "in_out_t", .shape = "[N,H,W/2 + 1]", .min_rank = 3, .max_rank = 3},
});
inline constexpr auto kRfft2dAttributes = std::to_array<TosaAttribute>({
    {.name = "local_bound", .kind = TosaAttributeKind::kBool},
});
inline constexpr auto kTransposeConv2dAttributes = std::to_array<TosaAttribute>({
    {.name = "out_pad", .kind = TosaAttributeKind::kInts, .count = 4},
    {.name = "stride", .kind = TosaAttributeKind::kInts, .count = 2},
    {.name = "local_bound", .kind = TosaAttributeKind::kBool},
    {.name = "acc_type", .kind = TosaAttributeKind::kType},
});

inline constexpr auto kTensorRows = std::to_array<TosaOpRow>({
    {.op = TosaOp::ARGMAX,
     .group = "Tensor",
     .section = "2.3.1",
     .inputs = kArgmaxInputs,
     .outputs = kArgmaxOutputs,
     .attributes = kArgmaxAttributes,
     .type_names = kInAndOutTypes,
     .types = kArgmaxTypes,
     .vgf = {.instruction = 0, .attributes = vgf_ops::kAxisAndNanMode}},
    {.op = TosaOp::AVG_POOL2D,
     .group = "Tensor",
     .section = "2.3.2",
     .inputs = kAvgPool2dInputs,
     .outputs = kAvgPool2dOutputs,
     .attributes = kAvgPool2dAttributes,
     .type_names = kInOutAndAccTypes,
     .types = kAvgPool2dTypes,
     .vgf = {.instruction = 1, .attributes = vgf_ops::kAvgPool}},
    {.op = TosaOp::CONV2D,
     .group = "Tensor",
     .section = "2.3.3",
     .inputs = kConv2dInputs,
     .outputs = kConv2dOutputs,
     .attributes = kConv2dAttributes,
     .type_names = kConvTypeNames,
     .types = kConvTypes,
     .vgf = {.instruction = 2, .attributes = vgf_ops::kConv}},
    {.op = TosaOp::CONV3D,
     .group = "Tensor",
     .section = "2.3.4",
     .inputs = kConv3dInputs,
     .outputs = kConv3dOutputs,
     .attributes = kConv3dAttributes,
     .type_names = kConvTypeNames,
     .types = kConvTypes,
     .vgf = {.instruction = 3, .attributes = vgf_ops::kConv}},
    {.op = TosaOp::DEPTHWISE_CONV2D,
     .group = "Tensor",
     .section = "2.3.5",
     .inputs = kDepthwiseConv2dInputs,
     .outputs = kDepthwiseConv2dOutputs,
     .attributes = kConv2dAttributes,
     .type_names = kConvTypeNames,
     .types = kConvTypes,
     .vgf = {.instruction = 4, .attributes = vgf_ops::kConv}},
    {.op = TosaOp::FFT2D,
     .group = "Tensor",
     .section = "2.3.6",
     .inputs = kFft2dInputs,
     .outputs = kFft2dOutputs,
     .attributes = kFft2dAttributes,
     .type_names = kInOutType,
     .types = kFft2dTypes,
     .vgf = {.instruction = 5, .attributes = vgf_ops::kFft}},
    {.op = TosaOp::MATMUL,
     .group = "Tensor",
     .section = "2.3.7",
     .inputs = kMatmulInputs,
     .outputs = kMatmulOutputs,
     .attributes = {},
     .type_names = kInAndOutTypes,
     .types = kMatmulTypes,
     .vgf = {.instruction = 6}},
    {.op = TosaOp::MAX_POOL2D,
     .group = "Tensor",
     .section = "2.3.8",
     .inputs = kMaxPool2dInputs,
     .outputs = kAvgPool2dOutputs,
     .attributes = kMaxPool2dAttributes,
     .type_names = kInOutType,
     .types = kMaxPool2dTypes,
     .vgf = {.instruction = 7, .attributes = vgf_ops::kMaxPool}},
    {.op = TosaOp::RFFT2D,
     .group = "Tensor",
     .section = "2.3.9",
     .inputs = kRfft2dInputs,
     .outputs = kRfft2dOutputs,
     .attributes = kRfft2dAttributes,
     .type_names = kInOutType,
     .types = kFft2dTypes,
     .vgf = {.instruction = 8, .attributes = vgf_ops::kRfft}},
    {.op = TosaOp::TRANSPOSE_CONV2D,
     .group = "Tensor",
     .section = "2.3.10",
     .inputs = kConv2dInputs,
     .outputs = kConv2dOutputs,
     .attributes = kTransposeConv2dAttributes,
     .type_names = kConvTypeNames,
     .types = kConvTypes,
     .vgf = {.instruction = 9, .attributes = vgf_ops::kTransposeConv}},
});

}  // namespace tosa_rows

}  // namespace carina
