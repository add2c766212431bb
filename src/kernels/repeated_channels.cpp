#include "kernels/repeated_channels_internal.h"

#include <algorithm>

#include "carina/check.h"

namespace carina::kernels {

namespace {

// `kTimes` copies of each element: a loop that the compiler can turn into vectors.
template <int64_t kTimes, typename T>
void repeat_few(const T* in, int64_t begin, int64_t end, T* out) {
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t k = 0; k < kTimes; ++k) out[i * kTimes + k] = in[i];
  }
}

template <typename T>
void repeat(Workers& workers, const T* in, const RepeatedChannels& r, T* out) {
  constexpr int64_t kFewest = 16 * 1024;  // elements of the result for a thread
  split(workers, r.elements, 1 + kFewest / r.times, [&](int64_t begin, int64_t end) {
    if (r.times == 2) return repeat_few<2>(in, begin, end, out);
    if (r.times == 4) return repeat_few<4>(in, begin, end, out);
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
