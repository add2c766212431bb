#include "base/system/process.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/checked_math.h"
#include "base/command_words.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

namespace carina {

namespace {

constexpr int64_t kKilobyte = 1024;
#ifdef __APPLE__
constexpr int64_t kUnitOfPeak = 1;  // bytes, getrusage(2) of macOS
#else
constexpr int64_t kUnitOfPeak = kKilobyte;  // getrusage(2) of Linux
#endif

rusage used() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

#ifdef __APPLE__
std::filesystem::path own_program() {
  uint32_t size = 0;
  ::_NSGetExecutablePath(nullptr, &size);  // fails, and sets the size
  std::string path(size, '\0');
  if (::_NSGetExecutablePath(path.data(), &size) != 0) return {};
  std::error_code error;
  return std::filesystem::canonical(path.c_str(), error);
}
#else
std::filesystem::path own_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}
#endif

void set_environment(const std::string& name, const std::string& value) {
  ::setenv(name.c_str(), value.c_str(), 1);
}

int replace_process(std::vector<std::string> command) {
  const std::vector<char*> pointers = pointers_to(command);
  ::execvp(pointers.front(), pointers.data());
  return errno;
}

double cpu_seconds() {
  const rusage usage = used();
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

// Source: proc(5), status.
int64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * kKilobyte;
  }
  return used().ru_maxrss * kUnitOfPeak;
}

// Source: proc(5), clear_refs.
void forget_peak_memory() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

namespace {

#ifdef __GLIBC__
// Extends malloc's heap by `bytes`, and requests large pages for the new addresses before they are used. This takes
// addresses only; pages come with the first access. Source: brk(2), madvise(2).
void extend_heap_in_large_pages([[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr size_t kLargePage = size_t{2} << 20, kDefaultPad = 128 << 10;
  const auto begin = round_up(reinterpret_cast<uintptr_t>(::sbrk(0)), kLargePage);
  ::mallopt(M_TOP_PAD, static_cast<int>(bytes));
  // More than the heap holds, so that malloc() extends it. The access keeps the compiler from removing both calls.
  auto* const block = static_cast<volatile char*>(::malloc(size_t{1} << 20));
  if (block != nullptr) *block = 0;
  ::free(const_cast<char*>(block));
  // Extensions that follow would fail early if the program may not have many addresses.
  ::mallopt(M_TOP_PAD, kDefaultPad);
  const auto end = reinterpret_cast<uintptr_t>(::sbrk(0)) / kLargePage * kLargePage;
  // A failure only costs time.
  if (begin < end) static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
#endif
}
#endif

}  // namespace

void keep_freed_memory() {
#ifdef __GLIBC__
  // malloc() returns blocks of at least this size, such as the weights of a layer, to the system when they are freed. A
  // fixed limit is set because glibc's own limit rises with every such block.
  constexpr int kLargeBlockBytes = 4 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kLargeBlockBytes);
  // Smaller blocks are reused. With glibc's default of 128 KB, each layer would request new pages from the system.
  constexpr int kHeapBytes = 64 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kHeapBytes + kLargeBlockBytes);
  // Page faults were up to a tenth of the time of a compilation.
  extend_heap_in_large_pages(kHeapBytes);
#endif
}

}  // namespace carina
