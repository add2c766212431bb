#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/hash/sha256.h"
#include "npu/weights/weight_codec.h"

namespace carina::npu {

// A cache of encoded weight streams, by the content of the weights. A network that is compiled for several targets has
// most of its weights in the same order on each. The cache is safe for concurrent calls; weights that two threads
// request at the same time are encoded once. Results are those of encode_swd_counted().
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

// Encodes weights with the cache, or without one if it is nullptr.
EncodedWeightsCache::Stream encoded_by(EncodedWeightsCache* cache, std::span<const int16_t> weights);

}  // namespace carina::npu
