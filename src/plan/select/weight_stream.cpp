#include "plan/select/weight_stream_internal.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/checked_math.h"

// A weight stream whose weights the NPU writes itself (docs/plan.md, "Weights that the NPU writes"). The stream is
// uncompressed, so each weight is one byte at a known address. The headers of slices would shift the bytes by some
// bits, so the first four weights are in slices of their own:
//
//   first slice of 1 weight    36 bits of header + 8       44 bits
//   3 slices of 1 weight       3 x (23 bits + 8)           93 bits
//   the slice of all others    23 bits of header           23 bits
//                                                         160 bits = 20 bytes
//
// So weight p is byte 16 + p for p of 4 and more. A slice has at most 2^15 weights; a longer matrix is divided by
// output channels. The weights are in the order of npu/weights/weight_order.cpp; parts_of_tap() describes it as views
// with strides, one for each combination of a whole or partial block, so that copies can write it. Time: linear in the
// number of these parts, and independent of the number of weights in a part.
namespace carina::plan {
namespace {

constexpr int64_t kLanes = 8;              // input channels of a weight ublock
constexpr int64_t kPartKernelTaps = 4;     // that are read together
constexpr int64_t kHeaderWeights = 4;      // weights in slices of their own, so that the others start at a whole byte
constexpr int64_t kFirstPayloadByte = 20;  // the header with those weights

// Folded: magnitude and sign in one number, 1 for zero.
int folded(int w) {
  return std::abs(w) << 1 | (w <= 0 ? 1 : 0);
}

int64_t unit_bytes(const WeightStream& s) {
  return s.padded_taps * s.block_depth * s.ublock_channels;
}
int64_t depth_blocks(const WeightStream& s) {
  return ceil_div(s.depth, s.block_depth);
}

class BitWriter {
 public:
  explicit BitWriter(std::span<std::byte> bytes) : bytes_(bytes) {}
  void put(uint32_t value, int bits) {
    for (int i = 0; i < bits; ++i, ++position_) {
      if ((value >> i & 1) != 0) bytes_[position_ / 8] |= std::byte{1} << (position_ % 8);
    }
  }

