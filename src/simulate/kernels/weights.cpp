#include "simulate/kernels/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "base/hash/content_hash.h"
#include "npu/weights/weight_codec.h"
#include "npu/weights/weight_order.h"
#include "simulate/kernels/scaling_internal.h"
#include "simulate/vectors/kernels.h"

namespace carina::simulate {

namespace {

constexpr size_t kMaxHeldBytes = size_t{1} << 30;    // then the cache starts anew
constexpr uint64_t kMaxWeights = uint64_t{1} << 30;  // of one operation
constexpr size_t kEndPadding = 32768;                // the encoder may pad the end of the last slice
constexpr size_t kPair = 2;                          // inputs of a step
constexpr size_t kQuad = 4;

npu::WeightTraversal traversal_of(const Operation& op, const npu::AcceleratorConfig& accelerator) {
  return {.accelerator = &accelerator,
          .kind = op.kind == OperationKind::kDepthwise ? npu::WeightKind::kDepthwise : npu::WeightKind::kConv,
          .order = op.traversal == Traversal::kPartKernel ? npu::WeightOrder::PART_KERNEL_FIRST
                                                          : npu::WeightOrder::DEPTH_FIRST,
          .ofm_depth = op.ofm_extent.depth,
          .ifm_depth = op.kind == OperationKind::kDepthwise ? 1 : op.ifm_depth,
          .kernel_height = op.kernel.height,
          .kernel_width = op.kernel.width,
          .dilation_y = op.kernel.dilation_y,
          .dilation_x = op.kernel.dilation_x,
          .ofm_block_depth = op.block.depth,
          .ifm_bits = 8 * op.ifm.type.bytes,
          .cores = op.cores,
          .stride_y = op.kernel.stride_y,
          .stride_x = op.kernel.stride_x,
          .microblock = static_cast<npu::Microblock>(op.microblock),
          .sparsity = op.sparse_weights ? npu::WeightSparsity::SPARSE_2_4 : npu::WeightSparsity::NONE};
}

std::string stream_name(int stream) {
  return fmt::format("weight stream {}", stream);
}

std::unexpected<Diagnostics> too_few(int stream, uint64_t expected, size_t got) {
  return fail(Diagnostic{.where = {},
                         .what = fmt::format("{} holds fewer weights than the operation needs", stream_name(stream)),
                         .expected = fmt::format("{}", expected),
                         .got = fmt::format("{}", got)});
}

Result<void> check_microblock(const Operation& op, const npu::AcceleratorConfig& accelerator,
                              const npu::WeightTraversal& traversal) {
  if (npu::ofm_ublock_depth(traversal) != 0) return {};
  return fail(Diagnostic{.where = {},
                         .what = "this NPU has no such microblock",
                         .expected = std::string(accelerator.name),
                         .got = fmt::format("ACC_FORMAT microblock {}", op.microblock)});
}

// What decides the order of weights in their streams.
std::array<int64_t, 16> parameters_of(const Operation& op, const npu::AcceleratorConfig& accelerator) {
  return {static_cast<int64_t>(op.kind),
          static_cast<int64_t>(op.traversal),
          op.ofm_extent.depth,
          op.ifm_depth,
          op.kernel.height,
          op.kernel.width,
          op.kernel.dilation_y * 2 + op.kernel.dilation_x,
          op.block.depth,
          op.ifm.type.bytes,
          op.cores,
          op.kernel.stride_y,
          op.kernel.stride_x,
          op.microblock,
          (op.fast_weights ? 2 : 0) + (op.sparse_weights ? 1 : 0),
          accelerator.config_word,
          op.weight_streams};
}

// Of all streams together.
Result<uint64_t> total_length(const npu::WeightTraversal& traversal, uint64_t max_values) {
  uint64_t total = 0;
  for (int s = 0; s < npu::stream_count(traversal); ++s)
    total += static_cast<uint64_t>(npu::sequence_length(traversal, s));
  if (total <= max_values) return total;
  return fail(Diagnostic{.where = {},
                         .what = "the operation has more weights than the simulator's limit of work",
                         .expected = fmt::format("at most {}", max_values),
                         .got = fmt::format("{}", total)});
}

// The sequences of all streams.
Result<std::vector<std::vector<int16_t>>> decode_sequences(const Operation& op, const npu::WeightTraversal& traversal,
                                                           const WeightStreams& streams, uint64_t max_values) {
  const int count = npu::stream_count(traversal);
  CARINA_TRY(const uint64_t total, total_length(traversal, max_values));
  if (op.fast_weights) {
    CARINA_TRY(const std::vector<int16_t> sequence,
               npu::decode_fwd(streams[0], static_cast<size_t>(total), "weight stream"));
    return npu::split_from_fast_decoder(traversal, sequence);
  }
  std::vector<std::vector<int16_t>> sequences;
  for (int s = 0; s < count; ++s) {
    const auto length = static_cast<size_t>(npu::sequence_length(traversal, s));
    if (length == 0) {
      sequences.emplace_back();
      continue;
    }
    CARINA_TRY(std::vector<int16_t> sequence,
               npu::decode_swd(streams[static_cast<size_t>(s)], length + kEndPadding, stream_name(s)));
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

WeightStatistics statistics_of(const npu::ValueCounts& counts) {
  return {.values = counts.values,
          .zero_rate = counts.values == 0 ? 0 : static_cast<double>(counts.zeros) / static_cast<double>(counts.values),
          .distinct_values = counts.present.count()};
}

// How often each value occurs.
class Histogram {
 public:
  // In two counts, since equal values in a row would wait for each other.
  void add(std::span<const int16_t> values) {
    const auto count = [](std::array<uint64_t, 512>& counts, int16_t value) {
      ++counts[static_cast<size_t>(value - npu::kMinWeight) & (counts.size() - 1)];
    };
    std::array<uint64_t, 512> others{};
    size_t i = 0;
    for (; i + 2 <= values.size(); i += 2) {
      count(counts_, values[i]);
      count(others, values[i + 1]);
    }
    for (; i < values.size(); ++i) count(counts_, values[i]);
    for (size_t v = 0; v < others.size(); ++v) counts_[v] += others[v];
  }
  [[nodiscard]] WeightStatistics statistics() const {
    npu::ValueCounts counts{.values = std::reduce(counts_.begin(), counts_.end()),
                            .zeros = counts_[static_cast<size_t>(-npu::kMinWeight)]};
    for (size_t v = 0; v < counts_.size(); ++v) counts.present.set(v, counts_[v] != 0);
    return statistics_of(counts);
  }

 private:
  std::array<uint64_t, 512> counts_{};  // a weight has 9 bits
};

// Of its length and its ends: the comparison of all bytes follows anyway.
uint64_t hash_of(std::span<const std::byte> stream) {
  constexpr size_t kHashedBytes = 512;
  const uint64_t hash = content_hash(stream.first(std::min(stream.size(), kHashedBytes)), stream.size());
  return content_hash(stream.last(std::min(stream.size(), kHashedBytes)), hash);
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.data() == b.data() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

// Steps of a group of channels that take `together` inputs each.
size_t steps_per_group(const DecodedWeights& weights, size_t together) {
  return static_cast<size_t>(weights.height) * static_cast<size_t>(weights.width) *
         ((static_cast<size_t>(weights.depth) + together - 1) / together);
}

bool takes_quads(const Operation& op) {
  return op.kind != OperationKind::kDepthwise && op.ifm.type.bytes == 1;
}

// The sums of quads, and from them the bound of magnitudes.
void sum_channels(DecodedWeights& weights) {
  PackedWeights& packed = weights.packed;
  constexpr size_t kTogether = 1 << 16;  // quads whose magnitudes fit 32 bits
  const size_t groups = (static_cast<size_t>(weights.channels) + kChannelGroup - 1) / kChannelGroup;
  packed.sums.assign(groups * kChannelGroup, 0);
  for (size_t g = 0; g < groups; ++g) {
    std::array<int64_t, kChannelGroup> magnitudes{};
    for (size_t at = 0; at < packed.steps_per_group; at += kTogether) {
      std::array<int32_t, kChannelGroup> sums{}, part{};
      sum_quads(packed.quads.data() + (g * packed.steps_per_group + at) * kChannelGroup * kQuad,
                std::min(kTogether, packed.steps_per_group - at), sums.data(), part.data());
      for (size_t c = 0; c < kChannelGroup; ++c) {
        const auto sum = static_cast<uint32_t>(packed.sums[g * kChannelGroup + c]) + static_cast<uint32_t>(sums[c]);
        packed.sums[g * kChannelGroup + c] = static_cast<int32_t>(sum);
        magnitudes[c] += part[c];
      }
    }
    weights.max_sum_abs = std::max(weights.max_sum_abs, std::ranges::max(magnitudes));
  }
}

// Decodes weights of 8 bits directly into the layout of the kernels. Nothing when some are wider.
Result<std::optional<DecodedWeights>> decode_quads(const Operation& op, const npu::WeightTraversal& traversal,
                                                   const WeightStreams& streams, DecodedWeights weights,
                                                   Counting counting, uint64_t max_values) {
  Histogram histogram;
  PackedWeights& packed = weights.packed;
  packed.quads.resize(static_cast<size_t>(npu::quad_size(traversal)));
  packed.steps_per_group = steps_per_group(weights, kQuad);
  CARINA_CHECKED(total_length(traversal, max_values));
  std::vector<std::vector<int16_t>> sequences;  // of the fast format, whose decoder reads all streams at once
  if (op.fast_weights) {
    CARINA_TRY(sequences, decode_sequences(op, traversal, streams, max_values));
    if (static_cast<int>(sequences.size()) < npu::stream_count(traversal)) return too_few(0, 1, 0);
  }
  for (int s = 0; s < npu::stream_count(traversal); ++s) {
    const auto length = static_cast<size_t>(npu::sequence_length(traversal, s));
    if (length == 0) continue;
    std::optional<npu::SwdReader> reader;
    std::span<const int16_t> sequence;
    if (op.fast_weights) {
      sequence = sequences[static_cast<size_t>(s)];
    } else {
      reader.emplace(streams[static_cast<size_t>(s)], length + kEndPadding, stream_name(s));
    }
    size_t found = 0;
    const auto next = [&]() -> Result<std::span<const int16_t>> {
      std::span<const int16_t> part = std::exchange(sequence, {});
      if (reader) {
        CARINA_TRY(part, reader->next());
      }
      found += part.size();
      if (counting == Counting::kCount) histogram.add(part);
      return part;
    };
    CARINA_TRY(const npu::Restored restored, npu::restore_quads(traversal, s, next, packed.quads));
    if (restored == npu::Restored::kTooFew) return too_few(s, length, found);
    if (restored == npu::Restored::kTooWide) return std::nullopt;
  }
  sum_channels(weights);
  if (counting == Counting::kCount) weights.statistics = histogram.statistics();
  return weights;
}

// The sequences of all streams, put where the kernels read them.
Result<void> unpack_sequences(const Operation& op, const npu::WeightTraversal& traversal,
                              std::span<const std::vector<int16_t>> sequences, DecodedWeights& weights) {
  static_assert(npu::kPairedChannels == kChannelGroup);
  const bool depthwise = op.kind == OperationKind::kDepthwise;
  const size_t channels = static_cast<size_t>(weights.channels);
  std::vector<int16_t> values(depthwise ? channels * static_cast<size_t>(weights.height * weights.width) : 0);
  std::vector<int64_t> magnitudes(channels, 0);
  LineVector<int16_t>& pairs = weights.packed.pairs;
  if (!depthwise) pairs.resize(static_cast<size_t>(npu::paired_size(traversal)));
  for (int s = 0; s < npu::stream_count(traversal); ++s) {
    const auto& sequence = sequences[static_cast<size_t>(s)];
    const bool enough = depthwise ? npu::restore(traversal, s, sequence, values)
                                  : npu::restore_pairs(traversal, s, sequence, pairs, magnitudes);
    if (!enough) return too_few(s, static_cast<uint64_t>(npu::sequence_length(traversal, s)), sequence.size());
  }
  if (depthwise) {
    pack_weights(weights, op, values);
    return {};
  }
  weights.max_sum_abs = magnitudes.empty() ? 0 : std::ranges::max(magnitudes);
  weights.packed.steps_per_group = steps_per_group(weights, kPair);
  return {};
}

}  // namespace

int32_t ifm_block_depth(const Operation& op, const npu::AcceleratorConfig& accelerator) {
  return npu::ifm_block_depth(traversal_of(op, accelerator));
}

Result<DecodedWeights> decode_weights(const Operation& op, const npu::AcceleratorConfig& accelerator,
                                      const WeightStreams& streams, uint64_t max_values, Counting counting) {
  const npu::WeightTraversal traversal = traversal_of(op, accelerator);
  CARINA_CHECKED(check_microblock(op, accelerator, traversal));
  const auto values =
      Wide{traversal.ofm_depth} * traversal.kernel_height * traversal.kernel_width * traversal.ifm_depth;
  if (values > static_cast<Wide>(max_values)) {
    return fail(Diagnostic{.where = {},
                           .what = "the operation has more weights than the simulator's limit of work",
                           .expected = fmt::format("at most {}", max_values),
                           .got = "more"});
  }
  DecodedWeights weights{.channels = traversal.ofm_depth,
                         .height = traversal.kernel_height,
                         .width = traversal.kernel_width,
                         .depth = traversal.ifm_depth};
  if (takes_quads(op)) {
    CARINA_TRY(auto narrow, decode_quads(op, traversal, streams, weights, counting, max_values));
    if (narrow) return *std::move(narrow);
  }
  CARINA_TRY(const auto sequences, decode_sequences(op, traversal, streams, max_values));
  if (static_cast<int>(sequences.size()) < npu::stream_count(traversal)) {
    return fail(Diagnostic{.where = {}, .what = "the weight stream holds fewer weights than the operation needs"});
  }
  CARINA_CHECKED(unpack_sequences(op, traversal, sequences, weights));
  if (counting == Counting::kSkip) return weights;
  Histogram histogram;
  for (const auto& sequence : sequences) histogram.add(sequence);
  weights.statistics = histogram.statistics();
  return weights;
}

Result<WeightStatistics> weight_statistics(const Operation& op, const npu::AcceleratorConfig& accelerator,
                                           const WeightStreams& streams) {
  const npu::WeightTraversal traversal = traversal_of(op, accelerator);
  CARINA_CHECKED(check_microblock(op, accelerator, traversal));
  Histogram histogram;
  if (op.fast_weights) {
    CARINA_TRY(const auto sequences, decode_sequences(op, traversal, streams, kMaxWeights));
    for (const auto& sequence : sequences) histogram.add(sequence);
    return histogram.statistics();
  }
  for (int s = 0; s < npu::stream_count(traversal); ++s) {
    const auto length = static_cast<uint64_t>(npu::sequence_length(traversal, s));
    if (length == 0) continue;
    const std::string where = stream_name(s);
    CARINA_TRY(const size_t found,
               npu::scan_swd(streams[static_cast<size_t>(s)], static_cast<size_t>(length) + kEndPadding, where,
                             [&](std::span<const int16_t> values) { histogram.add(values); }));
    if (found < length) return too_few(s, length, found);
  }
  return histogram.statistics();
}

StatisticsCache::StatisticsCache(std::span<const KnownStream> known) {
  for (const KnownStream& stream : known) known_.emplace(hash_of(stream.bytes), stream);
}

std::optional<WeightStatistics> StatisticsCache::known(const WeightStreams& streams) const {
  if (known_.empty()) return std::nullopt;
  npu::ValueCounts all;
  for (const auto& stream : streams) {
    if (stream.empty()) continue;
    const auto [first, last] = known_.equal_range(hash_of(stream));
    const auto found =
        std::find_if(first, last, [&](const auto& entry) { return same_bytes(entry.second.bytes, stream); });
    if (found == last) return std::nullopt;
    all += found->second.values;
  }
  return statistics_of(all);
}

Result<WeightStatistics> StatisticsCache::get(const Operation& op, const npu::AcceleratorConfig& accelerator,
                                              const WeightStreams& streams) {
  if (const auto statistics = known(streams)) return *statistics;
  std::array<size_t, 4> bytes{};
  std::ranges::transform(streams, bytes.begin(), [](const auto& stream) { return stream.size(); });
  const Key key(parameters_of(op, accelerator), bytes, sha256(streams));
  if (const auto entry = entries_.find(key); entry != entries_.end()) return entry->second;
  CARINA_TRY(const WeightStatistics statistics, weight_statistics(op, accelerator, streams));
  return entries_.emplace(key, statistics).first->second;
}

int16_t DecodedWeights::at(int32_t o, int32_t ky, int32_t kx, int32_t i) const {
  const auto channel = static_cast<size_t>(o), input = static_cast<size_t>(i);
  const auto tap = static_cast<size_t>(ky * width + kx);
  const size_t groups = (static_cast<size_t>(channels) + kChannelGroup - 1) / kChannelGroup;
  if (!packed.taps.empty()) return static_cast<int16_t>(packed.taps[tap * groups * kChannelGroup + channel]);
  const size_t together = packed.quads.empty() ? kPair : kQuad;
  const size_t tap_steps = (static_cast<size_t>(depth) + together - 1) / together;
  const size_t step = channel / kChannelGroup * packed.steps_per_group + tap * tap_steps + input / together;
  const size_t index = (step * kChannelGroup + channel % kChannelGroup) * together + input % together;
  return packed.quads.empty() ? packed.pairs[index] : int16_t{packed.quads[index]};
}

namespace {

void pack_taps(DecodedWeights& weights, std::span<const int16_t> values, size_t per_channel) {
  const auto channels = static_cast<size_t>(weights.channels);
  const size_t padded = (channels + kChannelGroup - 1) / kChannelGroup * kChannelGroup;
  weights.packed.taps.assign(per_channel * padded, 0);
  weights.packed.sums.assign(padded, 0);
  for (size_t c = 0; c < channels; ++c) {
    for (size_t t = 0; t < per_channel; ++t) {
      const int16_t value = values[c * per_channel + t];
      weights.packed.taps[t * padded + c] = static_cast<uint16_t>(value);
      weights.packed.sums[c] += value;
    }
  }
}

// To [groups][steps][16 channels][kTogether].
template <size_t kTogether, typename T>
void pack_steps(DecodedWeights& weights, std::span<const int16_t> values, size_t per_channel, LineVector<T>& packed) {
  const auto channels = static_cast<size_t>(weights.channels), depth = static_cast<size_t>(weights.depth);
  const size_t groups = (channels + kChannelGroup - 1) / kChannelGroup;
  const size_t taps = static_cast<size_t>(weights.height) * static_cast<size_t>(weights.width);
  const size_t tap_steps = (depth + kTogether - 1) / kTogether;
  const size_t steps = weights.packed.steps_per_group = steps_per_group(weights, kTogether);
  packed.assign(groups * steps * kChannelGroup * kTogether, 0);
  for (size_t c = 0; c < channels; ++c) {
    T* to = packed.data() + (c / kChannelGroup * steps * kChannelGroup + c % kChannelGroup) * kTogether;
    const int16_t* from = values.data() + c * per_channel;
    for (size_t t = 0; t < taps; ++t) {
      for (size_t i = 0; i < depth; ++i) {
        to[(t * tap_steps + i / kTogether) * kChannelGroup * kTogether + i % kTogether] =
            static_cast<T>(from[t * depth + i]);
      }
    }
  }
}

}  // namespace

void pack_weights(DecodedWeights& weights, const Operation& op, std::span<const int16_t> values) {
  const size_t per_channel = values.size() / std::max<size_t>(1, static_cast<size_t>(weights.channels));
  for (size_t at = 0; at + per_channel <= values.size() && per_channel != 0; at += per_channel) {
    int64_t sum = 0;
    for (size_t i = 0; i < per_channel; ++i) sum += std::abs(values[at + i]);
    weights.max_sum_abs = std::max(weights.max_sum_abs, sum);
  }
  if (op.kind == OperationKind::kDepthwise) return pack_taps(weights, values, per_channel);
  const bool narrow =
      takes_quads(op) && std::ranges::all_of(values, [](int16_t value) { return value == static_cast<int8_t>(value); });
  if (!narrow) return pack_steps<kPair>(weights, values, per_channel, weights.packed.pairs);
  pack_steps<kQuad>(weights, values, per_channel, weights.packed.quads);
  sum_channels(weights);
}

Result<std::shared_ptr<const DecodedWeights>> WeightCache::get(const Operation& op,
                                                               const npu::AcceleratorConfig& accelerator,
                                                               const WeightStreams& streams, uint64_t max_values,
                                                               Counting counting) {
  Key key{.parameters = parameters_of(op, accelerator), .bytes = {}, .digest = {}};
  for (size_t i = 0; i < streams.size(); ++i) {
    key.bytes[i] = streams[i].size();
    key.digest[i] = wide_content_hash(streams[i]);
  }
  if (const auto known = entries_.find(key); known != entries_.end()) return known->second;
  CARINA_TRY(DecodedWeights decoded, decode_weights(op, accelerator, streams, max_values, counting));
  if (held_bytes_ > kMaxHeldBytes) {
    entries_.clear();
    held_bytes_ = 0;
  }
  held_bytes_ += decoded.packed.bytes();
  return entries_.emplace(key, std::make_shared<const DecodedWeights>(std::move(decoded))).first->second;
}

}  // namespace carina::simulate
