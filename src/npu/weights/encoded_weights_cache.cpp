#include "npu/weights/encoded_weights_cache.h"

#include <array>

namespace carina::npu {

namespace {

constexpr size_t kMaxHeldBytes = size_t{256} << 20;  // above this size the cache is cleared

EncodedWeightsCache::Stream encode(std::span<const int16_t> weights) {
  return std::make_shared<const EncodedWeights>(encode_swd_counted(weights));
}

}  // namespace

std::shared_ptr<EncodedWeightsCache::Entry> EncodedWeightsCache::entry_of(const Sha256Digest& digest) {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<Entry>& entry = entries_[digest];
  if (!entry) entry = std::make_shared<Entry>();
  return entry;
}

void EncodedWeightsCache::count(size_t bytes) {
  const std::scoped_lock lock(mutex_);
  held_bytes_ += bytes;
  if (held_bytes_ <= kMaxHeldBytes) return;
  entries_.clear();
  held_bytes_ = 0;
}

// The key is a digest of the weights. Keys with the weights themselves would triple the memory of the cache.
EncodedWeightsCache::Stream EncodedWeightsCache::encoded(std::span<const int16_t> weights) {
  const std::shared_ptr<Entry> entry = entry_of(sha256(std::array{std::as_bytes(weights)}));
  std::call_once(entry->once, [&] {
    entry->stream = encode(weights);
    count(entry->stream->bytes.size());
  });
  return entry->stream;
}

EncodedWeightsCache::Stream encoded_by(EncodedWeightsCache* cache, std::span<const int16_t> weights) {
  return cache == nullptr ? encode(weights) : cache->encoded(weights);
}

}  // namespace carina::npu
