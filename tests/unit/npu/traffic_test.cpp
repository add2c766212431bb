#include "npu/cost/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "facts/npu_accuracy.h"

namespace carina::npu {
namespace {

// Counts the elements that the blocks read, one by one.
int64_t counted_reads(const WindowAxis& a) {
  int64_t total = 0;
  for (int64_t first = 0; first < a.ofm; first += a.block) {
    const int64_t last = std::min(first + a.block, a.ofm) - 1;
    for (int64_t tap = 0; tap < a.taps; tap += a.sub_kernel) {
      const int64_t last_tap = std::min(tap + a.sub_kernel, a.taps) - 1;
      const int64_t begin = first * a.stride - a.padding + tap * a.dilation;
      const int64_t end = last * a.stride - a.padding + last_tap * a.dilation;
      for (int64_t element = 0; element < a.ifm; ++element)
        total += element * a.upscale + a.upscale - 1 >= begin && element * a.upscale <= end;
    }
  }
  return total;
}

TEST(WindowReads, example_matches) {
  EXPECT_EQ(window_reads({.ofm = 5, .block = 2, .taps = 3, .padding = 1, .ifm = 5}), 9);
}

TEST(WindowReads, each_block_is_clipped_to_ifm) {
  for (const int64_t ofm : {1, 2, 7, 16, 33}) {
    for (const int64_t block : {1, 2, 4, 5, 16, 64}) {
      for (const int64_t taps : {1, 2, 3, 5, 9, 20}) {
        for (const int64_t stride : {1, 2, 3}) {
          for (const int64_t padding : {0, 1, 4}) {
            for (const int64_t upscale : {1, 2}) {
              const int64_t window = (ofm - 1) * stride + taps;
              const int64_t ifm = std::max<int64_t>(1, (window - 2 * padding + upscale - 1) / upscale);
              const WindowAxis axis{.ofm = ofm,
                                    .block = block,
                                    .taps = taps,
                                    .stride = stride,
                                    .padding = padding,
                                    .ifm = ifm,
                                    .upscale = upscale};
              ASSERT_EQ(window_reads(axis), counted_reads(axis))
                  << ofm << " by " << block << ", " << taps << " taps, stride " << stride << ", padding " << padding
                  << ", upscale " << upscale;
            }
          }
        }
      }
    }
  }
}

TEST(DepthReads, only_ifm_deeper_than_block_is_read_again) {
  EXPECT_EQ(depth_reads({.ifm_depth = 32, .ifm_block_depth = 32, .ofm_blocks = 4}), 1);
  EXPECT_EQ(depth_reads({.ifm_depth = 33, .ifm_block_depth = 32, .ofm_blocks = 4}), 4);
}

// Counts the beats of a pixel at each address, run by run.
int64_t counted_bytes(const WrittenMap& map) {
  int64_t beats = 0;
  for (int64_t y = 0; y < map.height; ++y) {
    for (int64_t x = 0; x < map.width; ++x) {
      for (int64_t c = 0; c < map.depth; c += 16) {
        const int64_t begin = map.address + y * map.stride_y + x * map.stride_x + c * map.element_bytes;
        const int64_t end = begin + std::min<int64_t>(16, map.depth - c) * map.element_bytes;
        beats += (end - 1) / map.beat_bytes - begin / map.beat_bytes + 1;
      }
    }
  }
  return beats * map.beat_bytes;
}

TEST(WrittenBytes, nhwc_writes_whole_beats_of_16_channel_runs) {
  for (const int64_t depth : {1, 3, 8, 15, 16, 20, 255}) {
    for (const int64_t beat : {8, 16}) {
      for (const int64_t bytes : {1, 2, 4}) {
        for (const int64_t address : {0, 4, 12}) {
          const WrittenMap map{.height = 5,
                               .width = 19,
                               .depth = depth,
                               .element_bytes = bytes,
                               .address = address,
                               .stride_y = 23 * depth * bytes,
                               .stride_x = depth * bytes,
                               .beat_bytes = beat};
          ASSERT_EQ(written_bytes(map), counted_bytes(map)) << depth << " channels of " << bytes << " at " << address;
        }
      }
    }
  }
}

// The FVP counts 45.875 beats for a pixel of 255 channels.
TEST(WrittenBytes, 255_channels_match_fvp) {
  const WrittenMap map{.height = 8, .width = 8, .depth = 255, .stride_y = 8 * 255, .stride_x = 255};
  EXPECT_EQ(written_bytes(map), 64 * 45.875 * 8);
}

TEST(WrittenBytes, bricks_are_written_whole) {
  EXPECT_EQ(written_bytes({.bricks = true, .height = 2, .width = 3, .depth = 17, .element_bytes = 2}), 2 * 3 * 32 * 2);
}

TEST(CycleInterval, interval_depends_on_npu_and_memory_stalls) {
  const CycleInterval computes = cycle_interval("ethos-u55-128", 1000, 10);
  const CycleInterval waits = cycle_interval("ethos-u55-128", 1000, 250);
  EXPECT_FALSE(computes.waits_for_memory);
  EXPECT_TRUE(waits.waits_for_memory);
  EXPECT_LT(computes.lowest, 1000);
  EXPECT_GT(computes.highest, 1000);
  EXPECT_GT(waits.highest, computes.highest);
  EXPECT_NE(cycle_interval("ethos-u85-256", 1000, 0).basis, computes.basis);
  EXPECT_TRUE(cycle_interval("TOSA-1.0+FP", 1000, 0).basis.empty());
}

}  // namespace
}  // namespace carina::npu
