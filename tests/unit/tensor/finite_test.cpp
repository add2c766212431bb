#include "tensor/finite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "base/parallel/parallel.h"

namespace carina {
namespace {

// One element at each position: in the vector lanes, in the remainder, and in each thread's part.
TEST(Finite, one_nan_is_enough) {
  for (const int threads : {1, 2}) {
    const ScopedThreadPool scope(threads);
    for (const size_t size : {1u, 15u, 16u, 33u, 1'000'003u}) {
      std::vector<float> values(size, -1e30F);
      EXPECT_TRUE(are_finite(values));
      for (const size_t at : {size_t{0}, size / 3, size / 2, size - 1}) {
        for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()}) {
          values[at] = bad;
          EXPECT_FALSE(are_finite(values)) << size << ", " << at;
        }
        values[at] = 0;
      }
    }
  }
  EXPECT_TRUE(are_finite({}));
}

TEST(Finite, elements_beyond_span_are_ignored) {
  for (const size_t size : {1u, 15u, 16u, 17u, 33u}) {
    std::vector<float> values(size + 64, std::numeric_limits<float>::quiet_NaN());
    std::fill_n(values.begin(), size, 1.0F);
    EXPECT_TRUE(are_finite(std::span(values).first(size))) << size;
  }
}

}  // namespace
}  // namespace carina
