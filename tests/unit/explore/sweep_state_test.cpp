// Tests the state file of a sweep: finished lines are read back, damaged lines are ignored, digests identify programs.
#include "explore/sweep_state.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string>

#include "base/hash/sha256.h"
#include "base/io/temporary_folder.h"
#include "report/tables/sweep_json.h"

namespace carina::explore {
namespace {

constexpr std::array kProgram{std::byte{1}, std::byte{2}, std::byte{3}};

results::SweepLine line_of(const std::string& target) {
  results::SweepLine line{.scheme = "int8", .target = target, .memory_mode = "", .program = target + ".pte"};
  line.row = {.quantization = "int8", .target = target, .system_config = "s", .memory_mode = "m"};
  line.row.program_sha256 = sha256_hex(std::array{std::span<const std::byte>(kProgram)});
  return line;
}

class SweepStateTest : public testing::Test {
 protected:
  void SetUp() override { folder_ = *TemporaryFolder::make("carina_state"); }
  SweepState open() { return *SweepState::open(folder_->path(), "key"); }
  void append(const std::string& text) { std::ofstream(folder_->file("key.jsonl"), std::ios::app) << text; }

  std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(SweepStateTest, added_line_is_found_again) {
  ASSERT_TRUE(open().add(line_of("a"), kProgram));
  const SweepState again = open();
  const results::SweepLine* line = again.find({"int8", "a", ""});
  ASSERT_NE(line, nullptr);
  EXPECT_EQ(report::to_json_line(*line), report::to_json_line(line_of("a")));
  EXPECT_TRUE(again.program_of(*line));
  EXPECT_EQ(again.find({"int8", "b", ""}), nullptr);
  EXPECT_EQ(again.find({"int16x8", "a", ""}), nullptr);
}

TEST_F(SweepStateTest, other_key_has_nothing) {
  ASSERT_TRUE(open().add(line_of("a"), kProgram));
  EXPECT_EQ(SweepState::open(folder_->path(), "other")->find({"int8", "a", ""}), nullptr);
}

TEST_F(SweepStateTest, incomplete_line_is_ignored) {
  const std::string text = report::to_json_line(line_of("incomplete"));
  append(text.substr(0, text.size() / 2));
  ASSERT_TRUE(open().add(line_of("a"), {}));
  const SweepState again = open();
  EXPECT_EQ(again.find({"int8", "incomplete", ""}), nullptr);
  EXPECT_NE(again.find({"int8", "a", ""}), nullptr);
}

TEST_F(SweepStateTest, last_line_of_combination_counts) {
  results::SweepLine failed = line_of("a");
  failed.machine = true;
  ASSERT_TRUE(open().add(failed, {}));
  ASSERT_TRUE(open().add(line_of("a"), {}));
  EXPECT_FALSE(open().find({"int8", "a", ""})->machine);
}

TEST_F(SweepStateTest, damaged_program_is_error) {
  ASSERT_TRUE(open().add(line_of("a"), kProgram));
  std::ofstream(folder_->file("key/a.pte"), std::ios::trunc) << "other";
  const SweepState again = open();
  EXPECT_FALSE(again.program_of(*again.find({"int8", "a", ""})));
}

}  // namespace
}  // namespace carina::explore
