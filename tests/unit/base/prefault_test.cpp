#include "base/memory/prefault.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/memory/zeroed_pages.h"
#include "base/parallel/parallel.h"

namespace carina {
namespace {

size_t resident_pages(std::span<std::byte> memory) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((memory.size() + page - 1) / page);
  EXPECT_EQ(::mincore(memory.data(), memory.size(), pages.data()), 0);
  return static_cast<size_t>(std::ranges::count_if(pages, [](unsigned char flags) { return (flags & 1) != 0; }));
}

TEST(Populate, pages_become_resident_with_their_contents) {
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE)), size = 2000 * page;
  for (const int threads : {1, 2}) {
    const ScopedThreadPool scope(threads);
    const ZeroedPages memory(size);
    const std::span<std::byte> bytes = memory.bytes();
    bytes[5 * page + 3] = std::byte{7};
    const size_t before = resident_pages(bytes);
    prefault_parallel(bytes);
#ifdef MADV_POPULATE_WRITE
    const bool can = ::madvise(bytes.data(), page, MADV_POPULATE_WRITE) == 0;
    EXPECT_EQ(resident_pages(bytes), can ? size / page : before);
#else
    EXPECT_EQ(resident_pages(bytes), before);
#endif
    EXPECT_EQ(bytes[5 * page + 3], std::byte{7});
    EXPECT_EQ(std::ranges::count(bytes, std::byte{0}), static_cast<std::ptrdiff_t>(size - 1));
  }
}

TEST(Populate, other_memory_is_untouched) {
  std::vector<char> text(1'000'000, 'x');
  prefault(std::span(text).subspan(123'456, 500'001));
  prefault(std::span<char>());
  EXPECT_EQ(std::ranges::count(text, 'x'), 1'000'000);
}

}  // namespace
}  // namespace carina
