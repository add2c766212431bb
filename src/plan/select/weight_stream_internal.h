#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "npu/weight_order.h"
#include "plan/network/view.h"

// A stream of weights that the NPU writes itself, because its decoder takes uncompressed weights of one byte each: the
// bytes then stand in an order that strides can say. docs/plan.md, "Weights that the NPU writes".
namespace carina::plan {

// Where the weights of one core stand in its stream: [out][tap][in], taps below each other, in the order that a
// convolution without dilation reads. The first weights are in the header, so tap 0 is a constant.
struct WeightStream {
  int64_t channels = 1;         // output channels of this core
  int64_t first_channel = 0;    // of all; the next is `channel_step` further
  int64_t channel_step = 1;     // cores
  int64_t block_channels = 1;   // of this core in an OFM block
  int64_t ublock_channels = 1;  // in an OFM ublock
  int64_t taps = 2;
  int64_t padded_taps = 2;
  int64_t depth = 1;        // input channels
  int64_t block_depth = 1;  // input channels that stand together; the last ones are padded to as many

  [[nodiscard]] int64_t payload_bytes() const;
  // Bytes of the whole stream, a multiple of 16.
  [[nodiscard]] int64_t bytes() const;
};

inline constexpr int64_t kStreamHeadBytes = 16;  // before the byte of weight 0, if that had one
// The bytes in front, which also hold the first weights: a multiple of 16 that a transfer can copy.
inline constexpr int64_t kStreamStartBytes = 32;
inline constexpr int64_t kStreamEndBytes = 16;  // all ones
inline constexpr int64_t kMinStreamDepth = 4;   // input channels: the weights in the header are of the first channel
inline constexpr int64_t kMaxStreamWeights = (int64_t{1} << 15) + 4;
inline constexpr int kMinStreamWeight = -127;
inline constexpr int kMaxStreamWeight = 128;

// The stream of core `core` of an operation whose weights are ordered by `traversal`.
WeightStream weight_stream(const npu::WeightTraversal& traversal, int core);

// What weight `w` (kMinStreamWeight..kMaxStreamWeight) is in the stream.
std::byte stream_byte(int w);
// The first bytes: the header and the first weights, which all are `constant`, or 0 where the input has no such channel.
std::array<std::byte, kStreamStartBytes> stream_start(const WeightStream& stream, int constant);

// A part of the stream that strides can say, and the weights in it: [ublock, channel in it, block of input channels,
// eight of them, one of these] for both views, `place` in bytes of the stream's tensor (whose element is a byte) from the
// start of the stream, `matrix` in elements of [out, in].
struct StreamPart {
  View destination = {};
  View matrix = {};
};
// All parts of one tap. `matrix` has the axes [out of the operation, in].
std::vector<StreamPart> parts_of_tap(const WeightStream& stream, int64_t tap, const View& destination,
                                     const View& matrix);

}  // namespace carina::plan
