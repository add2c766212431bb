#include "kernels/repeated_channels_internal.h"

#include <algorithm>

#include "carina/check.h"

namespace carina::kernels {

namespace {

template <typename T>
void repeat(Workers& workers, const T* in, const RepeatedChannels& r, T* out) {
  constexpr int64_t kFewest = 16 * 1024;  // elements of the result for a thread
  split(workers, r.elements, 1 + kFewest / r.times, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) std::fill_n(out + i * r.times, r.times, in[i]);
  });
}

}  // namespace

void RepeatedChannels::run(Workers& workers, const std::byte* in, std::byte* out) const {
  switch (element_bytes) {
    case 1:
      return repeat(workers, reinterpret_cast<const uint8_t*>(in), *this, reinterpret_cast<uint8_t*>(out));
    case 4:
      return repeat(workers, reinterpret_cast<const uint32_t*>(in), *this, reinterpret_cast<uint32_t*>(out));
    default:
      CARINA_UNREACHABLE("bytes of an element", static_cast<int64_t>(element_bytes));
  }
}

}  // namespace carina::kernels
