#include "simulate/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/content_hash.h"
#include "npu/weight_codec.h"
#include "npu/weight_order.h"
#include "simulate/kernels.h"
#include "simulate/scaling.h"

namespace carina::simulate {

namespace {

constexpr size_t kMaxHeldBytes = size_t{1} << 30;    // then the cache starts anew
constexpr uint64_t kMaxWeights = uint64_t{1} << 30;  // of one operation
constexpr size_t kEndPadding = 32768;                // the encoder may pad the end of the last slice
constexpr size_t kHashedBytes = 512;  // of each end of a stream: the comparison of all bytes follows anyway

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

// The sequences of all streams.
Result<std::vector<std::vector<int16_t>>> decode_sequences(const Operation& op, const npu::WeightTraversal& traversal,
                                                           const WeightStreams& streams, uint64_t max_values) {
  const int count = npu::stream_count(traversal);
  uint64_t total = 0;
  for (int s = 0; s < count; ++s) total += static_cast<uint64_t>(npu::sequence_length(traversal, s));
  if (total > max_values) {
    return fail(Diagnostic{.where = {},
                           .what = "the operation has more weights than the simulator's limit of work",
                           .expected = fmt::format("at most {}", max_values),
                           .got = fmt::format("{}", total)});
  }
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
    const uint64_t values = std::reduce(counts_.begin(), counts_.end());
    const uint64_t zeros = counts_[static_cast<size_t>(-npu::kMinWeight)];
    return {.values = values,
            .zero_rate = values == 0 ? 0 : static_cast<double>(zeros) / static_cast<double>(values),
            .distinct_values = static_cast<size_t>(std::ranges::count_if(counts_, [](uint64_t n) { return n != 0; }))};
  }

 private:
  std::array<uint64_t, 512> counts_{};  // a weight has 9 bits
};

size_t pairs_per_group(const DecodedWeights& weights) {
  return static_cast<size_t>(weights.height) * static_cast<size_t>(weights.width) *
         ((static_cast<size_t>(weights.depth) + 1) / 2);
}

// The sequences of all streams, put where the kernels read them.
Result<void> place_sequences(const Operation& op, const npu::WeightTraversal& traversal,
                             std::span<const std::vector<int16_t>> sequences, DecodedWeights& weights) {
  static_assert(npu::kPairedChannels == kChannelGroup);
  const bool depthwise = op.kind == OperationKind::kDepthwise;
  const size_t channels = static_cast<size_t>(weights.channels);
  std::vector<int16_t> values(depthwise ? channels * static_cast<size_t>(weights.height * weights.width) : 0);
  std::vector<int64_t> magnitudes(channels, 0);
  std::vector<int16_t>& pairs = weights.packed.pairs;
  if (!depthwise) pairs.resize(static_cast<size_t>(npu::paired_size(traversal)));
  for (int s = 0; s < npu::stream_count(traversal); ++s) {
    const auto& sequence = sequences[static_cast<size_t>(s)];
    const bool enough = depthwise ? npu::restore(traversal, s, sequence, values)
                                  : npu::restore_pairs(traversal, s, sequence, pairs, magnitudes);
    if (!enough) return too_few(s, static_cast<uint64_t>(npu::sequence_length(traversal, s)), sequence.size());
  }
  if (depthwise) {
    pack_weights(weights, op.kind, values);
    return {};
  }
  weights.max_sum_abs = magnitudes.empty() ? 0 : std::ranges::max(magnitudes);
  weights.packed.pairs_per_group = pairs_per_group(weights);
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
  CARINA_TRY(const auto sequences, decode_sequences(op, traversal, streams, max_values));
  DecodedWeights weights{.channels = traversal.ofm_depth,
                         .height = traversal.kernel_height,
                         .width = traversal.kernel_width,
                         .depth = traversal.ifm_depth};
  if (static_cast<int>(sequences.size()) < npu::stream_count(traversal)) {
    return fail(Diagnostic{.where = {}, .what = "the weight stream holds fewer weights than the operation needs"});
  }
  CARINA_CHECKED(place_sequences(op, traversal, sequences, weights));
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

Result<WeightStatistics> StatisticsCache::get(const Operation& op, const npu::AcceleratorConfig& accelerator,
                                              const WeightStreams& streams) {
  std::array<size_t, 4> bytes{};
  std::ranges::transform(streams, bytes.begin(), [](const auto& stream) { return stream.size(); });
  const Key key(parameters_of(op, accelerator), bytes, sha256(streams));
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = entries_.find(key); known != entries_.end()) return known->second;
  }
  CARINA_TRY(const WeightStatistics statistics, weight_statistics(op, accelerator, streams));
  const std::scoped_lock lock(mutex_);
  return entries_.emplace(key, statistics).first->second;
}

