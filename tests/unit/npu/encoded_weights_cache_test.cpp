#include "npu/weights/encoded_weights_cache.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "npu/weights/weight_codec.h"

namespace carina::npu {
namespace {

std::vector<int16_t> weights_of(int seed) {
  std::vector<int16_t> weights(5000);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<int16_t>(static_cast<int>(i) * seed % 97 - 48);
  return weights;
}

TEST(EncodedWeightsCache, cached_result_equals_uncached) {
  EncodedWeightsCache cache;
  for (const int seed : {1, 3, 1, 5, 3}) {
    EXPECT_EQ(cache.encoded(weights_of(seed))->bytes, encode_swd(weights_of(seed)));
    EXPECT_EQ(encoded_by(nullptr, weights_of(seed))->bytes, encode_swd(weights_of(seed)));
  }
}

TEST(EncodedWeightsCache, equal_weights_are_encoded_once) {
  EncodedWeightsCache cache;
  EXPECT_EQ(cache.encoded(weights_of(3)), cache.encoded(weights_of(3)));
  EXPECT_NE(cache.encoded(weights_of(3)), cache.encoded(weights_of(5)));
}

TEST(EncodedWeightsCache, concurrent_requests_encode_once) {
  EncodedWeightsCache cache;
  std::vector<EncodedWeightsCache::Stream> found(4);
  {
    std::vector<std::jthread> threads;
    for (EncodedWeightsCache::Stream& stream : found)
      threads.emplace_back([&] { stream = cache.encoded(weights_of(7)); });
  }
  for (const EncodedWeightsCache::Stream& stream : found) EXPECT_EQ(stream, found.front());
}

}  // namespace
}  // namespace carina::npu
