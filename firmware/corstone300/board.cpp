// Corstone-300 in the form of QEMU's mps3-an547 and Arm's FPGA image. Console, files and arguments use semihosting; the
// clock uses SysTick.
#include "firmware/board/board.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "firmware/corstone300/semihosting.h"
#include "firmware/corstone300/startup.h"

namespace carina::firmware {

namespace {

// SysTick: a counter of 24 bits that counts down at the CPU's clock rate. Source: Armv8-M Architecture Reference
// Manual.
struct SysTick {
  uint32_t control;
  uint32_t reload;
  uint32_t current;
};
volatile SysTick& systick = *reinterpret_cast<volatile SysTick*>(0xE000E010);
constexpr uint32_t kEnableWithInterruptAndCpuClock = 7;
constexpr uint32_t kReload = (1U << 24) - 1;

volatile uint32_t wraps = 0;
uint64_t skew = 0;  // sum of the adjustments of board_set_cycles()

std::array<char, 512> command_line;

uint64_t ticks() {
  for (;;) {
    const uint32_t before = wraps;
    const uint32_t current = systick.current;
    if (before == wraps) return (uint64_t{before} << 24) + (kReload - current);
  }
}

class File {
 public:
  File(const char* name, semihosting::Mode mode) : handle_(semihosting::open(name, mode)) {}
  ~File() {
    if (handle_ >= 0) semihosting::close(handle_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int32_t handle() const { return handle_; }
  [[nodiscard]] bool is_open() const { return handle_ >= 0; }

 private:
  int32_t handle_;
};

}  // namespace

extern "C" void systick_handler() {
  wraps = wraps + 1;
}

void board_start() {
  systick.reload = kReload;
  systick.current = 0;
  systick.control = kEnableWithInterruptAndCpuClock;
}

void board_exit(int status) {
  semihosting::exit(status);
}

void board_write_line(std::string_view line) {
  std::array<char, 256> text{};
  const size_t size = std::min(line.size(), text.size() - 2);
  std::copy_n(line.data(), size, text.data());
  text[size] = '\n';
  semihosting::write_console(text.data());
}

uint64_t board_cycles() {
  return ticks() + skew;
}

void board_set_cycles(uint64_t cycles) {
  skew = cycles - ticks();
}

std::string_view board_clock_note() {
  return "CPU cycles are an estimate: QEMU counts instructions, not what they cost";
}

std::string_view board_arguments() {
  const size_t size = semihosting::command_line(command_line);
  std::string_view line(command_line.data(), std::min(size, command_line.size()));
  line.remove_prefix(std::min(line.find(' '), line.size()));  // skips the program's name
  return line;
}

size_t board_file_bytes(const char* name) {
  const File file(name, semihosting::Mode::kRead);
  const int32_t bytes = file.is_open() ? semihosting::length(file.handle()) : -1;
  return bytes < 0 ? kNoFile : static_cast<size_t>(bytes);
}

bool board_read_file(const char* name, std::span<std::byte> bytes) {
  const File file(name, semihosting::Mode::kRead);
  return file.is_open() && semihosting::read(file.handle(), bytes);
}

bool board_write_file(const char* name, std::span<const std::byte> bytes) {
  const File file(name, semihosting::Mode::kWrite);
  return file.is_open() && semihosting::write(file.handle(), bytes);
}

}  // namespace carina::firmware
