#include "npu/weights/scales.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace carina::npu {
namespace {

constexpr ScaleForm kForms[] = {ScaleForm::kBias40Scale32, ScaleForm::kBias32Scale31, ScaleForm::kBias48Scale15};
constexpr int kBiasBits[] = {40, 32, 48};
constexpr int kScaleBits[] = {32, 31, 15};

TEST(Scales, each_format_covers_its_whole_range) {
  std::mt19937_64 random(1);
  for (size_t f = 0; f < std::size(kForms); ++f) {
    std::vector<ChannelScale> scales;
    const int64_t limit = int64_t{1} << (kBiasBits[f] - 1);
    const auto max_scale = static_cast<uint32_t>((uint64_t{1} << kScaleBits[f]) - 1);
    for (const int64_t bias : {-limit, limit - 1, int64_t{0}, int64_t{-1}}) {
      for (const uint32_t scale : {0u, 1u, max_scale})
        scales.push_back({.bias = bias, .scale = scale, .shift = static_cast<uint8_t>(random() & 63)});
    }
    for (int i = 0; i < 1000; ++i) {
      scales.push_back({.bias = static_cast<int64_t>(random()) >> (64 - kBiasBits[f]),
                        .scale = static_cast<uint32_t>(random()) & max_scale,
                        .shift = static_cast<uint8_t>(random() & 63)});
    }
    const std::vector<std::byte> table = encode_scales(scales, kForms[f], 1);
    EXPECT_EQ(table.size() % 16, 0u);
    const auto back = decode_scales(table, scales.size(), kForms[f], "test");
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, scales);
    EXPECT_FALSE(fits({.bias = limit, .scale = 1, .shift = 0}, kForms[f]));
    EXPECT_FALSE(fits({.bias = 0, .scale = 1, .shift = 64}, kForms[f]));
    EXPECT_EQ(fits({.bias = 0, .scale = max_scale + (kScaleBits[f] < 32 ? 1 : 0), .shift = 0}, kForms[f]),
              kScaleBits[f] == 32);
  }
}

TEST(Scales, bytes_match_hardware_layout) {
  const auto entry = encode_scale({.bias = -2, .scale = 0x12345678, .shift = 0x21}, ScaleForm::kBias40Scale32);
  const std::array<uint8_t, 10> expected{0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0x78, 0x56, 0x34, 0x12, 0x21};
  EXPECT_EQ(std::memcmp(entry.data(), expected.data(), 10), 0);
}

TEST(Scales, u85_tables_are_padded_to_whole_ublocks) {
  EXPECT_EQ(encode_scales(std::vector<ChannelScale>(12), ScaleForm::kBias32Scale31, 16).size(), 160u);
  EXPECT_EQ(encode_scales(std::vector<ChannelScale>(12), ScaleForm::kBias40Scale32, 1).size(), 128u);
}

TEST(Scales, too_short_table_is_an_error) {
  const std::vector<std::byte> table(32);
  EXPECT_TRUE(decode_scales(table, 3, ScaleForm::kBias40Scale32, "test"));
  EXPECT_FALSE(decode_scales(table, 4, ScaleForm::kBias40Scale32, "test"));
  EXPECT_FALSE(decode_scales(table, SIZE_MAX, ScaleForm::kBias40Scale32, "test"));
}

}  // namespace
}  // namespace carina::npu
