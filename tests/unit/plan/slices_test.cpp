#include <gtest/gtest.h>

#include "build_graph.h"
#include "networks.h"
#include "plan/network/target.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {
namespace {

Schedule two_convolutions(int8_t first_shift, int8_t second_shift) {
  GraphBuilder b;
  const ir::ValueId x = b.input("x", DType::kInt8, {1, 8, 8, 16});
  b.graph.outputs = {b.conv(b.conv(x, 16, 3, 1, first_shift), 16, 3, 1, second_shift)};
  return schedule_of(b.graph, *find_target("ethos-u55-128", "", ""));
}

TEST(Slices, equal_weights_with_other_scales_are_stored_once) {
  const Schedule s = two_convolutions(40, 41);
  ASSERT_EQ(s.slices.size(), 2u);
  EXPECT_EQ(s.slices[0].stored, s.slices[1].stored);
  EXPECT_NE(s.slices[0].scales, s.slices[1].scales);
  EXPECT_NE(s.slices[0].stored, s.slices[0].scales);
}

TEST(Slices, equal_slices_are_shared) {
  const Schedule s = two_convolutions(40, 40);
  EXPECT_EQ(s.slices[0].stored, s.slices[1].stored);
  EXPECT_EQ(s.slices[0].stored, s.slices[0].scales);
  EXPECT_EQ(s.slices[0].scales, s.slices[1].scales);
}

}  // namespace
}  // namespace carina::plan
