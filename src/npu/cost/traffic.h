#pragma once

#include <cstdint>

// The bytes that an operation moves over the AXI ports. PMU counters, reports, access cycles and the planner's cost all
// call these functions. They reproduce the published beat counters of Ethos-U55 (docs/cycle-model.md, "Traffic").
namespace carina::npu {

// One axis (height or width) of an operation that moves a window over its IFM.
struct WindowAxis {
  int64_t ofm = 1;         // elements of the OFM
  int64_t block = 1;       // of an OFM block
  int64_t taps = 1;        // of the kernel
  int64_t dilation = 1;    // distance of two taps
  int64_t stride = 1;      // of the window
  int64_t padding = 0;     // elements before the IFM
  int64_t ifm = 1;         // elements of the IFM
  int64_t sub_kernel = 8;  // taps that are processed together
  int64_t upscale = 1;     // 2: the window moves over an IFM of twice the size
};
// The IFM's elements that the OFM blocks of one axis read. An element counts once for each block and each sub-kernel
// that reads it. Padding is not read.
//   Example: 5 outputs in blocks of 2, 3 taps, stride 1, padding 1, 5 inputs. The blocks read rows 0..2, 1..4 and 3..4:
//   3 + 4 + 2 = 9.
int64_t window_reads(const WindowAxis& axis);

// How often the blocks of one plane position read the same part of an IFM. An operation that sums over channels keeps
// the part for all OFM blocks in depth, unless the IFM is deeper than one IFM block.
struct DepthReads {
  int64_t ifm_depth = 1;
  int64_t ifm_block_depth = 1;  // that the input buffer holds
  int64_t ofm_blocks = 1;       // in depth
};
constexpr int64_t depth_reads(const DepthReads& what) {
  return what.ifm_depth > what.ifm_block_depth ? what.ofm_blocks : 1;
}

// A feature map that is written.
struct WrittenMap {
  bool bricks = false;  // NHCWB16
  int64_t height = 1;
  int64_t width = 1;
  int64_t depth = 1;
  int64_t element_bytes = 1;
  int64_t address = 0;   // of the first element; its low bits suffice
  int64_t stride_y = 0;  // bytes; without meaning for bricks
  int64_t stride_x = 0;
  int64_t beat_bytes = 8;  // a power of two, at most 16
};
// The bytes of all beats. NHCWB16 is written in whole bricks of 16 channels. NHWC is written in runs of 16 channels,
// each in its own aligned beats.
//   Example: a pixel of 20 channels at address 4, in beats of 8 bytes: channels 0..15 take bytes 4..19, 3 beats;
//   channels 16..19 take bytes 20..23, 1 beat.
int64_t written_bytes(const WrittenMap& map);

}  // namespace carina::npu
