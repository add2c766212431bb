#include "npu/weights/weight_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace carina::npu {
namespace {

std::vector<int16_t> drawn(size_t count, uint32_t seed, const std::function<double(std::mt19937&)>& draw) {
  std::mt19937 random(seed);
  std::vector<int16_t> weights(count);
  for (int16_t& w : weights)
    w = static_cast<int16_t>(std::clamp(std::lround(draw(random)), long{kMinWeight}, long{kMaxWeight}));
  return weights;
}

std::vector<std::vector<int16_t>> samples() {
  std::vector<std::vector<int16_t>> all{
      {0}, {5}, {-255, 255}, std::vector<int16_t>(100'000, 0), std::vector<int16_t>(70'000, -3)};
  for (const size_t count : {1u, 2u, 11u, 12u, 13u, 33u, 511u, 513u, 5000u, 70'001u}) {
    const auto seed = static_cast<uint32_t>(count);
    for (const double width : {0.3, 2.0, 20.0, 90.0}) {
      all.push_back(drawn(count, seed, [&](std::mt19937& r) { return std::normal_distribution<double>(0, width)(r); }));
    }
    all.push_back(drawn(count, seed,
                        [](std::mt19937& r) { return std::uniform_int_distribution<int>(kMinWeight, kMaxWeight)(r); }));
    all.push_back(drawn(
        count, seed, [](std::mt19937& r) { return r() % 10 != 0 ? 0 : std::normal_distribution<double>(0, 30)(r); }));
    all.push_back(drawn(count, seed, [](std::mt19937& r) { return r() % 1000 != 0 ? 0 : 1; }));
    all.push_back(drawn(count, seed, [](std::mt19937& r) { return static_cast<int>(r() % 16) * 13 - 100; }));
    all.push_back(drawn(count, seed, [](std::mt19937& r) { return static_cast<int>(r() % 3) * 200 - 200; }));
  }
  // Weights whose statistics change along the stream, so that the encoder makes several sections and slices.
  std::vector<int16_t> changing;
  for (uint32_t i = 0; i < 12; ++i) {
    const auto part = drawn(9000, i, [&](std::mt19937& r) {
      return r() % (i + 1) != 0 ? 0 : std::normal_distribution<double>(0, 1 + 7 * i)(r);
    });
    changing.insert(changing.end(), part.begin(), part.end());
  }
  all.push_back(changing);
  return all;
}

TEST(Swd, decoding_inverts_encoding) {
  for (const auto& weights : samples()) {
    const std::vector<std::byte> stream = encode_swd(weights);
    EXPECT_EQ(stream.size() % 16, 0u);
    const auto back = decode_swd(stream, weights.size(), "test");
    ASSERT_TRUE(back) << to_string(back.error());
    ASSERT_EQ(*back, weights) << weights.size() << " weights";
  }
}

TEST(Swd, no_weights_give_an_empty_stream) {
  const auto back = decode_swd(encode_swd({}), 0, "test");
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_TRUE(back->empty());
}

TEST(Swd, size_stays_near_nine_bits_per_weight) {
  const auto weights =
      drawn(100'000, 1, [](std::mt19937& r) { return std::uniform_int_distribution<int>(kMinWeight, kMaxWeight)(r); });
  EXPECT_LE(encode_swd(weights).size(), weights.size() * 9 / 8 + 64);
}

TEST(Swd, sparse_and_clustered_weights_compress) {
  const auto clustered = drawn(100'000, 1, [](std::mt19937& r) { return static_cast<int>(r() % 16) * 13 - 100; });
  EXPECT_LE(encode_swd(clustered).size(), clustered.size() / 2 + 64);
  EXPECT_LE(encode_swd(std::vector<int16_t>(100'000, 0)).size(), 1600u);
}

TEST(Swd, more_weights_than_allowed_are_an_error) {
  const std::vector<int16_t> weights(1000, 0);
  EXPECT_FALSE(decode_swd(encode_swd(weights), 999, "test"));
}

TEST(Swd, truncations_and_flips_are_handled) {
  const auto weights =
      drawn(3000, 7, [](std::mt19937& r) { return r() % 3 == 0 ? 0 : std::normal_distribution<double>(0, 20)(r); });
  const std::vector<std::byte> stream = encode_swd(weights);
  for (size_t size = 0; size + 16 < stream.size(); ++size)
    EXPECT_FALSE(decode_swd(std::span(stream).first(size), weights.size(), "test"));
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::byte> damaged = stream;
    for (uint32_t flips = 1 + random() % 4; flips > 0; --flips)
      damaged[random() % damaged.size()] ^= static_cast<std::byte>(1u << random() % 8);
    const auto result = decode_swd(damaged, weights.size(), "test");
    EXPECT_TRUE(!result || result->size() <= weights.size());
  }
}

TEST(Fwd, decoding_inverts_encoding) {
  const auto in_range = [](const std::vector<int16_t>& w) { return std::ranges::max(w) - std::ranges::min(w) <= 255; };
  int packed = 0;
  for (const auto& weights : samples()) {
    for (const FwdPacking packing : {FwdPacking::kAny, FwdPacking::kRawOnly}) {
      const std::vector<std::byte> stream = encode_fwd(weights, packing);
      if (stream.empty()) {
        EXPECT_FALSE(in_range(weights) && packing == FwdPacking::kRawOnly && std::ranges::min(weights) >= -255);
        continue;
      }
      ++packed;
      EXPECT_EQ(stream.size() % 32, 0u);
      const auto back = decode_fwd(stream, weights.size(), "test");
      ASSERT_TRUE(back) << to_string(back.error());
      ASSERT_EQ(*back, weights);
    }
  }
  EXPECT_GT(packed, 50);
}

TEST(Fwd, few_distinct_values_take_2_or_4_bits) {
  const auto four = drawn(1024, 1, [](std::mt19937& r) { return static_cast<int>(r() % 4) * 80 - 100; });
  EXPECT_EQ(encode_fwd(four, FwdPacking::kAny).size(), 32u + 256u);
  const auto sixteen = drawn(1024, 1, [](std::mt19937& r) { return static_cast<int>(r() % 16) * 30 - 230; });
  EXPECT_EQ(encode_fwd(sixteen, FwdPacking::kAny).size(), 32u + 512u);
  EXPECT_TRUE(encode_fwd(sixteen, FwdPacking::kRawOnly).empty());  // a range of 450 values
}

TEST(Fwd, truncated_streams_are_errors) {
  const std::vector<std::byte> stream = encode_fwd(std::vector<int16_t>(100, 1), FwdPacking::kRawOnly);
  EXPECT_FALSE(decode_fwd(stream, stream.size() - 31, "test"));
  EXPECT_FALSE(decode_fwd(stream, SIZE_MAX, "test"));
  EXPECT_FALSE(decode_fwd(std::span(stream).first(31), 0, "test"));
}

}  // namespace
}  // namespace carina::npu