 private:
  std::span<std::byte> bytes_;
  size_t position_ = 0;
};

// A slice of uncompressed weights; the first brings the palette: none, 8 bits each, counted from 1.
void put_slice(BitWriter& bits, int64_t weights, bool is_first) {
  bits.put(6, 3);  // zeros are weights like others
  bits.put(static_cast<uint32_t>(weights - 1), 15);
  bits.put(7, 3);  // uncompressed
  bits.put(0, 1);
  bits.put(is_first ? 1 : 0, 1);
  if (!is_first) return;
  bits.put(1, 5);
  bits.put(0, 5);
  bits.put(6, 3);
}

}  // namespace

int64_t WeightStream::payload_bytes() const {
  const int64_t full = channels / block_channels;
  const int64_t rest = ceil_div(channels % block_channels, ublock_channels);
  return (full * ceil_div(block_channels, ublock_channels) + rest) * depth_blocks(*this) * unit_bytes(*this);
}

int64_t WeightStream::bytes() const {
  return kStreamHeadBytes + payload_bytes() + kStreamEndBytes;
}

WeightStream weight_stream(const npu::WeightTraversal& t, int core) {
  const bool part_kernel = t.order == npu::WeightOrder::PART_KERNEL_FIRST;
  const int64_t taps = int64_t{t.kernel_height} * t.kernel_width;
  return {.channels = ceil_div<int64_t>(std::max(t.ofm_depth - core, 0), t.cores),
          .first_channel = core,
          .channel_step = t.cores,
          .block_channels = std::max<int64_t>(ceil_div<int64_t>(std::max(t.ofm_block_depth - core, 0), t.cores), 1),
          .ublock_channels = npu::ofm_ublock_depth(t),
          .taps = taps,
          .padded_taps = part_kernel ? round_up(taps, kPartKernelTaps) : taps,
          .depth = t.ifm_depth,
          .block_depth = part_kernel ? kLanes : npu::ifm_block_depth(t)};
}

std::byte stream_byte(int w) {
  return static_cast<std::byte>(folded(w) - 1);
}

std::array<std::byte, kStreamStartBytes> stream_start(const WeightStream& stream, int constant) {
  std::array<std::byte, kStreamStartBytes> bytes{};
  const auto weight = [&](int64_t i) {
    return stream_byte(i % kLanes < stream.depth && i / kLanes < stream.channels ? constant : 0);
  };
  BitWriter bits(bytes);
  for (int64_t i = 0; i < kHeaderWeights; ++i) {
    put_slice(bits, 1, i == 0);
    bits.put(static_cast<uint32_t>(weight(i)), 8);
  }
  put_slice(bits, stream.payload_bytes() - kHeaderWeights, false);
  for (int64_t i = kFirstPayloadByte; i < kStreamStartBytes; ++i)
    bytes[static_cast<size_t>(i)] = weight(i - kStreamHeadBytes);
  return bytes;
}

namespace {

// `count` of something from `first`, in groups of `group`.
struct Groups {
  int64_t first = 0;
  int64_t groups = 1;
  int64_t group = 1;
};
// [0, size) in whole groups and the rest.
std::vector<Groups> in_groups(int64_t size, int64_t group) {
  std::vector<Groups> result;
  if (size >= group) result.push_back({.first = 0, .groups = size / group, .group = group});
  if (size % group != 0) result.push_back({.first = size - size % group, .groups = 1, .group = size % group});
  return result;
}

// Input channels as blocks, eights in a block and single ones.
struct Depths {
  int64_t block = 0;  // the first
  int64_t blocks = 1;
  int64_t eight = 0;
  int64_t eights = 1;
  int64_t lanes = kLanes;
};
std::vector<Depths> depths_of(const WeightStream& s) {
  std::vector<Depths> result;
  const int64_t full = s.depth / s.block_depth, rest = s.depth % s.block_depth;
  if (full > 0) result.push_back({.blocks = full, .eights = s.block_depth / kLanes});
  for (const Groups& part : in_groups(rest, kLanes))
    result.push_back({.block = full, .eight = part.first / kLanes, .eights = part.groups, .lanes = part.group});
  return result;
}

StreamPart part_of(const WeightStream& s, int64_t tap, int64_t block, const Groups& out, const Depths& in) {
  const int64_t ublocks =
      ceil_div(std::min(s.block_channels, s.channels - block * s.block_channels), s.ublock_channels);
  const int64_t unit = unit_bytes(s), eight = kLanes * s.ublock_channels;
  const int64_t full_blocks = block * ceil_div(s.block_channels, s.ublock_channels) * depth_blocks(s) * unit;
  const int64_t channel = block * s.block_channels + out.first, step = s.channel_step;
  return {.destination = {.offset = kStreamHeadBytes + full_blocks + in.block * ublocks * unit +
                                    out.first / s.ublock_channels * unit + tap * s.block_depth * s.ublock_channels +
                                    in.eight * eight,
                          .axes = {{out.groups, unit},
                                   {out.group, kLanes},
                                   {in.blocks, ublocks * unit},
                                   {in.eights, eight},
                                   {in.lanes, 1}}},
          .matrix = {.offset = s.first_channel + channel * step,
                     .axes = {{out.groups, out.group * step},
                              {out.group, step},
                              {in.blocks, s.block_depth},
                              {in.eights, kLanes},
                              {in.lanes, 1}}}};
}

}  // namespace

std::vector<StreamPart> parts_of_tap(const WeightStream& s, int64_t tap, const View& destination, const View& matrix) {
  std::vector<StreamPart> parts;
  for (int64_t block = 0; block * s.block_channels < s.channels; ++block) {
    const int64_t channels = std::min(s.block_channels, s.channels - block * s.block_channels);
    for (const Groups& out : in_groups(channels, s.ublock_channels)) {
      for (const Depths& in : depths_of(s)) {
        StreamPart part = part_of(s, tap, block, out, in);
        part.destination.tensor = destination.tensor;
        part.destination.offset += destination.offset;
        // The view's strides are in channels here; they become strides of the matrix.
        View& from = part.matrix;
        const int64_t in_first = in.block * s.block_depth + in.eight * kLanes;
        from.tensor = matrix.tensor;
        from.offset = matrix.offset + from.offset * matrix.axes[0].stride + in_first * matrix.axes[1].stride;
        for (size_t axis = 0; axis < from.axes.size(); ++axis)
          from.axes[axis].stride *= matrix.axes[axis < 2 ? 0 : 1].stride;
        parts.push_back(std::move(part));
      }
    }
  }
  return parts;
}

}  // namespace carina::plan
