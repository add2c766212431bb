// Tests the nearest of several names.
#include "base/text/nearest.h"

#include <gtest/gtest.h>

namespace carina {
namespace {

const std::vector<std::string> kTargets{"ethos-u55-32", "ethos-u55-128", "ethos-u85-128", "vgf"};

TEST(NearestHint, names_one_that_differs_in_two_letters) {
  EXPECT_EQ(nearest_hint("ethos-u55-129", kTargets), "did you mean ethos-u55-128?");
  EXPECT_EQ(nearest_hint("Ethos-U55-32", kTargets), "did you mean ethos-u55-32?");
  EXPECT_EQ(nearest_hint("etos-u5-32", kTargets), "did you mean ethos-u55-32?");
  EXPECT_EQ(nearest_hint("cortex-m55", kTargets), "");
}

TEST(NearestHint, names_the_only_one_that_contains_the_text) {
  EXPECT_EQ(nearest_hint("u55-128", kTargets), "did you mean ethos-u55-128?");
  EXPECT_EQ(nearest_hint("ethos-u85", kTargets), "did you mean ethos-u85-128?");
  EXPECT_EQ(nearest_hint("128", kTargets), "") << "too short to stand for a name";
}

TEST(NearestHint, prefers_a_name_that_begins_with_the_text) {
  EXPECT_EQ(nearest_hint("U55_High", std::vector<std::string>{"U65_High", "U55_High_End"}),
            "did you mean U55_High_End?");
}

TEST(NearestHint, names_all_that_contain_the_text_if_they_are_few) {
  EXPECT_EQ(nearest_hint("U55", kTargets), "did you mean ethos-u55-32 or ethos-u55-128?");
  EXPECT_EQ(nearest_hint("ethos", kTargets), "did you mean ethos-u55-32, ethos-u55-128 or ethos-u85-128?");
  EXPECT_EQ(nearest_hint("mode", std::vector<std::string>{"mode of a", "mode of b", "mode of c", "mode of d",
                                                          "mode of e", "mode of f"}),
            "");
}

TEST(WithNearest, stands_before_a_text) {
  EXPECT_EQ(with_nearest("vgg", kTargets, "all are listed"), "did you mean vgf? all are listed");
  EXPECT_EQ(with_nearest("cpu", kTargets, "all are listed"), "all are listed");
  EXPECT_EQ(with_nearest("vgg", kTargets, ""), "did you mean vgf?");
}

TEST(NearestHint, case_and_underscores_do_not_count) {
  const std::vector<std::string> modes{"Sram_Only", "Shared_Sram"};
  EXPECT_EQ(nearest_hint("sram-only", modes), "did you mean Sram_Only?");
  EXPECT_EQ(nearest_hint("SharedSram", modes), "did you mean Shared_Sram?");
}

TEST(NearestHint, reads_the_names_of_a_message) {
  EXPECT_EQ(nearest_hint("int16x", "int8 (a8w8), int16x8 (a16w8), none"), "did you mean int16x8?");
  EXPECT_EQ(nearest_hint("int8", ""), "");
}

}  // namespace
}  // namespace carina
