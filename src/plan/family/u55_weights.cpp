#include "npu/scales.h"
#include "npu/weight_codec.h"
#include "plan/family/u55_internal.h"

// One stream of weights per operation, behind its scales.
namespace carina::plan {

npu::WeightTraversal u55::traversal(const Step& piece, const BlockConfig& block, const Weights& weights,
                                    const Target& target) {
  return {.accelerator = &target.accelerator,
          .kind = piece.kind == StepKind::kDepthwise ? npu::WeightKind::kDepthwise : npu::WeightKind::kConv,
          .order = block.order,
          .ofm_depth = static_cast<int>(piece.ofm.depth),
          .ifm_depth = static_cast<int>(weights.in_channels),
          .kernel_height = static_cast<int>(weights.height),
          .kernel_width = static_cast<int>(weights.width),
          .dilation_y = static_cast<int>(piece.kernel.dilation_y),
          .dilation_x = static_cast<int>(piece.kernel.dilation_x),
          .ofm_block_depth = static_cast<int>(block.depth),
          .ifm_bits = piece.ifm.type.bits,
          .stride_y = static_cast<int>(piece.kernel.stride_y),
          .stride_x = static_cast<int>(piece.kernel.stride_x)};
}

EncodedSlice u55::encode(const npu::WeightTraversal& traversal, const Weights& weights, int64_t first_channel) {
  const auto first = static_cast<size_t>(first_channel), count = static_cast<size_t>(traversal.ofm_depth);
  std::vector<npu::ChannelScale> scales;
  scales.reserve(count);
  for (size_t o = first; o < first + count; ++o)
    scales.push_back({.bias = weights.biases[o], .scale = weights.multipliers[o], .shift = weights.shifts[o]});
  EncodedSlice slice{.bytes = npu::encode_scales(scales, npu::ScaleForm::kBias40Scale32, 1), .cores = {}};
  const auto scale_bytes = static_cast<int64_t>(slice.bytes.size());
  slice.cores.push_back({.scale_offset = 0, .scale_bytes = scale_bytes, .weight_offset = scale_bytes});
  if (weights.values.empty()) return slice;
  const size_t each = weights.values.size() / static_cast<size_t>(weights.out_channels);
  const std::vector<int16_t> sequence =
      npu::reorder(traversal, 0, std::span<const int16_t>(weights.values).subspan(first * each, count * each));
  const std::vector<std::byte> stream = npu::encode_swd(sequence);
  slice.cores.front().weight_bytes = static_cast<int64_t>(stream.size());
  slice.bytes.insert(slice.bytes.end(), stream.begin(), stream.end());
  return slice;
}

}  // namespace carina::plan
