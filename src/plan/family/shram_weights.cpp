#include <algorithm>

#include "npu/scales.h"
#include "plan/family/shram_internal.h"

// One stream of weights for each core, behind its scales; the cores take the output channels in turn.
namespace carina::plan {

npu::WeightTraversal shram::traversal(const Step& piece, const BlockConfig& block, const Weights& weights,
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
          .cores = target.accelerator.cores,
          .stride_y = static_cast<int>(piece.kernel.stride_y),
          .stride_x = static_cast<int>(piece.kernel.stride_x)};
}

namespace {

// Appends what core number `core` reads.
void append_core(EncodedSlice& slice, const npu::WeightTraversal& traversal, const Weights& weights,
                 int64_t first_channel, int core, npu::StreamMemo* streams) {
  std::vector<npu::ChannelScale> scales;
  for (int64_t o = core; o < traversal.ofm_depth; o += traversal.cores) {
    const auto c = static_cast<size_t>(first_channel + o);
    scales.push_back({.bias = weights.biases[c], .scale = weights.multipliers[c], .shift = weights.shifts[c]});
  }
  const std::vector<std::byte> table = npu::encode_scales(scales, npu::ScaleForm::kBias40Scale32, 1);
  CoreStream stream{.scale_offset = static_cast<int64_t>(slice.bytes.size()),
                    .scale_bytes = static_cast<int64_t>(table.size())};
  slice.bytes.insert(slice.bytes.end(), table.begin(), table.end());
  stream.weight_offset = static_cast<int64_t>(slice.bytes.size());
  if (!weights.values.empty()) {
    const size_t each = weights.values.size() / static_cast<size_t>(weights.out_channels);
    const std::vector<int16_t> sequence = weights.values.visit([&](const auto& values) {
      return npu::reorder(
          traversal, core,
          values.subspan(static_cast<size_t>(first_channel) * each, static_cast<size_t>(traversal.ofm_depth) * each));
    });
    const npu::StreamMemo::Stream encoded = npu::encoded_by(streams, sequence);
    stream.weight_bytes = static_cast<int64_t>(encoded->size());
    slice.bytes.insert(slice.bytes.end(), encoded->begin(), encoded->end());
  }
  slice.cores.push_back(stream);
}

}  // namespace

EncodedSlice shram::encode(const npu::WeightTraversal& traversal, const Weights& weights, int64_t first_channel,
                           npu::StreamMemo* streams) {
  EncodedSlice slice;
  for (int core = 0; core < std::min(traversal.cores, traversal.ofm_depth); ++core)
    append_core(slice, traversal, weights, first_channel, core, streams);
  return slice;
}

}  // namespace carina::plan
