#include "firmware/npu/weights.h"

#include <algorithm>

#include "facts/npu_targets.h"
#include "firmware/board/console.h"
#include "firmware/npu/weight_stream.h"

namespace carina::firmware::npu_core {

namespace {

constexpr int32_t kIfmUblockDepth = 8;

int32_t rounded_up(int32_t value, int32_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Stores the weights of a stream at their indices. The stream has them in the order of the hardware. Source:
// docs/npu-encoding.md.
class WeightUnpacker {
 public:
  WeightUnpacker(const Operation& op, int32_t ublock_depth, std::span<const std::byte> stream,
                 std::span<int16_t> weights)
      : op_(op),
        depthwise_(op.kind == Kind::kDepthwise),
        part_kernel_(!depthwise_ && op.part_kernel_first),
        depth_(depthwise_ ? 1 : op.ifm_depth),
        ublock_depth_(ublock_depth),
        stream_(stream),
        weights_(weights) {
    const bool is_16_bit = op.ifm.type.bytes == 2;
    ifm_block_ = is_16_bit      ? npu::kIfmBlockDepth16Bit
                 : part_kernel_ ? npu::kIfmBlockDepthPartKernel
                                : npu::kIfmBlockDepth8Bit;
    tap_multiple_ = depthwise_ ? 4 : part_kernel_ ? (is_16_bit ? 2 : 4) : 1;
  }

  bool unpack_all() {
    for (int32_t ofm = 0; ofm < op_.ofm_extent.depth; ofm += op_.block_depth) {
      for (int32_t ifm = 0; ifm < depth_; ifm += ifm_block_) {
        if (!unpack_block(ofm, ifm)) return false;
      }
    }
    return true;
  }

 private:
  bool unpack_block(int32_t ofm_block, int32_t ifm_block) {
    const int32_t rows = npu::kSubkernelSize / op_.kernel.dilation_y;
    const int32_t columns = npu::kSubkernelSize / op_.kernel.dilation_x;
    for (int32_t ky = 0; ky < op_.kernel.height; ky += rows) {
      for (int32_t kx = 0; kx < op_.kernel.width; kx += columns) {
        const SubKernel part{.y = ky,
                             .x = kx,
                             .height = std::min(op_.kernel.height - ky, rows),
                             .width = std::min(op_.kernel.width - kx, columns)};
        if (!unpack_sub_kernel(part, ofm_block, ifm_block)) return false;
      }
    }
    return true;
  }

  struct SubKernel {
    int32_t y, x, height, width;
  };

  // Part-kernel order: a loop over IFM ublocks contains the taps, with clipping. Depth-first order: the taps contain a
  // loop over the whole block.
  bool unpack_sub_kernel(const SubKernel& part, int32_t ofm_block, int32_t ifm_block) {
    const int32_t outer = part_kernel_ ? std::min(ifm_block_, depth_ - ifm_block) : 1;
    const int32_t inner = part_kernel_ || depthwise_ ? 1 : ifm_block_;
    const int32_t taps = rounded_up(part.height * part.width, tap_multiple_);
    const int32_t ofm_end = std::min(ofm_block + op_.block_depth, op_.ofm_extent.depth);
    for (int32_t i = 0; i < outer; i += kIfmUblockDepth) {
      for (int32_t ofm = ofm_block; ofm < ofm_end; ofm += ublock_depth_) {
        for (int32_t tap = 0; tap < taps; ++tap) {
          for (int32_t j = 0; j < inner; j += kIfmUblockDepth) {
            if (!unpack_ublock(part, tap, ofm, ifm_block + i + j)) return false;
          }
        }
      }
    }
    return true;
  }

  // The stream has zeros where channels or taps end inside of a ublock.
  bool unpack_ublock(const SubKernel& part, int32_t tap, int32_t ofm, int32_t ifm) {
    const int32_t ky = part.y + tap / part.width;
    const int32_t kx = part.x + tap % part.width;
    const bool real_tap = tap / part.width < part.height;
    const int32_t lanes = depthwise_ ? 1 : kIfmUblockDepth;
    for (int32_t o = ofm; o < ofm + ublock_depth_; ++o) {
      for (int32_t i = ifm; i < ifm + lanes; ++i) {
        int32_t weight = 0;
        if (!stream_.next(weight)) return false;
        if (!real_tap || o >= op_.ofm_extent.depth || i >= depth_) continue;
        const size_t at = ((size_t(o) * op_.kernel.height + ky) * op_.kernel.width + kx) * depth_ + i;
        weights_[at] = static_cast<int16_t>(weight);
      }
    }
    return true;
  }

  const Operation& op_;
  bool depthwise_;
  bool part_kernel_;
  int32_t depth_;
  int32_t ublock_depth_;
  int32_t ifm_block_ = 0;
  int32_t tap_multiple_ = 1;
  WeightStream stream_;
  std::span<int16_t> weights_;
};

}  // namespace

bool decode_weights(const Operation& op, const npu::AcceleratorConfig& accelerator, std::span<const std::byte> stream,
                    std::span<int16_t> weights) {
  const int64_t depth = op.kind == Kind::kDepthwise ? 1 : op.ifm_depth;
  const int64_t per_channel = depth * op.kernel.taps();  // at most 2^48
  const int64_t needed = per_channel * op.ofm_extent.depth;
  if (per_channel > static_cast<int64_t>(weights.size()) || needed > static_cast<int64_t>(weights.size())) {
    error()
        .text("ethosu: an operation has ")
        .number(needed)
        .text(" weights; the simulator in this image has memory for ")
        .number(static_cast<int64_t>(weights.size()));
    return false;
  }
  if (WeightUnpacker(op, accelerator.ofm_ublocks[0].block.depth, stream, weights).unpack_all()) return true;
  error().text("ethosu: the weight stream is damaged, or holds fewer weights than its operation needs");
  return false;
}

}  // namespace carina::firmware::npu_core
