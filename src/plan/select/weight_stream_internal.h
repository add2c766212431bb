#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "npu/weights/weight_order.h"
#include "plan/network/view.h"

// A weight stream that the NPU itself writes. This is possible because the decoder takes uncompressed weights of one
// byte each, whose order in memory strides can express. See docs/plan.md, "Weights that the NPU writes".
namespace carina::plan {

// The position of each weight of one core in its stream. The stream is [out][tap][in], with the taps in a column, in
// the order in which a convolution without dilation reads them. The first weights are in the header, so tap 0 is a
// constant.
struct WeightStream {
  int64_t channels = 1;         // output channels of this core
  int64_t first_channel = 0;    // its first output channel; the next is `channel_step` further
  int64_t channel_step = 1;     // number of cores
  int64_t block_channels = 1;   // of this core in an OFM block
  int64_t ublock_channels = 1;  // in an OFM ublock
  int64_t taps = 2;
  int64_t padded_taps = 2;
  int64_t depth = 1;        // input channels
  int64_t block_depth = 1;  // input channels that are contiguous; the last group is padded to this size

  [[nodiscard]] int64_t payload_bytes() const;
  // Bytes of the whole stream, a multiple of 16.
  [[nodiscard]] int64_t bytes() const;
};

inline constexpr int64_t kStreamHeadBytes = 16;  // offset of weight 0 would be this, if it had a byte
// The bytes before the written weights, which also hold the first weights. A multiple of 16, so that a transfer can
// copy them.
inline constexpr int64_t kStreamStartBytes = 32;
inline constexpr int64_t kStreamEndBytes = 16;  // all ones
inline constexpr int64_t kMinStreamDepth = 4;   // input channels: the weights in the header are of the first channel
inline constexpr int64_t kMaxStreamWeights = (int64_t{1} << 15) + 4;
inline constexpr int kMinStreamWeight = -127;
inline constexpr int kMaxStreamWeight = 128;

// The stream of core `core` of an operation whose weight order is `traversal`.
WeightStream weight_stream(const npu::WeightTraversal& traversal, int core);

// The byte of weight `w` (kMinStreamWeight..kMaxStreamWeight) in the stream.
std::byte stream_byte(int w);
// The first bytes: the header and the first weights. These are `constant`, or 0 if the input does not have the channel.
std::array<std::byte, kStreamStartBytes> stream_start(const WeightStream& stream, int constant);

// A part of the stream that strides can express, and its weights. Both views have the axes [ublock, channel in it,
// block of input channels, group of eight, channel in the group]. `destination` is in bytes from the start of the
// stream; its tensor has elements of one byte. `matrix` is in elements of [out, in].
struct StreamPart {
  View destination = {};
  View matrix = {};
};
// All parts of one tap. `matrix` has the axes [out of the operation, in].
std::vector<StreamPart> parts_of_tap(const WeightStream& stream, int64_t tap, const View& destination,
                                     const View& matrix);

}  // namespace carina::plan
