#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "simulate/timing/cycle_model.h"

// How an operation is divided into blocks, for the cycle model.
namespace carina::simulate {

enum class WorkKind : uint8_t { kDepthFirst, kPartKernel, kReduceSum, kDepthwise, kPool, kElementwise, kResize };

inline bool sums_over_depth(WorkKind kind) {
  return kind == WorkKind::kDepthFirst || kind == WorkKind::kPartKernel || kind == WorkKind::kReduceSum;
}
inline bool is_bricked(const FeatureMap& map) {
  return map.format == Format::kNhcwb16;
}
inline int64_t elements(const Extent& e) {
  return int64_t{e.height} * e.width * e.depth;
}
inline Extent clipped(const Extent& a, const Extent& b) {
  return {
      .height = std::min(a.height, b.height), .width = std::min(a.width, b.width), .depth = std::min(a.depth, b.depth)};
}
// Elements that are moved when a tensor of this format is read or written. NHCWB16 moves whole bricks.
inline int64_t stored_elements(const FeatureMap& map, const Extent& e) {
  return int64_t{e.height} * e.width * (is_bricked(map) ? round_up(e.depth, int32_t{npu::kBrickDepth}) : e.depth);
}

// The division of an operation into blocks.
struct CycleModel::Geometry {
  WorkKind kind;
  Extent ublock;                // of the OFM
  Extent block;                 // of the OFM, clipped to it
  Extent ifm;                   // the window space
  Extent ifm_block;             // clipped
  int32_t ifm_block_limit = 1;  // channels that the input buffer holds
  int64_t ublocks_xy = 1;       // in a block
  int64_t ublocks_z = 1;
  double blocks = 1;      // the OFM's ublocks, in units of whole blocks
  int64_t blocks_xy = 1;  // whole blocks
  int64_t blocks_z = 1;
  int64_t sub_kernels = 1;
};

}  // namespace carina::simulate
