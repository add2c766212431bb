#include <algorithm>
#include <string>

#include "simulate/kernels/rows.h"
#include "simulate/kernels/work.h"

// The boxes of elements that an operation reads and writes.
//   Example: a 3x3 kernel with stride 2, padding 1 and an OFM of 4x4 needs an IFM of 8x8, of which padding is not read.
namespace carina::simulate {

Extent window_extent(const Operation& op) {
  const Kernel& k = op.kernel;
  const Extent& ofm = op.ofm_extent;
  const int32_t height = (ofm.height - 1) * k.stride_y + k.extent_h - op.padding.top - op.padding.bottom;
  const int32_t width = (ofm.width - 1) * k.stride_x + k.extent_w - op.padding.left - op.padding.right;
  const bool reads_all_channels =
      op.kind == OperationKind::kConvolution || (op.kind == OperationKind::kPool && op.pool == PoolMode::kReduceSum);
  return {.height = std::max(0, height),
          .width = std::max(0, width),
          .depth = reads_all_channels ? op.ifm_depth : ofm.depth};
}

namespace {

Extent broadcast_box(const Extent& ofm, const Broadcast& b) {
  return {.height = b.h ? 1 : ofm.height, .width = b.w ? 1 : ofm.width, .depth = b.c ? 1 : ofm.depth};
}

}  // namespace

Extent ifm_box(const Operation& op) {
  if (op.kind == OperationKind::kElementwise) {
    return op.ifm_broadcast.scalar ? Extent{} : broadcast_box(op.ofm_extent, op.ifm_broadcast);
  }
  if (op.kind == OperationKind::kResize) {
    return {.height = op.kernel.extent_h, .width = op.kernel.extent_w, .depth = op.ofm_extent.depth};
  }
  if (op.kind == OperationKind::kPool && op.pool == PoolMode::kNone) return {};  // its IFM registers are a dummy
  Extent box = window_extent(op);
  if (op.upscale != Upscale::kNone) {
    box.height = (box.height + 1) / 2;
    box.width = (box.width + 1) / 2;
  }
  return box;
}

Extent ifm2_box(const Operation& op) {
  if (op.weight_source == WeightSource::kIfm2)
    return {.height = 1, .width = op.ofm_extent.depth, .depth = op.ifm_depth};
  if (op.kind == OperationKind::kElementwise) return broadcast_box(op.ofm_extent, op.ifm2_broadcast);
  return op.ofm_extent;
}

Extent stored_extent(const Operation& op, const Extent& extent) {
  const auto [h, w, c] = extent;
  switch (op.transpose) {
    case Transpose::kHwc:
      return {.height = h, .width = w, .depth = c};
    case Transpose::kWhc:
      return {.height = w, .width = h, .depth = c};
    case Transpose::kHcw:
      return {.height = h, .width = c, .depth = w};
    case Transpose::kWch:
      return {.height = w, .width = c, .depth = h};
    case Transpose::kChw:
      return {.height = c, .width = h, .depth = w};
    case Transpose::kCwh:
      return {.height = c, .width = w, .depth = h};
  }
  return extent;
}

Result<DecodedWeights> weights_from_ifm2(const Operation& op, const CheckedMap& ifm2) {
  if (op.kernel.taps() != 1) {
    return fail(Diagnostic{.where = {},
                           .what = "a matrix multiplication has a kernel of one element",
                           .expected = "1x1",
                           .got = std::to_string(op.kernel.height) + "x" + std::to_string(op.kernel.width)});
  }
  DecodedWeights weights{.channels = op.ofm_extent.depth, .height = 1, .width = 1, .depth = op.ifm_depth};
  std::vector<int32_t> row(static_cast<size_t>(int64_t{weights.channels} * weights.depth));
  read_row(ifm2, 0, 0, weights.channels, weights.depth, op.ifm2.type.bytes >= 4 ? 0 : op.ifm2.zero_point, row.data(),
           weights.depth);
  std::vector<int16_t> values(row.size());
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] != static_cast<int16_t>(row[i])) {
      return fail(Diagnostic{.where = {},
                             .what = "IFM2 as weights holds a value beyond 16 bits",
                             .expected = "-32768..32767",
                             .got = std::to_string(row[i])});
    }
    values[i] = static_cast<int16_t>(row[i]);
  }
  pack_weights(weights, op, values);
  return weights;
}

}  // namespace carina::simulate
