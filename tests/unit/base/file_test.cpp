#include "base/io/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/memory/mapped_pages.h"

namespace carina {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Gives each test its own folder.
class File : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("file_test_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(File, file_truncated_after_read_is_unaffected) {
  ASSERT_TRUE(write_file(path("x"), std::string(10'000, 'x')));
  const auto file = map_file(path("x"));
  ASSERT_TRUE(file);
  ASSERT_EQ(::truncate(path("x").c_str(), 0), 0);
  EXPECT_EQ(file->bytes()[9'999], std::byte{'x'});
}

// The kilobytes of mapped files in this process's memory. Source: proc(5), status.
int64_t mapped_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == "RssFile:" && status >> kilobytes) return kilobytes;
  }
  ADD_FAILURE() << "the system does not say";
  return 0;
}

TEST_F(File, read_pages_are_released_and_reload) {
  constexpr size_t kBytes = size_t{12} << 20, kPart = 5000;
  ASSERT_TRUE(write_file(path("x"), std::string(kBytes, 'x')));
  const auto file = map_large_file(path("x"));
  ASSERT_TRUE(file);
  const auto sum = [&](size_t at, size_t size) {
    return std::ranges::count(file->bytes().subspan(at, size), std::byte{'x'});
  };
  const int64_t before = mapped_kilobytes();
  ASSERT_EQ(sum(0, kBytes), kBytes);
  constexpr int64_t kHalf = kBytes / 1024 / 2;
  EXPECT_GE(mapped_kilobytes(), before + kHalf);
  PageReleaser releaser;
  // PageReleaser also releases the neighboring pages that the system mapped ahead.
  for (size_t at = 0; at <= size_t{1} << 20; at += kPart) releaser.add(file->bytes().subspan(at, kPart));
  EXPECT_LT(mapped_kilobytes(), before + kHalf);
  EXPECT_EQ(sum(0, kBytes), kBytes);
}

TEST_F(File, other_pages_stay_resident) {
  const Buffer own = Buffer::copy_of(std::vector<std::byte>(size_t{2} << 20, std::byte{7}));
  PageReleaser releaser;
  releaser.add(own.bytes());
  release_pages_around(own.bytes());
  EXPECT_EQ(std::ranges::count(own.bytes(), std::byte{7}), own.size());
}

sigjmp_buf back;
const char* shrunk = nullptr;
void on_bus(int /*number*/, siginfo_t* info, void* /*context*/) {
  shrunk = mapped_file_at(info->si_addr);
  ::siglongjmp(back, 1);
}

TEST_F(File, mapped_file_truncated_later_is_handled) {
  const size_t size = (size_t{256} << 20) + 1;  // sparse: it occupies no disk space
  ASSERT_TRUE(write_file(path("large"), "x"));
  ASSERT_EQ(::truncate(path("large").c_str(), static_cast<off_t>(size)), 0);
  const auto file = map_file(path("large"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->bytes()[0], std::byte{'x'});
  ASSERT_EQ(::truncate(path("large").c_str(), 0), 0);
  struct sigaction action{};
  struct sigaction before{};
  action.sa_sigaction = on_bus;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, &before);
  if (sigsetjmp(back, 1) == 0) {
    const volatile std::byte gone = file->bytes()[4096];
    FAIL() << "read " << static_cast<int>(gone) << " past the end of the file";
  }
  ::sigaction(SIGBUS, &before, nullptr);
  EXPECT_EQ(shrunk, path("large"));
  EXPECT_EQ(mapped_file_at(&size), nullptr);
}

TEST_F(File, fifo_is_not_waited_for) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  const auto file = map_file(path("fifo"));
  ASSERT_FALSE(file);
  EXPECT_THAT(to_string(file.error()), HasSubstr("not a regular file"));
}

TEST_F(File, links_resolve_to_one_file) {
  ASSERT_TRUE(write_file(path("a"), "a"));
  ASSERT_TRUE(write_file(path("b"), "b"));
  fs::create_hard_link(path("a"), path("hard"));
  fs::create_symlink("a", path("soft"));
  EXPECT_EQ(file_id(path("a")), file_id(path("hard")));
  EXPECT_EQ(file_id(path("a")), file_id(path("soft")));
  EXPECT_NE(file_id(path("a")), file_id(path("b")));
  EXPECT_FALSE(file_id(path("none")));
}

}  // namespace
}  // namespace carina
