#include "base/checked_math.h"
#include "npu/weights/scales.h"
#include "plan/family/u85_internal.h"
#include "plan/family/weight_traversal_internal.h"

// One table of scales, followed by a weight stream per decoder.
namespace carina::plan {

npu::WeightTraversal u85::traversal(const Step& subop, const BlockConfig& block, const Weights& weights,
                                    const Target& target) {
  npu::WeightTraversal traversal = traversal_of(subop, block, weights, target);
  traversal.microblock = block.ublock;
  return traversal;
}

namespace {

std::vector<std::byte> scale_table(const npu::WeightTraversal& traversal, const Weights& weights, size_t first) {
  std::vector<npu::ChannelScale> scales;
  const auto count = static_cast<size_t>(traversal.ofm_depth);
  scales.reserve(count);
  for (size_t o = first; o < first + count; ++o)
    scales.push_back({.bias = weights.biases[o], .scale = weights.multipliers[o], .shift = weights.shifts[o]});
  const auto form = weights.acc == AccWidth::kWide ? npu::ScaleForm::kBias48Scale15 : npu::ScaleForm::kBias32Scale31;
  const int entries = round_up(npu::ofm_ublock_depth(traversal), npu::kBrickDepth);
  return npu::encode_scales(scales, form, entries);
}

}  // namespace

EncodedSlice u85::encode(const npu::WeightTraversal& traversal, const Weights& weights, int64_t first_channel,
                         npu::EncodedWeightsCache* streams) {
  const auto first = static_cast<size_t>(first_channel), count = static_cast<size_t>(traversal.ofm_depth);
  EncodedSlice slice;
  slice.cores.resize(static_cast<size_t>(npu::stream_count(traversal)));
  append_scales(slice, 0, scale_table(traversal, weights, first));  // one table for all decoders
  for (size_t stream = 1; stream < slice.cores.size(); ++stream) append_scales(slice, stream, {});
  if (weights.values.empty()) return slice;
  const size_t each = weights.values.size() / static_cast<size_t>(weights.out_channels);
  std::vector<npu::EncodedWeightsCache::Stream> encoded;
  for (size_t stream = 0; stream < slice.cores.size(); ++stream) {
    const std::vector<int16_t> sequence = weights.values.visit([&](const auto& values) {
      return npu::reorder(traversal, static_cast<int>(stream), values.subspan(first * each, count * each));
    });
    encoded.push_back(npu::encoded_by(streams, sequence));
  }
  set_weights(slice, encoded);
  return slice;
}

}  // namespace carina::plan
