#pragma once

#include <cstddef>
#include <cstdint>

// The SIMD kernels: each is compiled for every target of this architecture and picks the best at run time. Results are the
// same on all of them. They know dense buffers only. Private to the room.
namespace carina::simulate {

// out[i] = in[i] - zero_point
void widen_s8(const int8_t* in, size_t count, int16_t zero_point, int16_t* out);
void widen_u8(const uint8_t* in, size_t count, int16_t zero_point, int16_t* out);

}  // namespace carina::simulate
