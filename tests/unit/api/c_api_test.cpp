#include <gtest/gtest.h>

#include "tests/unit/api/c_api_calls.h"
#include "tests/unit/api/small_programs.h"

namespace carina {
namespace {

TEST(CApi, compiles_and_runs_model) {
  const auto archive = pt2::small_model().archive();
  EXPECT_STREQ(c_api_round_trip(archive.data(), archive.size()), nullptr);
}

TEST(CApi, mistakes_are_faults_with_text) {
  const auto archive = pt2::small_model().archive();
  EXPECT_STREQ(c_api_mistakes(archive.data(), archive.size()), nullptr);
}

}  // namespace
}  // namespace carina
