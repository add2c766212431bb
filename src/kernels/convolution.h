#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>

#include "carina/tensor.h"
#include "kernels/integer_epilogue.h"
#include "kernels/operator.h"
#include "kernels/packing.h"

// Convolutions with constant weights. Each function returns nothing for operands that it does not support.
namespace carina::kernels {

// All convolutions in one form: NDHWC with three spatial axes (depth 1 for the 2D ones).
struct ConvGeometry {
  int64_t batch = 1;
  std::array<int64_t, 3> in{1, 1, 1};  // D, H, W
  std::array<int64_t, 3> out{1, 1, 1};
  std::array<int64_t, 3> kernel{1, 1, 1};
  std::array<int64_t, 3> stride{1, 1, 1};
  std::array<int64_t, 3> dilation{1, 1, 1};
  std::array<int64_t, 3> pad{0, 0, 0};  // before the first element
  int64_t ic = 1;
  int64_t oc = 1;
  int64_t multiplier = 0;  // 0: dense; otherwise depthwise, oc = ic * multiplier
  int64_t bias_count = 1;  // oc, or 1 for all

  [[nodiscard]] int64_t pixels() const { return batch * out[0] * out[1] * out[2]; }
  [[nodiscard]] int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// The input position of a tap for an output position, along one axis. A negative position, or one >= the input's size,
// is padding.
//   Example: stride 2, padding 1, dilation 1: output position 3 and tap 0 give position 3 * 2 - 1 + 0 = 5.
inline int64_t tap_position(const ConvGeometry& g, size_t axis, int64_t out, int64_t k) {
  return out * g.stride[axis] - g.pad[axis] + k * g.dilation[axis];
}

// The bounds of results that are clamped; a NaN stays.
struct BoundsF32 {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// out = clamp(sum + bias). Each sum is one chain of fused multiply-adds in the order of taps and channels.
struct ConvF32 {
  ConvGeometry geometry;
  Tensor weights;               // fp32 [OC,KD,KH,KW,IC]; of a depthwise convolution [KD,KH,KW,IC]
  std::span<const float> bias;  // geometry.bias_count
  BoundsF32 bounds = {};
  Packing packing = Packing::kOnce;
  int threads = 1;
};
std::optional<Operator> dense_f32(const ConvF32& conv);
// With multiplier 1 (a larger one repeats the channels of the input first): output c is the sum over the taps of input
// c. If ic is a multiple of oc, it is also the sum over the inputs c, c + oc, c + 2 * oc, ..., with weights
// [KD,KH,KW,ic / oc,oc].
std::optional<Operator> depthwise_f32(const ConvF32& conv);
// Winograd's algorithm for 3x3 windows with stride 1. The sums differ from those of dense_f32() by up to 1e-5 of their
// range. Returns nothing also where it is not faster.
std::optional<Operator> winograd_f32(const ConvF32& conv);

// The constants of an int8 convolution. Weights of 4 bits have a byte each.
struct ConstantsI8 {
  const int8_t* weights;  // [OC,KD,KH,KW,IC]; of a depthwise convolution [KD,KH,KW,IC]
  const int32_t* bias;    // nullptr: none
  int64_t bias_count;     // 1, or one per output channel
  int32_t input_zp;
  int32_t weight_zp;
};
// The conversion of sums, bias and zero points included, whose magnitude is at most `bound`. Returns nothing if it is
// not possible for such sums.
using EpilogueOf = std::function<std::optional<IntegerEpilogue>(int64_t bound)>;

// out = epilogue(sum of (in - input_zp) * (weight - weight_zp) + bias). They return nothing if a sum could exceed 32
// bits.
struct ConvI8 {
  ConvGeometry geometry;
  ConstantsI8 constants;
  EpilogueOf epilogue;
  int threads = 1;
};
std::optional<Operator> dense_i8(const ConvI8& conv);
std::optional<Operator> depthwise_i8(const ConvI8& conv);

// Depthwise convolutions of one tap per input pixel, whose operands may have their channels on any axis: they are
// [outer, channels, inner]. The int8 one is of results in bytes.
struct ChannelLayout {
  int64_t outer, inner;
};
std::optional<Operator> scaled_channels_f32(const ConvF32& conv, const ChannelLayout& layout);
std::optional<Operator> scaled_channels_i8(const ConvI8& conv, const ChannelLayout& layout);

// i48 = the sums of int16 values and int8 weights, both without zero point, plus the bias. Weights are as those of
// ConstantsI8.
struct ConvI16 {
  ConvGeometry geometry;
  std::span<const int8_t> weights;
  std::span<const int64_t> bias;  // geometry.bias_count
  int threads = 1;
};
std::optional<Operator> dense_i16(const ConvI16& conv);
// Of one output per input.
std::optional<Operator> depthwise_i16(const ConvI16& conv);

// --- transposed convolutions

// One axis. Output position o reads input position i at tap k if o = i * stride + pad + k.
struct TransposedAxis {
  int64_t in;
  int64_t out;
  int64_t kernel;
  int64_t stride;
  int64_t pad;  // negative: outputs are cut off
};
struct TransposedGeometry {
  int64_t batch;
  int64_t ic;
  int64_t oc;
  std::array<TransposedAxis, 2> axes;  // y, x
  int64_t bias_count;                  // 1, or one per output channel
};

struct TransposedF32 {
  TransposedGeometry geometry;
  std::span<const float> weights;  // [OC,KH,KW,IC]
  std::span<const float> bias;
  BoundsF32 bounds = {};
  int threads = 1;
};
std::optional<Operator> transposed_f32(const TransposedF32& conv);

struct TransposedI8 {
  TransposedGeometry geometry;
  ConstantsI8 constants;  // weights [OC,KH,KW,IC]
  EpilogueOf epilogue;
  int threads = 1;
};
std::optional<Operator> transposed_i8(const TransposedI8& conv);

}  // namespace carina::kernels
