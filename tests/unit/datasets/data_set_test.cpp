#include "datasets/data_set.h"

#include <gtest/gtest.h>

namespace carina::datasets {
namespace {

DataSet samples(size_t size) {
  return DataSet(std::vector<DataSet::Sample>(size));
}

TEST(DataSet, spread_numbers_have_even_distances) {
  EXPECT_EQ(samples(10).spread(3), (std::vector<size_t>{0, 3, 6}));
}

TEST(DataSet, spread_takes_all_of_a_few_samples) {
  EXPECT_EQ(samples(2).spread(32), (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(samples(0).spread(32).empty());
}

}  // namespace
}  // namespace carina::datasets
