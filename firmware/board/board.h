#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// What the runner needs of a board. A port implements these functions, a vector table and a linker script
// (docs/porting.md); firmware/corstone300 is one.
namespace carina::firmware {

// Called once, before all others, with .data and .bss in place.
void board_start();
[[noreturn]] void board_exit(int status);

// One line of the console, without its end.
void board_write_line(std::string_view line);

// Cycles of the CPU since board_start(); may be an estimate.
uint64_t board_cycles();
// Puts the clock to `cycles`: a simulated NPU says so how long it took.
void board_set_cycles(uint64_t cycles);
// What the cycles are worth, for the report: "measured", "estimated: ...".
std::string_view board_clock_note();

// What the host wrote behind the program's name; empty where there is no host.
std::string_view board_arguments();

// Files of the host. A board without them says kNoFile and false.
inline constexpr size_t kNoFile = SIZE_MAX;
size_t board_file_bytes(const char* name);
bool board_read_file(const char* name, std::span<std::byte> bytes);
bool board_write_file(const char* name, std::span<const std::byte> bytes);

// The most bytes of stack that were in use, and how many there are.
struct StackUse {
  size_t used_bytes = 0;
  size_t total_bytes = 0;
};
StackUse board_stack_use();

}  // namespace carina::firmware
