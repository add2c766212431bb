#include "base/io/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/io/file.h"
#include "base/parallel/parallel.h"

namespace carina {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Output : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("output_test_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(Output, no_file_before_commit) {
  {
    const auto file = OutputFile::prepare(path("x"), bytes_of("new"));
    ASSERT_TRUE(file);
    EXPECT_EQ(files(), 1);  // the temporary file
    EXPECT_FALSE(fs::exists(path("x")));
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(Output, old_file_is_released_on_another_thread) {
  ASSERT_TRUE(write_file(path("x"), "old"));
  {
    const ScopedThreadPool scope(2);
    ASSERT_TRUE(write_file(path("x"), "new"));
    EXPECT_EQ(text_of(path("x")), "new");
    EXPECT_EQ(files(), 1);
  }
  for (const auto& open : fs::directory_iterator("/proc/self/fd"))
    EXPECT_THAT(fs::read_symlink(open).string(), Not(HasSubstr("(deleted)")));
}

TEST_F(Output, old_file_stays_until_commit) {
  ASSERT_TRUE(write_file(path("x"), "old"));
  auto file = OutputFile::prepare(path("x"), bytes_of("new"));
  ASSERT_TRUE(file);
  EXPECT_EQ(text_of(path("x")), "old");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(text_of(path("x")), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(Output, signal_handler_removes_uncommitted_file) {
  const auto file = OutputFile::prepare(path("x"), bytes_of("new"));
  ASSERT_TRUE(file);
  remove_uncommitted_files();
  EXPECT_EQ(files(), 0);
}

TEST_F(Output, two_outputs_have_two_temporary_files) {
  auto first = OutputFile::prepare(path("x"), bytes_of("1"));
  auto second = OutputFile::prepare(path("x"), bytes_of("2"));
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(second->commit());
  ASSERT_TRUE(first->commit());
  EXPECT_EQ(text_of(path("x")), "1");
  EXPECT_EQ(files(), 1);
}

TEST_F(Output, chain_of_links_is_followed_and_mode_is_kept) {
  ASSERT_TRUE(write_file(path("real"), "old"));
  fs::permissions(path("real"), fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  fs::create_symlink("real", path("one"));
  fs::create_symlink("one", path("two"));
  ASSERT_TRUE(write_file(path("two"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("two")) && fs::is_symlink(path("one")));
  EXPECT_EQ(text_of(path("real")), "new");
  struct stat status{};
  ASSERT_EQ(::stat(path("real").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640);
}

TEST_F(Output, dangling_link_creates_its_target) {
  fs::create_symlink("later", path("link"));
  ASSERT_TRUE(write_file(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(text_of(path("later")), "new");
}

TEST_F(Output, all_hard_links_see_new_bytes) {
  ASSERT_TRUE(write_file(path("a"), "a longer text than the new one"));
  fs::create_hard_link(path("a"), path("b"));
  ASSERT_TRUE(write_file(path("a"), "new"));
  EXPECT_EQ(text_of(path("b")), "new");
  EXPECT_EQ(fs::hard_link_count(path("a")), 2);
}

TEST_F(Output, longest_allowed_name_is_written) {
  const std::string name(255, 'n');
  ASSERT_TRUE(write_file(path(name), "new"));
  EXPECT_EQ(text_of(path(name)), "new");
}

TEST_F(Output, impossible_paths_are_errors) {
  fs::create_directory(path("folder"));
  fs::create_symlink("loop", path("loop"));
  for (const auto& [where, what] : {std::pair{std::string(), "the path is empty"},
                                    {path("folder"), "a folder has this name"},
                                    {path("none/x"), "No such file or directory"},
                                    {path("loop"), "symbolic links"}}) {
    const auto file = OutputFile::prepare(where, bytes_of("new"));
    ASSERT_FALSE(file) << where;
    EXPECT_THAT(to_string(file.error()), HasSubstr(what));
  }
  EXPECT_EQ(files(), 2);
}

}  // namespace
}  // namespace carina
