#include <cstdint>

// Highway's library measures its clock's resolution before main(), 3 ms of every command, for benchmarks that nobody
// here asks it for. The linker gives it the program's answer in place of its own.
namespace hwy::platform {
uint64_t TimerResolution();
uint64_t TimerResolution() {
  return 1;
}
}  // namespace hwy::platform
