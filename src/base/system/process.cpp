#include "base/system/process.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

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

void keep_freed_memory() {
#ifdef __GLIBC__
  // malloc() returns blocks of at least this size, such as the weights of a layer, to the system when they are freed. A
  // fixed limit is set because glibc's own limit rises with every such block.
  constexpr int kLargeBlockBytes = 4 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kLargeBlockBytes);
  // Smaller blocks are reused. With glibc's default of 128 KB, each layer would request new pages from the system.
  ::mallopt(M_TRIM_THRESHOLD, kLargeBlockBytes);
#endif
}

}  // namespace carina
