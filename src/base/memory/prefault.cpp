#include "base/memory/prefault.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "base/checked_math.h"
#include "base/parallel/parallel.h"

namespace carina {

namespace {

constexpr size_t kWorthAsking = size_t{1} << 16;  // bytes; smaller memory is not worth a system call
constexpr size_t kPart = size_t{1} << 20;

#if defined(MADV_POPULATE_WRITE) || defined(MADV_HUGEPAGE)
// Calls madvise() for the whole pages in `memory`.
void advise(std::span<std::byte> memory, int advice) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = round_up(reinterpret_cast<uintptr_t>(memory.data()), page);
  const auto last = reinterpret_cast<uintptr_t>(memory.data() + memory.size()) / page * page;
  // A failure only costs time.
  if (first < last) static_cast<void>(::madvise(reinterpret_cast<void*>(first), last - first, advice));
}
#endif

}  // namespace

// Source: madvise(2). Other systems map pages at the first access.
void prefault([[maybe_unused]] std::span<std::byte> memory) {
#ifdef MADV_POPULATE_WRITE
  if (memory.size() >= kWorthAsking) advise(memory, MADV_POPULATE_WRITE);
#endif
}

void prefer_large_pages([[maybe_unused]] std::span<std::byte> memory) {
#ifdef MADV_HUGEPAGE
  constexpr size_t kLarge = size_t{64} << 20;
  if (memory.size() >= kLarge) advise(memory, MADV_HUGEPAGE);
#endif
}

void prefault_parallel(std::span<std::byte> memory) {
  parallel_for_chunks(memory.size(), kPart,
                      [&](size_t begin, size_t end) { prefault(memory.subspan(begin, end - begin)); });
}

}  // namespace carina
