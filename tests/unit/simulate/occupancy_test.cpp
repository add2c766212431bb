// Tests how many bytes of memory hold live values, with hand-made transfers.
#include "simulate/occupancy_internal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace carina::simulate {
namespace {

using testing::Each;
using testing::ElementsAre;

class OccupancyTest : public testing::Test {
 protected:
  [[nodiscard]] HostRange range(size_t region, size_t first, size_t bytes) {
    const std::byte* begin = memory_[region].data() + first;
    return {.begin = begin, .end = begin + bytes};
  }
  void move(Occupancy& occupancy, HostRange from, HostRange to) {
    occupancy.dma({.source = from, .destination = to, .index = {}, .bytes = 0});
  }
  [[nodiscard]] Memory regions() {
    Memory memory;
    for (size_t r = 0; r < memory_.size(); ++r) memory.regions[r] = memory_[r];
    return memory;
  }

  std::vector<std::vector<std::byte>> memory_{2, std::vector<std::byte>(256)};
};

TEST_F(OccupancyTest, value_is_held_from_write_to_last_read) {
  Occupancy occupancy(regions());
  move(occupancy, range(0, 0, 32), range(1, 0, 32));     // constants to a
  move(occupancy, range(1, 0, 32), range(1, 64, 48));    // a to b
  move(occupancy, range(1, 64, 48), range(1, 128, 16));  // b to c: a is no longer live
  move(occupancy, range(1, 128, 16), range(1, 0, 16));   // c to a's address: the result
  const auto held = std::move(occupancy).take();
  EXPECT_THAT(held[1], ElementsAre(32, 80, 64, 32));
  EXPECT_THAT(held[0], Each(0)) << "constants are not counted";
}

TEST_F(OccupancyTest, inputs_are_held_from_start) {
  Occupancy occupancy(regions());
  move(occupancy, range(0, 0, 16), range(1, 0, 16));
  move(occupancy, range(1, 64, 32), range(1, 128, 16));
  EXPECT_THAT(std::move(occupancy).take()[1], ElementsAre(48, 64)) << "what only is written stays to the end";
}

TEST_F(OccupancyTest, in_place_value_is_held_once) {
  Occupancy occupancy(regions());
  move(occupancy, range(0, 0, 16), range(1, 0, 16));
  move(occupancy, range(1, 0, 16), range(1, 0, 16));
  EXPECT_THAT(std::move(occupancy).take()[1], ElementsAre(16, 16));
}

TEST_F(OccupancyTest, region_in_shared_memory_counts_once) {
  Memory memory = regions();
  memory.regions[2] = memory.regions[1];
  Occupancy occupancy(memory);
  move(occupancy, range(0, 0, 16), range(1, 0, 16));
  const auto held = std::move(occupancy).take();
  EXPECT_THAT(held[1], ElementsAre(16));
  EXPECT_THAT(held[2], ElementsAre(0));
}

}  // namespace
}  // namespace carina::simulate
