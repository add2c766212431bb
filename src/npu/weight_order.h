#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/diagnostic.h"
#include "facts/npu_targets.h"

namespace carina::npu {

// What kind of weights an operation reads: one filter over all input channels per output channel, or one plane per
// channel.
enum class WeightKind : uint8_t { kConv, kDepthwise };

// What decides the order in which an operation's weights stand in its streams: exactly what the registers of the
// operation say, so that the planner can order weights and the simulator can put them back. docs/npu-encoding.md
// describes the order.
struct WeightTraversal {
  const AcceleratorConfig* accelerator = nullptr;
  WeightKind kind = WeightKind::kConv;
  WeightOrder order = WeightOrder::DEPTH_FIRST;
  int ofm_depth = 1;      // output channels of this operation (of the depth slice)
  int ifm_depth = 1;      // input channels; 1 for kDepthwise
  int kernel_height = 1;  // taps, without dilation
  int kernel_width = 1;
  int dilation_y = 1;
  int dilation_x = 1;
  int ofm_block_depth = 1;  // OFM_BLK_DEPTH_M1 + 1
  int ifm_bits = 8;         // 8, 16 or 32
  int cores = 1;            // U65: 2 with PARALLEL_MODE; else 1
  // U85 only.
  int stride_y = 1;
  int stride_x = 1;
  Microblock microblock = Microblock::U1X1;
  WeightSparsity sparsity = WeightSparsity::NONE;
};

// The depth in which input channels are read together.
int ifm_block_depth(const WeightTraversal& traversal);

// The depth of the OFM ublock: of the accelerator, on U85 of the microblock. 0 when the U85 configuration has no such
// microblock.
int ofm_ublock_depth(const WeightTraversal& traversal);

// The number of streams that the weights are split into: cores of U65, weight decoders of U85.
int stream_count(const WeightTraversal& traversal);

// The number of weights in a stream, padding included; the largest int64 if that does not fit. Bound it before
// allocating when the parameters come from a file.
int64_t sequence_length(const WeightTraversal& traversal, int stream);

// The weights of one stream in their order, padding zeros included. `weights` are [ofm_depth, kernel_height,
// kernel_width, ifm_depth] without zero point (kDepthwise: ifm_depth 1), so int8 or 9-bit values in int16.
std::vector<int16_t> reorder(const WeightTraversal& traversal, int stream, std::span<const int8_t> weights);
std::vector<int16_t> reorder(const WeightTraversal& traversal, int stream, std::span<const int16_t> weights);

// The inverse: puts the weights of one stream into their places in `weights` [ofm_depth, kernel_height, kernel_width,
// ifm_depth]. False when the sequence is shorter than sequence_length(); nothing is written then.
[[nodiscard]] bool restore(const WeightTraversal& traversal, int stream, std::span<const int16_t> sequence,
                           std::span<int16_t> weights);

// Weights of a convolution as products of pairs read them: [groups of kPairedChannels output channels][taps][pairs of input
// channels][kPairedChannels][2], zeros where there is none.
inline constexpr int64_t kPairedChannels = 16;
int64_t paired_size(const WeightTraversal& traversal);
// restore() to that layout (zeros before; not for kDepthwise). Adds the magnitudes of each output channel's weights to
// magnitudes[channel].
[[nodiscard]] bool restore_pairs(const WeightTraversal& traversal, int stream, std::span<const int16_t> sequence,
                                 std::span<int16_t> pairs, std::span<int64_t> magnitudes);

// The same as products of four bytes read them: [groups of kPairedChannels output channels][taps][quads of input
// channels][kPairedChannels][4].
int64_t quad_size(const WeightTraversal& traversal);
// The next weights of a stream; empty at its end.
using WeightSource = std::function<Result<std::span<const int16_t>>()>;
enum class Restored : uint8_t {
  kAll,
  kTooFew,   // the sequence is shorter than sequence_length()
  kTooWide,  // a weight is not of 8 bits: they belong in pairs
};
// restore() to that layout (zeros before; not for kDepthwise), of what the source gives. It is read to its end unless it has
// an error.
Result<Restored> restore_quads(const WeightTraversal& traversal, int stream, const WeightSource& source,
                               std::span<int8_t> quads);

// The fast decoder of U85 reads one stream: blocks of the streams' sequences in turn.
std::vector<int16_t> interleave_for_fast_decoder(const WeightTraversal& traversal,
                                                 std::span<const std::vector<int16_t>> sequences);
// The inverse. Empty when `sequence` is shorter than the sum of the streams' lengths.
std::vector<std::vector<int16_t>> split_from_fast_decoder(const WeightTraversal& traversal,
                                                          std::span<const int16_t> sequence);

}  // namespace carina::npu
