#pragma once

#include <cstdint>

namespace carina::kernels {

// Whether all values are in [low, high].
bool are_within(const int32_t* values, int64_t count, int32_t low, int32_t high);

}  // namespace carina::kernels
