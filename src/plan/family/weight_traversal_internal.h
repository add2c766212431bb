#pragma once

#include "npu/weights/weight_order.h"
#include "plan/family/family.h"

namespace carina::plan {

// The order in which a subop reads its weights, without the fields that a family adds.
inline npu::WeightTraversal traversal_of(const Step& subop, const BlockConfig& block, const Weights& weights,
                                         const Target& target) {
  return {.accelerator = &target.accelerator,
          .kind = subop.kind == StepKind::kDepthwise ? npu::WeightKind::kDepthwise : npu::WeightKind::kConv,
          .order = block.order,
          .ofm_depth = static_cast<int>(subop.ofm.depth),
          .ifm_depth = static_cast<int>(weights.in_channels),
          .kernel_height = static_cast<int>(weights.height),
          .kernel_width = static_cast<int>(weights.width),
          .dilation_y = static_cast<int>(subop.kernel.dilation_y),
          .dilation_x = static_cast<int>(subop.kernel.dilation_x),
          .ofm_block_depth = static_cast<int>(block.depth),
          .ifm_bits = subop.ifm.type.bits,
          .stride_y = static_cast<int>(subop.kernel.stride_y),
          .stride_x = static_cast<int>(subop.kernel.stride_x)};
}

}  // namespace carina::plan
