#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <vector>

#include "base/checked_math.h"
#include "npu/cost/cost.h"
#include "npu/weights/weight_order.h"

// The order of weights as loops. A walk calls visit(offset, step, count, zeros): `count` weights at dense offsets
// offset, offset + step, ..., then `zeros` padding zeros. Each call covers a run of channels instead of one weight,
// which keeps the callers' inner loops short.
namespace carina::npu {

inline constexpr int kIfmUblockDepth = 8;  // of U55 and U65, and the weight decoder's step on U85
inline constexpr int kSparseStep = 16;
inline constexpr int kU85ChannelGroup = 4;  // output channels that one stream of U85 takes at a time
inline constexpr int kU85DepthwiseTapGroup = 10;

inline int64_t ceil_to(int64_t value, int64_t multiple) {
  return round_up(value, multiple);
}

inline bool is_depthwise(const WeightTraversal& t) {
  return t.kind == WeightKind::kDepthwise;
}
inline bool is_part_kernel(const WeightTraversal& t) {
  return !is_depthwise(t) && t.order == WeightOrder::PART_KERNEL_FIRST;
}
inline bool is_sparse(const WeightTraversal& t) {
  return t.sparsity == WeightSparsity::SPARSE_2_4;
}
inline Product product_of(const WeightTraversal& t) {
  return t.accelerator->product;
}

// The taps of all sub-kernels, each rounded up to the multiple. At most 2^37.
inline int64_t padded_taps(const WeightTraversal& t, int multiple) {
  const int64_t height = kSubkernelSize / t.dilation_y;
  const int64_t width = kSubkernelSize / t.dilation_x;
  const int64_t full_rows = t.kernel_height / height;
  const int64_t full_columns = t.kernel_width / width;
  const int64_t rest_height = t.kernel_height % height;
  const int64_t rest_width = t.kernel_width % width;
  return full_rows * full_columns * ceil_to(height * width, multiple) +
         full_rows * ceil_to(height * rest_width, multiple) + full_columns * ceil_to(rest_height * width, multiple) +
         ceil_to(rest_height * rest_width, multiple);
}

inline int64_t saturating_product(std::initializer_list<int64_t> factors) {
  return checked_product(std::span(factors.begin(), factors.size())).value_or(std::numeric_limits<int64_t>::max());
}

// ---- U55 and U65 ----

struct U55Shape {
  int ofm_depth;        // of this core
  int ofm_block_depth;  // of this core
  int channel_step;     // from one channel of this core to the next, in channels of the operation
  int first_channel;
  int ofm_ublock_depth;
  int ifm_block_depth;
  int tap_multiple;  // kernel elements are padded to a multiple of it
};

inline U55Shape u55_shape(const WeightTraversal& t, int core) {
  const int tap_multiple = is_depthwise(t) ? 4 : is_part_kernel(t) ? (t.ifm_bits == 16 ? 2 : 4) : 1;
  return {.ofm_depth = ceil_div(std::max(t.ofm_depth - core, 0), t.cores),
          .ofm_block_depth = std::max(ceil_div(std::max(t.ofm_block_depth - core, 0), t.cores), 1),
          .channel_step = t.cores,
          .first_channel = core,
          .ofm_ublock_depth = ofm_ublock_depth(t),
          .ifm_block_depth = ifm_block_depth(t),
          .tap_multiple = tap_multiple};
}

// One tap of one OFM ublock and one IFM ublock: for each output channel, its input channels (at most eight).
template <typename Visit>
void walk_u55_ublock(const WeightTraversal& t, const U55Shape& s, int ofm_z, int ifm_z, int64_t tap, Visit&& visit) {
  const int ifm_lanes = is_depthwise(t) ? 1 : kIfmUblockDepth;
  const int64_t channel_stride = static_cast<int64_t>(t.kernel_height) * t.kernel_width * t.ifm_depth;
  const int ifm_count = tap < 0 ? 0 : std::clamp(t.ifm_depth - ifm_z, 0, ifm_lanes);
  for (int z = ofm_z; z < ofm_z + s.ofm_ublock_depth; ++z) {
    const int count = z < s.ofm_depth ? ifm_count : 0;
    const int64_t channel = static_cast<int64_t>(z) * s.channel_step + s.first_channel;
    visit(channel * channel_stride + tap * t.ifm_depth + ifm_z, 1, count, ifm_lanes - count);
  }
}

template <typename Visit>
void walk_u55_subkernel(const WeightTraversal& t, const U55Shape& s, int ofm_block, int ifm_block, int ky0, int kx0,
                        Visit&& visit) {
  const int height = std::min(t.kernel_height - ky0, kSubkernelSize / t.dilation_y);
  const int width = std::min(t.kernel_width - kx0, kSubkernelSize / t.dilation_x);
  const int taps = round_up(height * width, s.tap_multiple);
  const int ofm_end = std::min(ofm_block + s.ofm_block_depth, s.ofm_depth);
  // Part kernel: the loop over IFM ublocks is outside the loop over taps, and the ublocks are clipped. Depth first: the
  // loop over IFM ublocks is inside and covers the whole block.
  const int outer = is_part_kernel(t) ? std::min(s.ifm_block_depth, t.ifm_depth - ifm_block) : 1;
  const int inner = is_part_kernel(t) || is_depthwise(t) ? 1 : s.ifm_block_depth;
  for (int ifm_outer = 0; ifm_outer < outer; ifm_outer += kIfmUblockDepth) {
    for (int ofm = ofm_block; ofm < ofm_end; ofm += s.ofm_ublock_depth) {
      for (int e = 0; e < taps; ++e) {
        const int ky = e / width;
        const int64_t tap = ky < height ? static_cast<int64_t>(ky0 + ky) * t.kernel_width + kx0 + e % width : -1;
        for (int ifm_inner = 0; ifm_inner < inner; ifm_inner += kIfmUblockDepth) {
          walk_u55_ublock(t, s, ofm, ifm_block + ifm_outer + ifm_inner, tap, visit);
        }
      }
    }
  }
}

template <typename Visit>
void walk_u55(const WeightTraversal& t, int core, Visit&& visit) {
  const U55Shape s = u55_shape(t, core);
  for (int ofm_block = 0; ofm_block < s.ofm_depth; ofm_block += s.ofm_block_depth) {
    for (int ifm_block = 0; ifm_block < (is_depthwise(t) ? 1 : t.ifm_depth); ifm_block += s.ifm_block_depth) {
      for (int ky = 0; ky < t.kernel_height; ky += kSubkernelSize / t.dilation_y) {
        for (int kx = 0; kx < t.kernel_width; kx += kSubkernelSize / t.dilation_x) {
          walk_u55_subkernel(t, s, ofm_block, ifm_block, ky, kx, visit);
        }
      }
    }
  }
}

inline int64_t u55_length(const WeightTraversal& t, int core) {
  const U55Shape s = u55_shape(t, core);
  const int64_t taps = padded_taps(t, s.tap_multiple);
  const int64_t full_blocks = s.ofm_depth / s.ofm_block_depth;
  const int64_t ofm = full_blocks * ceil_to(s.ofm_block_depth, s.ofm_ublock_depth) +
                      ceil_to(s.ofm_depth % s.ofm_block_depth, s.ofm_ublock_depth);
  const int64_t ifm = is_depthwise(t)     ? 1
                      : is_part_kernel(t) ? ceil_to(t.ifm_depth, kIfmUblockDepth)
                                          : ceil_to(t.ifm_depth, s.ifm_block_depth);
  return saturating_product({taps, ofm, ifm});
}

// ---- U85 ----

struct U85Shape {
  int streams;
  int stream;
  int ofm_ublock_depth;
  int ifm_block_depth;
  int ifm_chunk;  // input channels before the next OFM ublock
  int ifm_step;   // input channels that are contiguous
  int tap_multiple;
  int depthwise_pad;  // zeros after each group of ten taps, in OFM ublock depths per stream
  int stride_y;       // phases of the part-kernel order
  int stride_x;
};

inline int u85_depthwise_pad(const WeightTraversal& t) {
  if (!is_depthwise(t)) return 0;
  const int macs = t.accelerator->macs_per_cycle;
  return t.ifm_bits == 8 && macs <= 256 ? 0 : macs <= 512 ? 2 : 6;
}

inline U85Shape u85_shape(const WeightTraversal& t, int stream) {
  const int block = ifm_block_depth(t);
  const int chunk = is_depthwise(t) ? 1 : is_part_kernel(t) && t.ifm_bits == 16 && !is_sparse(t) ? 8 : block;
  const bool phases = is_part_kernel(t) || is_depthwise(t);
  return {.streams = t.accelerator->weight_decoders,
          .stream = stream,
          .ofm_ublock_depth = ofm_ublock_depth(t),
          .ifm_block_depth = block,
          .ifm_chunk = chunk,
          .ifm_step = is_depthwise(t) ? 1
                      : is_sparse(t)  ? kSparseStep
                                      : kIfmUblockDepth,
          .tap_multiple = is_depthwise(t)     ? kU85DepthwiseTapGroup
                          : is_part_kernel(t) ? u85_part_kernel_tap_group(t.ifm_bits, is_sparse(t))
                                              : 1,
          .depthwise_pad = u85_depthwise_pad(t),
          .stride_y = phases ? t.stride_y : 1,
          .stride_x = phases ? t.stride_x : 1};
}

// The taps of a sub-kernel in U85's order: by stride phase; rows within a phase alternate in direction.
inline std::vector<int64_t> u85_taps(const WeightTraversal& t, const U85Shape& s, int ky0, int kx0) {
  const int height = std::min(t.kernel_height - ky0, kSubkernelSize / t.dilation_y);
  const int width = std::min(t.kernel_width - kx0, kSubkernelSize / t.dilation_x);
  std::vector<int64_t> taps;
  taps.reserve(static_cast<size_t>(height) * static_cast<size_t>(width));
  for (int phase_y = 0; phase_y < s.stride_y; ++phase_y) {
    for (int phase_x = 0; phase_x < s.stride_x; ++phase_x) {
      const int rows = ceil_div(std::max(height - phase_y, 0), s.stride_y);
      const int columns = ceil_div(std::max(width - phase_x, 0), s.stride_x);
      for (int y = 0; y < rows; ++y) {
        for (int i = 0; i < columns; ++i) {
          const int x = y % 2 == 0 ? i : columns - 1 - i;
          taps.push_back(static_cast<int64_t>(ky0 + phase_y + y * s.stride_y) * t.kernel_width + kx0 + phase_x +
                         x * s.stride_x);
        }
      }
    }
  }
  return taps;
}

// One tap of one OFM ublock and one chunk of input channels.
template <typename Visit>
void walk_u85_tap(const WeightTraversal& t, const U85Shape& s, int ofm_z, int ofm_end, int ifm_z, int64_t tap,
                  Visit&& visit) {
  const int64_t channel_stride = static_cast<int64_t>(t.kernel_height) * t.kernel_width * t.ifm_depth;
  for (int step = 0; step < s.ifm_chunk; step += s.ifm_step) {
    const int lanes = std::min(s.ifm_step, s.ifm_chunk);
    const int ifm_count = std::clamp(t.ifm_depth - ifm_z - step, 0, lanes);
    for (int group = kU85ChannelGroup * s.stream; group < s.ofm_ublock_depth; group += kU85ChannelGroup * s.streams) {
      for (int z = ofm_z + group; z < ofm_z + group + kU85ChannelGroup; ++z) {
        const int count = z < ofm_end ? ifm_count : 0;
        visit(z * channel_stride + tap * t.ifm_depth + ifm_z + step, 1, count, lanes - count);
      }
    }
  }
}

template <typename Visit>
void walk_u85_unit(const WeightTraversal& t, const U85Shape& s, std::span<const int64_t> taps, int ofm_z, int ofm_end,
                   int ifm_z, Visit&& visit) {
  const int tap_weights = s.ifm_chunk * s.ofm_ublock_depth / s.streams;
  const int pad = s.depthwise_pad * s.ofm_ublock_depth / s.streams;
  int done = 0;
  for (const int64_t tap : taps) {
    walk_u85_tap(t, s, ofm_z, ofm_end, ifm_z, tap, visit);
    ++done;
    if (pad > 0 && done % kU85DepthwiseTapGroup == 0) visit(0, 1, 0, pad);
  }
  const int padded = round_up(done, s.tap_multiple);
  const bool partial = padded != done;
  visit(0, 1, 0, (padded - done) * tap_weights + (partial ? pad : 0));
}

template <typename Visit>
void walk_u85(const WeightTraversal& t, int stream, Visit&& visit) {
  const U85Shape s = u85_shape(t, stream);
  const int ifm_blocks = is_depthwise(t) ? 1 : ceil_div(t.ifm_depth, s.ifm_block_depth);
  const int decomposition_y = kSubkernelSize / t.dilation_y;
  const int decomposition_x = kSubkernelSize / t.dilation_x;
  int ofm_block_index = 0;
  for (int ofm_block = 0; ofm_block < t.ofm_depth; ofm_block += t.ofm_block_depth, ++ofm_block_index) {
    const int ofm_end = std::min(ofm_block + t.ofm_block_depth, t.ofm_depth);
    for (int i = 0; i < ifm_blocks; ++i) {
      const int ifm_block = (ofm_block_index % 2 == 0 ? i : ifm_blocks - 1 - i) * s.ifm_block_depth;
      const int ifm_end = is_depthwise(t) ? 1 : std::min(ifm_block + s.ifm_block_depth, t.ifm_depth);
      for (int kx = 0; kx < t.kernel_width; kx += decomposition_x) {
        for (int ky = 0; ky < t.kernel_height; ky += decomposition_y) {
          const std::vector<int64_t> taps = u85_taps(t, s, ky, kx);
          for (int ifm = ifm_block; ifm < ifm_end; ifm += s.ifm_chunk) {
            for (int ofm = ofm_block; ofm < ofm_end; ofm += s.ofm_ublock_depth) {
              walk_u85_unit(t, s, taps, ofm, ofm_end, ifm, visit);
            }
          }
        }
      }
    }
  }
}

inline int64_t u85_length(const WeightTraversal& t, int stream) {
  const U85Shape s = u85_shape(t, stream);
  // Zeros of depthwise padding count as taps here. The chunk is then one channel deep.
  const int64_t taps = padded_taps(t, s.tap_multiple);
  const int64_t pads = is_depthwise(t) ? taps / kU85DepthwiseTapGroup * s.depthwise_pad : 0;
  const int64_t full_blocks = t.ofm_depth / t.ofm_block_depth;
  const int64_t ofm_ublocks = full_blocks * ceil_div(t.ofm_block_depth, s.ofm_ublock_depth) +
                              ceil_div(t.ofm_depth % t.ofm_block_depth, s.ofm_ublock_depth);
  const int64_t full_ifm_blocks = t.ifm_depth / s.ifm_block_depth;
  const int64_t chunks = is_depthwise(t) ? 1
                                         : full_ifm_blocks * (s.ifm_block_depth / s.ifm_chunk) +
                                               ceil_div(t.ifm_depth % s.ifm_block_depth, s.ifm_chunk);
  return saturating_product({taps * s.ifm_chunk + pads, s.ofm_ublock_depth / s.streams, ofm_ublocks, chunks});
}

}  // namespace carina::npu
