#pragma once

#include <cstdint>
#include <span>
#include <string_view>

// The NPU products, and the values of packed fields in registers and operations. Names are those of the technical
// reference manuals. Source: Arm's public core driver, ethosu55_interface.h and its siblings.
namespace carina::npu {

enum class Product : uint8_t { kU55, kU65, kU85 };

// A set of products. It says which NPUs have a register, a field or a value.
enum class Products : uint8_t { kU55 = 1, kU65 = 2, kU55U65 = 3, kU85 = 4, kU65U85 = 6, kAll = 7 };

constexpr bool contains(Products set, Product product) {
  return (static_cast<unsigned>(set) >> static_cast<unsigned>(product) & 1u) != 0;
}
constexpr bool is_u85(Product product) {
  return product == Product::kU85;
}

// One value of an enum: its number, its name and its products. One number can have two names on two products.
struct EnumValueRow {
  uint32_t value;
  std::string_view name;
  Products products;
};

// An enum for the disassembler. `prefix` comes before each value's name in listings.
struct EnumRow {
  std::string_view prefix;
  std::span<const EnumValueRow> values;
};

// The rows of enum E.
template <typename E>
inline constexpr EnumRow kEnumRow{};

// A field that is a plain number.
enum class Number : uint32_t {};

#define CARINA_NPU_ENUM_VALUE(name, number, products) name = number,
#define CARINA_NPU_ENUM_ROW(name, number, products) {number, #name, Products::products},
#define CARINA_NPU_ENUM(Type, prefix, LIST)                                    \
  enum class Type : uint8_t { LIST(CARINA_NPU_ENUM_VALUE) };                   \
  inline constexpr EnumValueRow k##Type##Rows[] = {LIST(CARINA_NPU_ENUM_ROW)}; \
  template <>                                                                  \
  inline constexpr EnumRow kEnumRow<Type>{prefix, k##Type##Rows};

// clang-format off: it would reformat the lists of values at each run.
#define CARINA_ACTIVATION_TYPE(V) V(UNSIGNED, 0, kAll) V(SIGNED, 1, kAll)
CARINA_NPU_ENUM(ActivationType, "ACTIVATION_TYPE_", CARINA_ACTIVATION_TYPE)

#define CARINA_ACTIVATION_PRECISION(V) V(B8, 0, kAll) V(B16, 1, kAll) V(B32, 2, kAll) V(B64, 3, kAll)
CARINA_NPU_ENUM(ActivationPrecision, "ACTIVATION_PRECISION_", CARINA_ACTIVATION_PRECISION)

#define CARINA_ACTIVATION_FORMAT(V) V(NHWC, 0, kAll) V(NHCWB16, 1, kAll)
CARINA_NPU_ENUM(ActivationFormat, "ACTIVATION_FORMAT_", CARINA_ACTIVATION_FORMAT)

#define CARINA_ACTIVATION_STORAGE(V) V(TILE2X2, 0, kU85) V(TILE3X1, 1, kU85) V(CHAINED, 2, kU85) V(NONE, 3, kU85)
CARINA_NPU_ENUM(ActivationStorage, "ACTIVATION_STORAGE_", CARINA_ACTIVATION_STORAGE)

#define CARINA_ACTIVATION_REVERSE(V) V(NONE, 0, kU85) V(H, 1, kU85) V(W, 2, kU85) V(C, 3, kU85)
CARINA_NPU_ENUM(ActivationReverse, "ACTIVATION_REVERSE_", CARINA_ACTIVATION_REVERSE)

#define CARINA_ACTIVATION_TRANSPOSE(V) \
  V(HWC, 0, kU85) V(WHC, 1, kU85) V(HCW, 2, kU85) V(WCH, 3, kU85) V(CHW, 6, kU85) V(CWH, 7, kU85)
CARINA_NPU_ENUM(ActivationTranspose, "ACTIVATION_TRANSPOSE_", CARINA_ACTIVATION_TRANSPOSE)

#define CARINA_IFM_SCALE_MODE(V) V(OPA_OPB_16, 0, kU55U65) V(OPA_32, 1, kU55U65) V(OPB_32, 2, kU55U65)
CARINA_NPU_ENUM(IfmScaleMode, "IFM_SCALE_MODE_", CARINA_IFM_SCALE_MODE)

#define CARINA_OFM_SCALE_MODE(V) V(PER_CHANNEL, 0, kAll) V(GLOBAL, 1, kAll)
CARINA_NPU_ENUM(OfmScaleMode, "OFM_SCALE_MODE_", CARINA_OFM_SCALE_MODE)

#define CARINA_ROUND_MODE(V) V(DBL, 0, kU55U65) V(TRUNCATE, 1, kU55U65) V(NATURAL, 2, kU55U65)
CARINA_NPU_ENUM(RoundMode, "ROUND_MODE_", CARINA_ROUND_MODE)

#define CARINA_ROUND_MODE_OFM(V) \
  V(DOUBLE_SYMMETRIC, 0, kU85) V(NATURAL, 1, kU85) V(DOUBLE_ASYMMETRIC, 2, kU85) V(SYMMETRIC, 3, kU85) \
  V(TRUNCATE_TO_ZERO, 4, kU85) V(TRUNCATE_TO_LOWER, 5, kU85)
CARINA_NPU_ENUM(RoundModeOfm, "ROUND_MODE_OFM_", CARINA_ROUND_MODE_OFM)

#define CARINA_ROUND_MODE_IFM(V) V(DOUBLE_SYMMETRIC, 0, kU85) V(NATURAL, 1, kU85)
CARINA_NPU_ENUM(RoundModeIfm, "ROUND_MODE_IFM_", CARINA_ROUND_MODE_IFM)

#define CARINA_IFM_UPSCALE_MODE(V) V(NONE, 0, kAll) V(NEAREST, 1, kAll) V(ZEROS, 2, kAll)
CARINA_NPU_ENUM(IfmUpscaleMode, "IFM_UPSCALE_MODE_", CARINA_IFM_UPSCALE_MODE)

#define CARINA_WEIGHT_ORDER(V) V(DEPTH_FIRST, 0, kAll) V(PART_KERNEL_FIRST, 1, kAll)
CARINA_NPU_ENUM(WeightOrder, "WEIGHT_ORDER_", CARINA_WEIGHT_ORDER)

#define CARINA_KERNEL_DILATION(V) V(NONE, 0, kAll) V(X2, 1, kAll)
CARINA_NPU_ENUM(KernelDilation, "KERNEL_DILATION_", CARINA_KERNEL_DILATION)

#define CARINA_KERNEL_DECOMPOSITION(V) V(D8X8, 0, kAll) V(D4X4, 1, kAll)
CARINA_NPU_ENUM(KernelDecomposition, "KERNEL_DECOMPOSITION_", CARINA_KERNEL_DECOMPOSITION)

#define CARINA_PARALLEL_MODE(V) V(SINGLE_CORE, 0, kU65) V(DUAL_CORE_DEPTH, 1, kU65)
CARINA_NPU_ENUM(ParallelMode, "PARALLEL_MODE_", CARINA_PARALLEL_MODE)

#define CARINA_ACC_FORMAT(V) V(I32, 0, kAll) V(I40, 1, kU55U65) V(I48, 1, kU85) V(F16, 2, kU55U65)
CARINA_NPU_ENUM(AccFormat, "ACC_FORMAT_", CARINA_ACC_FORMAT)

#define CARINA_ACC_INPUT(V) V(RESET, 0, kU85) V(KEEP, 1, kU85) V(IFM2, 2, kU85)
CARINA_NPU_ENUM(AccInput, "ACC_INPUT_", CARINA_ACC_INPUT)

#define CARINA_ACC_OUTPUT(V) V(ENABLE, 0, kU85) V(DISABLE, 1, kU85)
CARINA_NPU_ENUM(AccOutput, "ACC_OUTPUT_", CARINA_ACC_OUTPUT)

// Height x width of the block that the MAC units compute at once.
#define CARINA_MICROBLOCK(V) \
  V(U1X1, 0, kU85) V(U1X2, 1, kU85) V(U1X4, 2, kU85) V(U2X2, 3, kU85) V(U2X4, 4, kU85) V(U4X4, 5, kU85)
CARINA_NPU_ENUM(Microblock, "MICROBLOCK_", CARINA_MICROBLOCK)

#define CARINA_ACTIVATION_FUNCTION(V) \
  V(RELU, 0, kU55U65) V(TANH, 3, kU55U65) V(SIGMOID, 4, kU55U65) V(TABLE_0, 16, kU55U65) V(TABLE_1, 17, kU55U65) \
  V(TABLE_2, 18, kU55U65) V(TABLE_3, 19, kU55U65) V(TABLE_4, 20, kU55U65) V(TABLE_5, 21, kU55U65) \
  V(TABLE_6, 22, kU55U65) V(TABLE_7, 23, kU55U65) V(LUT_NONE, 0, kU85) V(LUT_U8_U8, 1, kU85) V(LUT_S8_S8, 4, kU85) \
  V(LUT_S8_S16, 5, kU85) V(LUT_S8_S32, 7, kU85) V(LUT_S16_S16, 8, kU85) V(LUT_S16_S32, 9, kU85) \
  V(LUT_TANH, 10, kU85) V(LUT_SIGMOID, 11, kU85)
CARINA_NPU_ENUM(ActivationFunction, "ACTIVATION_FUNCTION_", CARINA_ACTIVATION_FUNCTION)

#define CARINA_ACTIVATION_CLIP_RANGE(V) \
  V(OFM_PRECISION, 0, kU55U65) V(FORCE_UINT8, 2, kU55U65) V(FORCE_INT8, 3, kU55U65) V(FORCE_INT16, 5, kU55U65) \
  V(B16, 0, kU85) V(NONE, 1, kU85)
CARINA_NPU_ENUM(ActivationClipRange, "ACTIVATION_CLIP_RANGE_", CARINA_ACTIVATION_CLIP_RANGE)

#define CARINA_DMA_REGION_MODE(V) V(EXTERNAL, 0, kAll) V(INTERNAL, 1, kAll)
CARINA_NPU_ENUM(DmaRegionMode, "DMA_REGION_MODE_", CARINA_DMA_REGION_MODE)

#define CARINA_DMA_STRIDE_MODE(V) V(D1, 0, kAll) V(D2, 1, kU65U85) V(D3, 2, kU65U85)
CARINA_NPU_ENUM(DmaStrideMode, "DMA_STRIDE_MODE_", CARINA_DMA_STRIDE_MODE)

#define CARINA_DMA_IDX_MODE(V) V(DISABLED, 0, kU85) V(ENABLED, 1, kU85)
CARINA_NPU_ENUM(DmaIdxMode, "DMA_IDX_MODE_", CARINA_DMA_IDX_MODE)

#define CARINA_CUSTOM_DMA_CS(V) V(DISABLE, 0, kU55) V(ENABLE, 1, kU55)
CARINA_NPU_ENUM(CustomDmaCs, "CUSTOM_DMA_CS_", CARINA_CUSTOM_DMA_CS)

// U55 and U65: one bit per axis. U85: one field of three bits, or SCALAR.
#define CARINA_BROADCAST_MODE(V) \
  V(DISABLE, 0, kU55U65) V(ENABLE, 1, kU55U65) V(NONE, 0, kU85) V(H, 1, kU85) V(W, 2, kU85) V(HW, 3, kU85) \
  V(C, 4, kU85) V(CH, 5, kU85) V(CW, 6, kU85) V(CWH, 7, kU85) V(SCALAR, 8, kU85)
CARINA_NPU_ENUM(BroadcastMode, "BROADCAST_MODE_", CARINA_BROADCAST_MODE)

// ORDER_B: op(IFM, IFM2); ORDER_A: op(IFM2, IFM).
#define CARINA_IFM2_OPERAND_ORDER(V) V(ORDER_B, 0, kU55U65) V(ORDER_A, 1, kU55U65)
CARINA_NPU_ENUM(Ifm2OperandOrder, "IFM2_OPERAND_ORDER_", CARINA_IFM2_OPERAND_ORDER)

#define CARINA_WEIGHT_FORMAT(V) V(SWD, 0, kU85) V(FWD, 1, kU85)
CARINA_NPU_ENUM(WeightFormat, "WEIGHT_FORMAT_", CARINA_WEIGHT_FORMAT)

#define CARINA_WEIGHT_SPARSITY(V) V(NONE, 0, kU85) V(SPARSE_2_4, 1, kU85)
CARINA_NPU_ENUM(WeightSparsity, "WEIGHT_SPARSITY_", CARINA_WEIGHT_SPARSITY)

#define CARINA_POOLING_MODE(V) \
  V(MAX, 0, kAll) V(AVERAGE, 1, kAll) V(REDUCE_SUM, 2, kAll) V(SUM, 3, kU85) V(NONE, 4, kU85) V(MIN, 5, kU85) \
  V(ARGMAX_X, 6, kU85) V(ARGMAX_Y, 7, kU85)
CARINA_NPU_ENUM(PoolingMode, "POOLING_MODE_", CARINA_POOLING_MODE)

#define CARINA_ELEMENTWISE_MODE(V) \
  V(MUL, 0, kAll) V(ADD, 1, kAll) V(SUB, 2, kAll) V(MIN, 3, kAll) V(MAX, 4, kAll) V(LRELU, 5, kAll) V(ABS, 6, kAll) \
  V(CLZ, 7, kAll) V(SHR, 8, kAll) V(SHL, 9, kAll) V(LSR, 10, kU85) V(DIV, 11, kU85) V(CMP_EQ, 16, kU85) \
  V(CMP_NE, 17, kU85) V(CMP_GE, 18, kU85) V(CMP_GT, 19, kU85) V(AND, 33, kU85) V(OR, 34, kU85) V(XOR, 35, kU85) \
  V(NOT, 36, kU85) V(AND_NOT, 42, kU85)
CARINA_NPU_ENUM(ElementwiseMode, "ELEMENTWISE_MODE_", CARINA_ELEMENTWISE_MODE)

#define CARINA_RESIZE_MODE(V) V(BILINEAR, 0, kU85) V(REPLICATE, 1, kU85) V(NEAREST, 2, kU85)
CARINA_NPU_ENUM(ResizeMode, "RESIZE_MODE_", CARINA_RESIZE_MODE)

#define CARINA_BRANCH_COND(V) V(ALWAYS, 0, kU85) V(RF_TRUE, 1, kU85)
CARINA_NPU_ENUM(BranchCond, "BRANCH_COND_", CARINA_BRANCH_COND)

#undef CARINA_NPU_ENUM
#undef CARINA_NPU_ENUM_ROW
#undef CARINA_NPU_ENUM_VALUE
// clang-format on

}  // namespace carina::npu
