// Makes the kernel calls of firmware/bench on this machine and prints the digests of their results.
#include <cstdio>

#include "firmware/board/board.h"
#include "firmware/runner/run.h"

namespace carina::firmware {

void board_write_line(std::string_view line) {
  std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
}

// Cycles are counted in QEMU only, so this function returns 0.
uint64_t board_cycles() {
  return 0;
}

}  // namespace carina::firmware

int main() {
  return carina::firmware::run();
}
