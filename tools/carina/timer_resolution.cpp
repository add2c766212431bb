#include <cstdint>

// Replaces a function of Highway's library, which measures the resolution of its clock before main(). That takes 3 ms
// of every command, and only Highway's benchmarks use the result. The linker prefers the program's function to the
// library's.
namespace hwy::platform {
uint64_t TimerResolution();
uint64_t TimerResolution() {
  return 1;
}
}  // namespace hwy::platform
