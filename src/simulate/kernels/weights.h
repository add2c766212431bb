#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/hash/content_hash.h"
#include "base/hash/sha256.h"
#include "carina/result.h"
#include "facts/npu_targets.h"
#include "simulate/decode/operation.h"
#include "simulate/interface/options.h"
#include "simulate/vectors/line_vector.h"

// Decoded weights of operations, and their caches.
namespace carina::simulate {

// Decoded weights in the layout of the fast kernels (kernels_internal.h).
struct PackedWeights {
  // Convolution: one of the two. Quads are used if inputs and weights have 8 bits.
  LineVector<int16_t> pairs{};  // [groups][pairs of inputs][16 channels][2]
  LineVector<int8_t> quads{};   // [groups][quads of inputs][16 channels][4]
  size_t steps_per_group = 0;   // pairs or quads
  LineVector<int32_t> taps{};   // depthwise: [taps][channels padded to 16], the lower 16 bits
  LineVector<int32_t> sums{};   // quads, taps: sum of each channel's weights, padded to 16

  [[nodiscard]] size_t bytes() const {
    return pairs.size() * sizeof(int16_t) + quads.size() + (taps.size() + sums.size()) * sizeof(int32_t);
  }
};

// The values that the decoding time depends on, over all streams, padding included.
struct WeightStatistics {
  uint64_t values = 0;
  double zero_rate = 0;
  size_t distinct_values = 0;
};

// The weights of one operation. For depthwise, depth is 1 and o is the channel.
struct DecodedWeights {
  int32_t channels = 0;
  int32_t height = 0;
  int32_t width = 0;
  int32_t depth = 0;
  int64_t max_sum_abs = 0;  // over the channels: the largest sum of |weight|
  WeightStatistics statistics{};
  PackedWeights packed{};

  [[nodiscard]] int16_t at(int32_t o, int32_t ky, int32_t kx, int32_t i) const;
};

// Fills `packed` and `max_sum_abs` from weights in natural order: values[((o * height + ky) * width + kx) * depth + i].
void pack_weights(DecodedWeights& weights, const Operation& op, std::span<const int16_t> values);

// The number of input channels that an operation with sums over channels reads at a time.
int32_t ifm_block_depth(const Operation& op, const npu::AcceleratorConfig& accelerator);

using WeightStreams = std::array<std::span<const std::byte>, 4>;

// Whether to compute DecodedWeights::statistics. Only the time of an operation depends on them.
enum class Counting : uint8_t { kSkip, kCount };

// Decodes the streams of an operation. Errors: damaged streams; parameters that the accelerator does not have; more
// weights than `max_values`.
Result<DecodedWeights> decode_weights(const Operation& op, const npu::AcceleratorConfig& accelerator,
                                      const WeightStreams& streams, uint64_t max_values, Counting counting);

// Computes only the statistics. It takes as much work as decoding, but holds one stream in memory at a time.
Result<WeightStatistics> weight_statistics(const Operation& op, const npu::AcceleratorConfig& accelerator,
                                           const WeightStreams& streams);

// A cache of statistics by the content of streams. Stripes of one layer share their streams.
class StatisticsCache {
 public:
  // Streams in `known` are not decoded. Their bytes must outlive the cache.
  explicit StatisticsCache(std::span<const KnownStream> known);
  // As weight_statistics().
  Result<WeightStatistics> get(const Operation& op, const npu::AcceleratorConfig& accelerator,
                               const WeightStreams& streams);

 private:
  // The statistics of an operation if all of its streams are known.
  [[nodiscard]] std::optional<WeightStatistics> known(const WeightStreams& streams) const;

  // The parameters of the weight order, the size of each stream, and the digest of all streams.
  using Key = std::tuple<std::array<int64_t, 16>, std::array<size_t, 4>, Sha256Digest>;

  std::unordered_multimap<uint64_t, KnownStream> known_;
  std::map<Key, WeightStatistics> entries_;
};

// A cache of decoded weights by content: the streams' bytes and all parameters of their order. Decoding is the most
// expensive part of a first inference.
class WeightCache {
 public:
  // As decode_weights(). Later calls with equal content share the result if they have the same `counting`.
  Result<std::shared_ptr<const DecodedWeights>> get(const Operation& op, const npu::AcceleratorConfig& accelerator,
                                                    const WeightStreams& streams, uint64_t max_values,
                                                    Counting counting);

 private:
  // Equal digests and sizes are taken for equal bytes. A copy of each stream would double the memory.
  struct Key {
    std::array<int64_t, 16> parameters;
    std::array<size_t, 4> bytes;
    std::array<WideHash, 4> digest;

    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::shared_ptr<const DecodedWeights>> entries_;
  size_t held_bytes_ = 0;
};

}  // namespace carina::simulate
