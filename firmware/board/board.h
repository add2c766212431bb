#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// The functions that the runner needs from a board. A port implements them, a vector table and a linker script
// (docs/porting.md); firmware/corstone300 is an example.
namespace carina::firmware {

// Is called once before all other functions, after .data and .bss are initialized.
void board_start();
[[noreturn]] void board_exit(int status);

// Writes one line to the console. `line` has no line end.
void board_write_line(std::string_view line);

// Cycles of the CPU since board_start(); may be an estimate.
uint64_t board_cycles();
// Sets the clock to `cycles`. A simulated NPU reports its duration this way.
void board_set_cycles(uint64_t cycles);
// How the cycles are obtained, for the report: "measured" or "estimated: ...".
std::string_view board_clock_note();

// The command line without the program's name. Empty without a host.
std::string_view board_arguments();

// The NPU of the board, for ethosu_init() of the core driver.
struct NpuPlace {
  void* base_address = nullptr;  // of its registers; a simulated NPU has none
  // The memory of region 2 for programs in Dedicated_Sram; empty: the start of the runner's pools.
  std::span<std::byte> fast_memory = {};
  bool secure = true;  // accesses of the NPU
  bool privileged = true;
};
// Is called before the first use of the NPU: the place for its clock, power and reset. The default (weak) returns
// NpuPlace{}.
NpuPlace board_npu();
// Is called after the driver is initialized: the board calls `handler` in the NPU's interrupt, and enables it. The
// default (weak) does nothing, as for an NPU without interrupt.
void board_connect_npu(void (*handler)());

// Files of the host. A board without files returns kNoFile and false.
inline constexpr size_t kNoFile = SIZE_MAX;
size_t board_file_bytes(const char* name);
bool board_read_file(const char* name, std::span<std::byte> bytes);
bool board_write_file(const char* name, std::span<const std::byte> bytes);

// The maximum stack use so far, and the size of the stack, in bytes.
struct StackUse {
  size_t used_bytes = 0;
  size_t total_bytes = 0;
};
StackUse board_stack_use();

}  // namespace carina::firmware
