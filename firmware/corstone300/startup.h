#pragma once

#include <cstdint>

// Symbols of the linker script.
extern "C" {
extern std::uint32_t __stack_bottom[];
extern std::uint32_t __stack_top[];

void reset_handler();
void systick_handler();
}
