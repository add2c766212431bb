#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/hash/sha256.h"
#include "npu/weight_codec.h"

namespace carina::npu {

// Streams of weights by the content of what they encode, for networks that are compiled for several targets: most of
// their weights stand in the same order there. Safe for concurrent calls; what two threads ask for at once is encoded
// once. Results are those of encode_swd_counted().
class EncodedWeightsCache {
 public:
  using Stream = std::shared_ptr<const EncodedWeights>;

  Stream encoded(std::span<const int16_t> weights);

 private:
  struct Entry {
    std::once_flag once;
    Stream stream;
  };

  std::shared_ptr<Entry> entry_of(const Sha256Digest& digest);
  void count(size_t bytes);

  std::mutex mutex_;
  std::map<Sha256Digest, std::shared_ptr<Entry>> entries_;
  size_t held_bytes_ = 0;
};

// By the cache; encoded anew where there is none.
EncodedWeightsCache::Stream encoded_by(EncodedWeightsCache* cache, std::span<const int16_t> weights);

}  // namespace carina::npu
