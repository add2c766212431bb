#include <algorithm>

#include "npu/weights/scales.h"
#include "plan/family/shram_internal.h"
#include "plan/family/weight_traversal_internal.h"

// The streams of each core: its scales, then its weights. The cores take the output channels in turn.
namespace carina::plan {

npu::WeightTraversal shram::traversal(const Step& subop, const BlockConfig& block, const Weights& weights,
                                      const Target& target) {
  npu::WeightTraversal traversal = traversal_of(subop, block, weights, target);
  traversal.cores = target.accelerator.cores;
  return traversal;
}

namespace {

std::vector<std::byte> scale_table(const npu::WeightTraversal& traversal, const Weights& weights, int64_t first_channel,
                                   int core) {
  std::vector<npu::ChannelScale> scales;
  for (int64_t o = core; o < traversal.ofm_depth; o += traversal.cores) {
    const auto c = static_cast<size_t>(first_channel + o);
    scales.push_back({.bias = weights.biases[c],
                      .scale = weights.factors[c].multiplier,
                      .shift = static_cast<uint8_t>(weights.factors[c].shift)});
  }
  return npu::encode_scales(scales, npu::ScaleForm::kBias40Scale32, 1);
}

}  // namespace

EncodedSlice shram::encode(const npu::WeightTraversal& traversal, const Weights& weights, int64_t first_channel,
                           npu::EncodedWeightsCache* streams) {
  EncodedSlice slice;
  const int cores = std::min(traversal.cores, traversal.ofm_depth);
  slice.cores.resize(static_cast<size_t>(cores));
  for (int core = 0; core < cores; ++core)
    append_scales(slice, static_cast<size_t>(core), scale_table(traversal, weights, first_channel, core));
  if (weights.values.empty()) return slice;
  const size_t each = weights.values.size() / static_cast<size_t>(weights.out_channels);
  std::vector<npu::EncodedWeightsCache::Stream> encoded;
  for (int core = 0; core < cores; ++core) {
    const std::vector<int16_t> sequence = weights.values.visit([&](const auto& values) {
      return npu::reorder(
          traversal, core,
          values.subspan(static_cast<size_t>(first_channel) * each, static_cast<size_t>(traversal.ofm_depth) * each));
    });
    encoded.push_back(npu::encoded_by(streams, sequence));
  }
  set_weights(slice, encoded);
  return slice;
}

}  // namespace carina::plan
