#include "simulate/kernels.h"

namespace carina::simulate {

void widen_s8(const int8_t* in, size_t count, int16_t zero_point, int16_t* out) {
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<int16_t>(in[i] - zero_point);
}
void widen_u8(const uint8_t* in, size_t count, int16_t zero_point, int16_t* out) {
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<int16_t>(in[i] - zero_point);
}

}  // namespace carina::simulate
