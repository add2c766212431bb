#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// The SIMD kernels of the simulator, on dense buffers. Each is compiled for every target of this architecture and
// selects the best one at run time. All targets compute the same results. Private to the simulator.
namespace carina::simulate {

// Channels are processed in groups of this size. The buffers below are padded to it.
inline constexpr size_t kChannelGroup = 16;

// out[i] = in[i] - zero_point
void widen_s8(const int8_t* in, size_t count, int16_t zero_point, int16_t* out);
void widen_u8(const uint8_t* in, size_t count, int16_t zero_point, int16_t* out);
// widen_s8() of `pixels` consecutive groups of 16 values. Group i goes to out + i * out_stride.
void widen_brick_s8(const int8_t* in, size_t pixels, int16_t zero_point, int16_t* out, size_t out_stride);
void widen_brick_u8(const uint8_t* in, size_t pixels, int16_t zero_point, int16_t* out, size_t out_stride);

// out[i] = in[i] ^ flips
void flip(const std::byte* in, size_t count, uint8_t flips, uint8_t* out);
// flip() of `pixels` consecutive groups of 16 bytes. Group i goes to out + i * out_stride.
void flip_brick(const std::byte* in, size_t pixels, uint8_t flips, uint8_t* out, size_t out_stride);

// A part of a filter whose inputs are contiguous in the window, from `offset` on. A step takes two or four inputs.
struct TapRun {
  int64_t offset = 0;
  size_t steps = 0;
  size_t weight_steps = 0;  // where its weights begin
};

struct ConvolutionTask {
  std::span<const int16_t* const> pixels;  // the first tap of each output position
  std::span<const TapRun> runs;
  const int16_t* weights = nullptr;  // [groups][steps][16 channels][2]
  size_t steps = 0;                  // of a group
  size_t groups = 0;
  int32_t* acc = nullptr;  // [pixels][groups * 16], overwritten
};
// acc = sum of products, modulo 2^32.
void convolve(const ConvolutionTask& task);

// A convolution of bytes. The sum of each channel begins with `start`, which removes the offset of the raised inputs.
struct ByteConvolutionTask {
  std::span<const uint8_t* const> pixels;
  std::span<const TapRun> runs;
  const int8_t* weights = nullptr;  // [groups][steps][16 channels][4]
  size_t steps = 0;                 // of a group
  size_t groups = 0;
  const int32_t* start = nullptr;  // [groups * 16]
  int32_t* acc = nullptr;          // [pixels][groups * 16], overwritten
};
void convolve_bytes(const ByteConvolutionTask& task);

// For the weights [steps][16 channels][4] of a group: each channel's sum, and its sum of magnitudes. Both are below
// 2^31.
void sum_quads(const int8_t* weights, size_t steps, int32_t* sums, int32_t* magnitudes);

struct DepthwiseTask {
  std::span<const int16_t* const> pixels;
  std::span<const int64_t> taps;     // offsets from a position's first tap
  const int32_t* weights = nullptr;  // [taps][channels]: 16 bits, the upper ones 0
  size_t channels = 0;               // padded to 16
  int32_t* acc = nullptr;            // [pixels][channels], overwritten
};
void depthwise(const DepthwiseTask& task);

struct ByteDepthwiseTask {
  std::span<const uint8_t* const> pixels;
  std::span<const int64_t> taps;
  const int32_t* weights = nullptr;  // as in DepthwiseTask
  size_t channels = 0;
  const int32_t* start = nullptr;  // as in ByteConvolutionTask
  int32_t* acc = nullptr;
};
void depthwise_bytes(const ByteDepthwiseTask& task);

enum class Fold : uint8_t { kMax, kMin, kSum };
struct PoolTask {
  std::span<const int16_t* const> pixels;
  std::span<const int64_t> taps;
  size_t channels = 0;  // padded to 16
  Fold fold = Fold::kSum;
  int32_t* acc = nullptr;  // [pixels][channels], overwritten
};
void pool(const PoolTask& task);

// The parameters of scale_output() per channel. Rounding terms and shifts are in the order in which vectors multiply
// 32-bit lanes: in each group of 16, the even channels first.
struct ChannelScales {
  const int32_t* bias = nullptr;
  const int32_t* multiplier = nullptr;  // below 2^31
  const int64_t* round_positive = nullptr;
  const int64_t* round_negative = nullptr;
  const int64_t* shift = nullptr;
  // Used if all rounding terms and shifts are multiples of 2^32: both for the upper halves of the products, in the
  // channels' own order. Otherwise nullptr.
  const int32_t* upper_round = nullptr;
  const int32_t* upper_round_negative = nullptr;  // of negative products, if other than upper_round
  const int32_t* upper_shift = nullptr;
  const int32_t* upper_raise = nullptr;  // bits by which sums are shifted left before the product; nullptr: none
};

enum class OutputType : uint8_t { kS8, kU8, kS16, kU16, kS32 };
struct OutputTask {
  const int32_t* acc = nullptr;  // [pixels][channels]
  size_t pixels = 0;
  size_t channels = 0;  // padded to 16
  ChannelScales scales;
  int32_t zero_point = 0;
  int32_t min = 0;
  int32_t max = 0;
  OutputType type = OutputType::kS8;
  std::byte* out = nullptr;  // [pixels][channels] of the type
};
// out = clamp(((acc + bias) * multiplier + round) >> shift, then + zero_point). The sum and the result must fit 32
// bits.
void scale_output(const OutputTask& task);

// The name of the target in use ("AVX3_DL").
const char* kernel_target();

}  // namespace carina::simulate
