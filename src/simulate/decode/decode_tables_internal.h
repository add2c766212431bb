#pragma once

#include <algorithm>
#include <array>

#include "carina/check.h"
#include "facts/npu_enums.h"
#include "simulate/decode/operation.h"

// Maps the values of packed fields to the simulator's own enums: on the left the names of facts/npu_enums.h, on the
// right the simulator's. The tables of facts say which values a product has.
namespace carina::simulate {

// The simulator's value for a table value. `rows` has every value that value_of() accepts.
template <typename From, typename To>
struct Pair {
  From from;
  To to;
};
template <typename From, typename To, size_t N>
To ours(const std::array<Pair<From, To>, N>& rows, From value) {
  const auto row = std::ranges::find(rows, value, &Pair<From, To>::from);
  CARINA_CHECK(row != rows.end(), "a value of the table that the simulator does not know");
  return row->to;
}
// Returns whether the rows have every value of the enum, over all products.
template <typename From, typename To, size_t N>
constexpr bool covers(const std::array<Pair<From, To>, N>& rows) {
  for (const npu::EnumValueRow& value : npu::kEnumRow<From>.values) {
    bool found = false;
    for (const Pair<From, To>& row : rows) found |= static_cast<uint32_t>(row.from) == value.value;
    if (!found) return false;
  }
  return true;
}

inline constexpr auto kUpscales = std::to_array<Pair<npu::IfmUpscaleMode, Upscale>>({
    {npu::IfmUpscaleMode::NONE, Upscale::kNone},
    {npu::IfmUpscaleMode::NEAREST, Upscale::kNearest},
    {npu::IfmUpscaleMode::ZEROS, Upscale::kZeros},
});

inline constexpr auto kRoundModesU85 = std::to_array<Pair<npu::RoundModeOfm, RoundMode>>({
    {npu::RoundModeOfm::DOUBLE_SYMMETRIC, RoundMode::kDoubleSymmetric},
    {npu::RoundModeOfm::NATURAL, RoundMode::kNatural},
    {npu::RoundModeOfm::DOUBLE_ASYMMETRIC, RoundMode::kDoubleAsymmetric},
    {npu::RoundModeOfm::SYMMETRIC, RoundMode::kSymmetric},
    {npu::RoundModeOfm::TRUNCATE_TO_ZERO, RoundMode::kTruncateToZero},
    {npu::RoundModeOfm::TRUNCATE_TO_LOWER, RoundMode::kTruncateToLower},
});

inline constexpr auto kRoundModesU55 = std::to_array<Pair<npu::RoundMode, RoundMode>>({
    {npu::RoundMode::DBL, RoundMode::kDoubleSymmetric},
    {npu::RoundMode::TRUNCATE, RoundMode::kTruncateToZero},
    {npu::RoundMode::NATURAL, RoundMode::kNatural},
});

inline constexpr auto kOperandScalings = std::to_array<Pair<npu::IfmScaleMode, OperandScaling>>({
    {npu::IfmScaleMode::OPA_OPB_16, OperandScaling::kBoth16},
    {npu::IfmScaleMode::OPA_32, OperandScaling::kFirst32},
    {npu::IfmScaleMode::OPB_32, OperandScaling::kSecond32},
});

inline constexpr auto kAccInputs = std::to_array<Pair<npu::AccInput, AccInput>>({
    {npu::AccInput::RESET, AccInput::kReset},
    {npu::AccInput::KEEP, AccInput::kKeep},
    {npu::AccInput::IFM2, AccInput::kIfm2},
});

inline constexpr auto kElementwiseModes = std::to_array<Pair<npu::ElementwiseMode, ElementwiseMode>>({
    {npu::ElementwiseMode::MUL, ElementwiseMode::kMul},        {npu::ElementwiseMode::ADD, ElementwiseMode::kAdd},
    {npu::ElementwiseMode::SUB, ElementwiseMode::kSub},        {npu::ElementwiseMode::MIN, ElementwiseMode::kMin},
    {npu::ElementwiseMode::MAX, ElementwiseMode::kMax},        {npu::ElementwiseMode::LRELU, ElementwiseMode::kLrelu},
    {npu::ElementwiseMode::ABS, ElementwiseMode::kAbs},        {npu::ElementwiseMode::CLZ, ElementwiseMode::kClz},
    {npu::ElementwiseMode::SHR, ElementwiseMode::kShr},        {npu::ElementwiseMode::SHL, ElementwiseMode::kShl},
    {npu::ElementwiseMode::LSR, ElementwiseMode::kLsr},        {npu::ElementwiseMode::DIV, ElementwiseMode::kDiv},
    {npu::ElementwiseMode::CMP_EQ, ElementwiseMode::kCmpEq},   {npu::ElementwiseMode::CMP_NE, ElementwiseMode::kCmpNe},
    {npu::ElementwiseMode::CMP_GE, ElementwiseMode::kCmpGe},   {npu::ElementwiseMode::CMP_GT, ElementwiseMode::kCmpGt},
    {npu::ElementwiseMode::AND, ElementwiseMode::kAnd},        {npu::ElementwiseMode::OR, ElementwiseMode::kOr},
    {npu::ElementwiseMode::XOR, ElementwiseMode::kXor},        {npu::ElementwiseMode::NOT, ElementwiseMode::kNot},
    {npu::ElementwiseMode::AND_NOT, ElementwiseMode::kAndNot},
});

inline constexpr auto kPoolModes = std::to_array<Pair<npu::PoolingMode, PoolMode>>({
    {npu::PoolingMode::MAX, PoolMode::kMax},
    {npu::PoolingMode::AVERAGE, PoolMode::kAverage},
    {npu::PoolingMode::REDUCE_SUM, PoolMode::kReduceSum},
    {npu::PoolingMode::SUM, PoolMode::kSum},
    {npu::PoolingMode::NONE, PoolMode::kNone},
    {npu::PoolingMode::MIN, PoolMode::kMin},
    {npu::PoolingMode::ARGMAX_X, PoolMode::kArgmaxX},
    {npu::PoolingMode::ARGMAX_Y, PoolMode::kArgmaxY},
});

inline constexpr auto kResizeModes = std::to_array<Pair<npu::ResizeMode, ResizeMode>>({
    {npu::ResizeMode::BILINEAR, ResizeMode::kBilinear},
    {npu::ResizeMode::REPLICATE, ResizeMode::kReplicate},
    {npu::ResizeMode::NEAREST, ResizeMode::kNearest},
});

inline constexpr auto kTransposes = std::to_array<Pair<npu::ActivationTranspose, Transpose>>({
    {npu::ActivationTranspose::HWC, Transpose::kHwc},
    {npu::ActivationTranspose::WHC, Transpose::kWhc},
    {npu::ActivationTranspose::HCW, Transpose::kHcw},
    {npu::ActivationTranspose::WCH, Transpose::kWch},
    {npu::ActivationTranspose::CHW, Transpose::kChw},
    {npu::ActivationTranspose::CWH, Transpose::kCwh},
});

inline constexpr ElementType kU8{.bytes = 1, .is_signed = false};
inline constexpr ElementType kS8{.bytes = 1, .is_signed = true};
inline constexpr ElementType kS16{.bytes = 2, .is_signed = true};
inline constexpr ElementType kS32{.bytes = 4, .is_signed = true};

inline constexpr auto kForcedTypes = std::to_array<Pair<npu::ActivationClipRange, ElementType>>({
    {npu::ActivationClipRange::FORCE_UINT8, kU8},
    {npu::ActivationClipRange::FORCE_INT8, kS8},
    {npu::ActivationClipRange::FORCE_INT16, kS16},
});

struct LutFunction {
  npu::ActivationFunction function;
  Lut lut;
  ElementType input;
  ElementType output;
};
inline constexpr auto kLutFunctionsU85 = std::to_array<LutFunction>({
    {npu::ActivationFunction::LUT_NONE, Lut::kNone, kS8, kS8},
    {npu::ActivationFunction::LUT_U8_U8, Lut::kTable, kU8, kU8},
    {npu::ActivationFunction::LUT_S8_S8, Lut::kTable, kS8, kS8},
    {npu::ActivationFunction::LUT_S8_S16, Lut::kTable, kS8, kS16},
    {npu::ActivationFunction::LUT_S8_S32, Lut::kTable, kS8, kS32},
    {npu::ActivationFunction::LUT_S16_S16, Lut::kTable, kS16, kS16},
    {npu::ActivationFunction::LUT_S16_S32, Lut::kTable, kS16, kS32},
    {npu::ActivationFunction::LUT_TANH, Lut::kTanh, kS16, kS16},
    {npu::ActivationFunction::LUT_SIGMOID, Lut::kSigmoid, kS16, kS16},
});

struct MicroblockSize {
  int32_t height;
  int32_t width;
};
inline constexpr auto kMicroblocks = std::to_array<Pair<npu::Microblock, MicroblockSize>>({
    {npu::Microblock::U1X1, {.height = 1, .width = 1}},
    {npu::Microblock::U1X2, {.height = 1, .width = 2}},
    {npu::Microblock::U1X4, {.height = 1, .width = 4}},
    {npu::Microblock::U2X2, {.height = 2, .width = 2}},
    {npu::Microblock::U2X4, {.height = 2, .width = 4}},
    {npu::Microblock::U4X4, {.height = 4, .width = 4}},
});

static_assert(covers(kUpscales) && covers(kRoundModesU85) && covers(kRoundModesU55) && covers(kOperandScalings) &&
              covers(kAccInputs) && covers(kElementwiseModes) && covers(kPoolModes) && covers(kResizeModes) &&
              covers(kTransposes) && covers(kMicroblocks));

}  // namespace carina::simulate
