// The code from reset to run(): the vector table, the FPU, .data and .bss, and the fault handler.
#include "firmware/corstone300/startup.h"

#include <algorithm>
#include <array>

#include "firmware/board/board.h"
#include "firmware/board/console.h"
#include "firmware/runner/run.h"

extern "C" {
extern std::uint32_t __data_start[];
extern std::uint32_t __data_end[];
extern const std::uint32_t __data_load[];
extern std::uint32_t __bss_start[];
extern std::uint32_t __bss_end[];
}

namespace carina::firmware {

namespace {

constexpr uint32_t kPainted = 0xA5A5A5A5;  // marks stack memory that has not been used
constexpr size_t kFrameWords = 64;

// System control. Source: Armv8-M Architecture Reference Manual.
volatile uint32_t& coprocessor_access = *reinterpret_cast<volatile uint32_t*>(0xE000ED88);
volatile const uint32_t& fault_status = *reinterpret_cast<volatile uint32_t*>(0xE000ED28);
volatile const uint32_t& fault_address = *reinterpret_cast<volatile uint32_t*>(0xE000ED38);
constexpr uint32_t kFpuAndMve = 0xFU << 20;

void paint_stack() {
  uint32_t* here = nullptr;
  asm volatile("mov %0, sp" : "=r"(here));
  // The loop stops above this function's frame, because the compiler may replace the loop by a call of memset.
  for (uint32_t* word = __stack_bottom; word < here - kFrameWords; ++word) *word = kPainted;
}

[[noreturn]] void start() {
  paint_stack();
  board_start();
  board_exit(run());
}

}  // namespace

StackUse board_stack_use() {
  const uint32_t* const deepest =
      std::find_if(__stack_bottom, __stack_top, [](uint32_t word) { return word != kPainted; });
  return {.used_bytes = static_cast<size_t>(__stack_top - deepest) * sizeof(uint32_t),
          .total_bytes = static_cast<size_t>(__stack_top - __stack_bottom) * sizeof(uint32_t)};
}

}  // namespace carina::firmware

using carina::firmware::board_exit;

extern "C" {

void reset_handler() {
  carina::firmware::coprocessor_access = carina::firmware::coprocessor_access | carina::firmware::kFpuAndMve;
  asm volatile("dsb\n isb" ::: "memory");
  std::copy(__data_load, __data_load + (__data_end - __data_start), __data_start);
  std::fill(__bss_start, __bss_end, 0U);
  carina::firmware::start();
}

void fault_handler() {
  carina::firmware::error()
      .text("the CPU met a fault: status ")
      .hex(carina::firmware::fault_status)
      .text(", address ")
      .hex(carina::firmware::fault_address);
  board_exit(1);
}

using Handler = void (*)();
struct VectorTable {
  std::uint32_t* stack;
  std::array<Handler, 15> handlers;
};
[[gnu::section(".vectors"), gnu::used]] const VectorTable vector_table{
    .stack = __stack_top,
    .handlers = {reset_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler,
                 fault_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler,
                 fault_handler, fault_handler, systick_handler}};
}
