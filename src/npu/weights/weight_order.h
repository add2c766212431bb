#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "carina/result.h"
#include "facts/npu_targets.h"

// The order in which an operation's weights are stored in its streams, and its inverse.
namespace carina::npu {

// The kind of weights that an operation reads: one filter over all input channels per output channel, or one plane per
// channel.
enum class WeightKind : uint8_t { kConv, kDepthwise };

// All parameters that decide the order of an operation's weights in its streams. They are exactly the values in the
// operation's registers, so the planner can order weights and the simulator can invert the order. The order is
// described in docs/npu-encoding.md.
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
  int cores = 1;            // U65: 2 with PARALLEL_MODE; otherwise 1
  // U85 only.
  int stride_y = 1;
  int stride_x = 1;
  Microblock microblock = Microblock::U1X1;
  WeightSparsity sparsity = WeightSparsity::NONE;
  WeightFormat format = WeightFormat::SWD;  // the fast decoder reads all streams as one: interleave_for_fast_decoder()
};

// The number of input channels that are read together.
int ifm_block_depth(const WeightTraversal& traversal);

// The depth of the OFM ublock: the accelerator's, or on U85 the microblock's. It is 0 if the U85 configuration does not
// have the microblock.
int ofm_ublock_depth(const WeightTraversal& traversal);

// The number of streams: one per core of U65, one per weight decoder of U85.
int stream_count(const WeightTraversal& traversal);

// The number of weights in a stream, padding included. It is the largest int64 if the number does not fit. Check it
// against a bound before an allocation if the parameters come from a file.
int64_t sequence_length(const WeightTraversal& traversal, int stream);

// The weights of one stream in their order, with padding zeros. `weights` are [ofm_depth, kernel_height, kernel_width,
// ifm_depth] without zero point (kDepthwise: ifm_depth 1): int8 or 9-bit values in int16.
std::vector<int16_t> reorder(const WeightTraversal& traversal, int stream, std::span<const int8_t> weights);
std::vector<int16_t> reorder(const WeightTraversal& traversal, int stream, std::span<const int16_t> weights);

// The inverse of reorder(): writes the weights of one stream to `weights` [ofm_depth, kernel_height, kernel_width,
// ifm_depth]. Returns false and writes nothing if the sequence is shorter than sequence_length().
[[nodiscard]] bool restore(const WeightTraversal& traversal, int stream, std::span<const int16_t> sequence,
                           std::span<int16_t> weights);

// The weight layout for dot products of pairs: [groups of kPairedChannels output channels][taps][pairs of input
// channels][kPairedChannels][2]. Missing channels are zeros.
inline constexpr int64_t kPairedChannels = 16;
int64_t paired_size(const WeightTraversal& traversal);
// restore() to the layout of pairs, whose elements must be zero before. Not for kDepthwise. Adds the magnitudes of the
// weights of each output channel to magnitudes[channel].
[[nodiscard]] bool restore_pairs(const WeightTraversal& traversal, int stream, std::span<const int16_t> sequence,
                                 std::span<int16_t> pairs, std::span<int64_t> magnitudes);

// The number of elements of the layout for dot products of four bytes: [groups of kPairedChannels output
// channels][taps][quads of input channels][kPairedChannels][4].
int64_t quad_size(const WeightTraversal& traversal);
// Returns the next weights of a stream; empty at its end.
using WeightSource = std::function<Result<std::span<const int16_t>>()>;
enum class Restored : uint8_t {
  kAll,
  kTooFew,   // the sequence is shorter than sequence_length()
  kTooWide,  // a weight does not fit 8 bits; use the layout of pairs
};
// restore() to the layout of quads, whose elements must be zero before. Not for kDepthwise. The weights come from
// `source`, which is read to its end unless it returns an error.
Result<Restored> restore_quads(const WeightTraversal& traversal, int stream, const WeightSource& source,
                               std::span<int8_t> quads);

// Merges the streams for the fast decoder of U85, which reads a single stream: blocks of the streams' sequences in
// turn.
std::vector<int16_t> interleave_for_fast_decoder(const WeightTraversal& traversal,
                                                 std::span<const std::vector<int16_t>> sequences);
// The inverse of interleave_for_fast_decoder(). Empty if `sequence` is shorter than the streams' lengths together.
std::vector<std::vector<int16_t>> split_from_fast_decoder(const WeightTraversal& traversal,
                                                          std::span<const int16_t> sequence);

}  // namespace carina::npu
