#pragma once

#include <cstring>

#include "simulate/kernels/checked_map.h"

// Copies rows between feature maps in host memory and dense buffers. Private to the simulator.
namespace carina::simulate {

template <typename S>
S load(const std::byte* p) {
  S value;
  std::memcpy(&value, p, sizeof(S));
  return value;
}

// Reads columns [x0, x1) and channels [0, depth) of row y, minus `zero_point`, to out[(x - x0) * pixel_elems + c]. The
// columns must lie in the map's box. As uint8_t, for maps of 8 bits: signed elements are raised by 128, and the zero
// point is not subtracted.
template <typename T>
void read_row(const CheckedMap& map, int32_t y, int32_t x0, int32_t x1, int32_t depth, int32_t zero_point, T* out,
              int64_t pixel_elems);

// Writes dense elements of the map's own width, `pixel_bytes` apart, to row y, columns [x0, x1), channels [0, box
// depth).
void write_row(const CheckedMap& map, int32_t y, int32_t x0, int32_t x1, const std::byte* values, int64_t pixel_bytes);

// The address of one element.
std::byte* element_at(const CheckedMap& map, int32_t y, int32_t x, int32_t c);

// Stores the low bits of `value` as an element of `bytes` bytes.
inline void store_element(std::byte* p, int64_t value, int bytes) {
  std::memcpy(p, &value, static_cast<size_t>(bytes));
}

}  // namespace carina::simulate
