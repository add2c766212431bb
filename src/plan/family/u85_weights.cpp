#include <array>
#include <memory>
#include <utility>

#include "base/checked_math.h"
#include "carina/check.h"
#include "npu/weights/scales.h"
#include "npu/weights/weight_codec.h"
#include "plan/family/u85_internal.h"
#include "plan/family/weight_traversal_internal.h"

// One table of scales, followed by a weight stream per decoder.
namespace carina::plan {

npu::WeightTraversal u85::traversal(const Step& subop, const BlockConfig& block, const Weights& weights,
                                    const Target& target) {
  npu::WeightTraversal traversal = traversal_of(subop, block, weights, target);
  traversal.microblock = block.ublock;
  traversal.sparsity = block.sparsity;
  traversal.format = block.format;
  return traversal;
}

namespace {

std::vector<std::byte> scale_table(const npu::WeightTraversal& traversal, const Weights& weights, size_t first) {
  std::vector<npu::ChannelScale> scales;
  const auto count = static_cast<size_t>(traversal.ofm_depth);
  scales.reserve(count);
  for (size_t o = first; o < first + count; ++o)
    scales.push_back({.bias = weights.biases[o],
                      .scale = weights.factors[o].multiplier,
                      .shift = static_cast<uint8_t>(weights.factors[o].shift)});
  const auto form = weights.acc == AccWidth::kWide ? npu::ScaleForm::kBias48Scale15 : npu::ScaleForm::kBias32Scale31;
  const int entries = round_up(npu::ofm_ublock_depth(traversal), npu::kBrickDepth);
  return npu::encode_scales(scales, form, entries);
}

npu::ValueCounts counts_of(std::span<const int16_t> sequence) {
  npu::ValueCounts counts{.values = sequence.size()};
  // Flags of a byte do not wait for each other, as bits of one word would.
  std::array<bool, npu::kMaxWeight - npu::kMinWeight + 1> present{};
  for (const int16_t value : sequence) {
    counts.zeros += value == 0 ? 1 : 0;
    present[static_cast<size_t>(value - npu::kMinWeight)] = true;
  }
  for (size_t i = 0; i < present.size(); ++i) counts.present[i] = present[i];
  return counts;
}

// The streams of all decoders as the one that the fast decoder reads.
npu::EncodedWeightsCache::Stream encoded_fast(const npu::WeightTraversal& traversal,
                                              std::span<const std::vector<int16_t>> sequences) {
  const std::vector<int16_t> sequence = npu::interleave_for_fast_decoder(traversal, sequences);
  const bool sparse = traversal.sparsity == npu::WeightSparsity::SPARSE_2_4;
  auto stream = std::make_shared<npu::EncodedWeights>();
  stream->bytes = npu::encode_fwd(sequence, sparse ? npu::FwdPacking::kRawOnly : npu::FwdPacking::kAny);
  CARINA_CHECK(!stream->bytes.empty(), "weights that the fast format does not hold");
  stream->values = counts_of(sequence);
  return stream;
}

}  // namespace

EncodedSlice u85::encode(const npu::WeightTraversal& traversal, const Weights& weights, int64_t first_channel,
                         npu::EncodedWeightsCache* streams) {
  const auto first = static_cast<size_t>(first_channel), count = static_cast<size_t>(traversal.ofm_depth);
  const bool fast = traversal.format == npu::WeightFormat::FWD;
  const auto streams_of_order = static_cast<size_t>(npu::stream_count(traversal));
  EncodedSlice slice;
  slice.cores.resize(fast ? 1 : streams_of_order);
  append_scales(slice, 0, scale_table(traversal, weights, first));  // one table for all decoders
  for (size_t stream = 1; stream < slice.cores.size(); ++stream) append_scales(slice, stream, {});
  if (weights.values.empty()) return slice;
  const size_t each = weights.values.size() / static_cast<size_t>(weights.out_channels);
  const auto sequence_of = [&](size_t stream) {
    return weights.values.visit([&](const auto& values) {
      return npu::reorder(traversal, static_cast<int>(stream), values.subspan(first * each, count * each));
    });
  };
  std::vector<npu::EncodedWeightsCache::Stream> encoded;
  if (fast) {
    std::vector<std::vector<int16_t>> sequences;
    for (size_t stream = 0; stream < streams_of_order; ++stream) sequences.push_back(sequence_of(stream));
    encoded.push_back(encoded_fast(traversal, sequences));
  } else {
    for (size_t stream = 0; stream < streams_of_order; ++stream)
      encoded.push_back(npu::encoded_by(streams, sequence_of(stream)));
  }
  set_weights(slice, encoded);
  return slice;
}

}  // namespace carina::plan
