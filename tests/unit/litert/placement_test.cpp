#include <gtest/gtest.h>

#include "litert/placement_internal.h"

namespace carina::litert {
namespace {

TEST(Placement, item_lies_in_place_of_its_host) {
  EXPECT_EQ(place({{.bytes = 32, .first = 0, .last = 1, .hosts = {{.time = 1, .address = 64}}}},
                  {{.time = 1, .bytes = 96}}, 16),
            (std::vector<int64_t>{64}));
}

TEST(Placement, place_of_host_that_is_not_aligned_is_not_taken) {
  EXPECT_EQ(place({{.bytes = 32, .first = 0, .last = 1, .hosts = {{.time = 1, .address = 40}}}},
                  {{.time = 1, .bytes = 96}}, 16),
            (std::vector<int64_t>{96}));
}

TEST(Placement, item_without_host_avoids_window) {
  EXPECT_EQ(place({{.bytes = 32, .first = 0, .last = 1}}, {{.time = 1, .bytes = 90}}, 16), (std::vector<int64_t>{96}));
}

TEST(Placement, window_at_another_time_is_free) {
  EXPECT_EQ(place({{.bytes = 32, .first = 0, .last = 1}}, {{.time = 2, .bytes = 96}}, 16), (std::vector<int64_t>{0}));
}

// Each stream would write over the place that the other has for the item.
TEST(Placement, item_with_two_hosts_collides_with_window_of_one) {
  const std::vector<Item> items{
      {.bytes = 32, .first = 1, .last = 2, .hosts = {{.time = 1, .address = 0}, {.time = 2, .address = 64}}}};
  EXPECT_EQ(place(items, {{.time = 1, .bytes = 96}, {.time = 2, .bytes = 96}}, 16), (std::vector<int64_t>{96}));
}

TEST(Placement, items_of_one_host_may_share_bytes_while_it_runs) {
  const std::vector<Item> items{{.bytes = 32, .first = 0, .last = 1, .hosts = {{.time = 1, .address = 0}}},
                                {.bytes = 16, .first = 1, .last = 2, .hosts = {{.time = 1, .address = 16}}}};
  EXPECT_EQ(place(items, {{.time = 1, .bytes = 32}}, 16), (std::vector<int64_t>{0, 16}));
}

TEST(Placement, items_that_live_together_do_not_overlap) {
  EXPECT_EQ(place({{.bytes = 20, .first = 0, .last = 1}, {.bytes = 40, .first = 1, .last = 2}}, {}, 16),
            (std::vector<int64_t>{48, 0}));
}

}  // namespace
}  // namespace carina::litert
