#pragma once

#include <cstdint>

// Where the linker script put things.
extern "C" {
extern std::uint32_t __stack_bottom[];
extern std::uint32_t __stack_top[];

void reset_handler();
void systick_handler();
}