int16_t DecodedWeights::at(int32_t o, int32_t ky, int32_t kx, int32_t i) const {
  const auto channel = static_cast<size_t>(o), input = static_cast<size_t>(i);
  const auto tap = static_cast<size_t>(ky * width + kx);
  const size_t groups = (static_cast<size_t>(channels) + kChannelGroup - 1) / kChannelGroup;
  if (!packed.taps.empty()) return static_cast<int16_t>(packed.taps[tap * groups * kChannelGroup + channel]);
  const size_t depth_pairs = (static_cast<size_t>(depth) + 1) / 2;
  const size_t pair = channel / kChannelGroup * packed.pairs_per_group + tap * depth_pairs + input / 2;
  return packed.pairs[(pair * kChannelGroup + channel % kChannelGroup) * 2 + input % 2];
}

void pack_weights(DecodedWeights& weights, OperationKind kind, std::span<const int16_t> values) {
  const auto channels = static_cast<size_t>(weights.channels);
  const size_t per_channel = values.size() / std::max<size_t>(1, channels);
  for (size_t at = 0; at + per_channel <= values.size() && per_channel != 0; at += per_channel) {
    int64_t sum = 0;
    for (size_t i = 0; i < per_channel; ++i) sum += std::abs(values[at + i]);
    weights.max_sum_abs = std::max(weights.max_sum_abs, sum);
  }
  const size_t groups = (channels + kChannelGroup - 1) / kChannelGroup;
  if (kind == OperationKind::kDepthwise) {
    weights.packed.taps.assign(per_channel * groups * kChannelGroup, 0);
    for (size_t c = 0; c < channels; ++c) {
      for (size_t t = 0; t < per_channel; ++t)
        weights.packed.taps[t * groups * kChannelGroup + c] = static_cast<uint16_t>(values[c * per_channel + t]);
    }
    return;
  }
  const auto depth = static_cast<size_t>(weights.depth);
  const size_t taps = static_cast<size_t>(weights.height) * static_cast<size_t>(weights.width);
  const size_t depth_pairs = (depth + 1) / 2;
  weights.packed.pairs_per_group = pairs_per_group(weights);
  weights.packed.pairs.assign(groups * weights.packed.pairs_per_group * kChannelGroup * 2, 0);
  for (size_t c = 0; c < channels; ++c) {
    int16_t* to = weights.packed.pairs.data() +
                  (c / kChannelGroup * weights.packed.pairs_per_group * kChannelGroup + c % kChannelGroup) * 2;
    const int16_t* from = values.data() + c * per_channel;
    for (size_t t = 0; t < taps; ++t) {
      for (size_t i = 0; i < depth; ++i)
        to[(t * depth_pairs + i / 2) * kChannelGroup * 2 + i % 2] = from[t * depth + i];
    }
  }
}

Result<std::shared_ptr<const DecodedWeights>> WeightCache::get(const Operation& op,
                                                               const npu::AcceleratorConfig& accelerator,
                                                               const WeightStreams& streams, uint64_t max_values,
                                                               Counting counting) {
  const std::array<int64_t, 16> parameters = parameters_of(op, accelerator);
  uint64_t hash = content_hash(std::as_bytes(std::span(parameters)));
  size_t key_bytes = sizeof(parameters);
  for (const auto& stream : streams) {
    hash = content_hash(stream.first(std::min(stream.size(), kHashedBytes)), hash + stream.size());
    hash = content_hash(stream.last(std::min(stream.size(), kHashedBytes)), hash);
    key_bytes += stream.size();
  }
  const auto [first, last] = entries_.equal_range(hash);
  const auto equal_key = [&](const Entry& entry) {
    if (entry.key.size() != key_bytes || std::memcmp(entry.key.data(), parameters.data(), sizeof(parameters)) != 0)
      return false;
    size_t at = sizeof(parameters);
    for (const auto& stream : streams) {
      if (!stream.empty() && std::memcmp(entry.key.data() + at, stream.data(), stream.size()) != 0) return false;
      at += stream.size();
    }
    return true;
  };
  for (auto it = first; it != last; ++it) {
    if (equal_key(it->second)) return it->second.weights;
  }
  CARINA_TRY(DecodedWeights decoded, decode_weights(op, accelerator, streams, max_values, counting));
  if (held_bytes_ > kMaxHeldBytes) {
    entries_.clear();
    held_bytes_ = 0;
  }
  Entry entry;
  entry.key.reserve(key_bytes);
  const auto append = [&](std::span<const std::byte> bytes) {
    entry.key.insert(entry.key.end(), bytes.begin(), bytes.end());
  };
  append(std::as_bytes(std::span(parameters)));
  for (const auto& stream : streams) append(stream);
  entry.weights = std::make_shared<const DecodedWeights>(std::move(decoded));
  held_bytes_ += key_bytes + entry.weights->packed.bytes();
  return entries_.emplace(hash, std::move(entry))->second.weights;
}

}  // namespace carina::simulate
