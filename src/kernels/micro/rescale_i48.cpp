#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/rescale_i48.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <limits>

#include "carina/check.h"
#include "kernels/micro/microkernels.h"

// RESCALE of 48-bit sums, which convolutions of 16-bit values have: (sum * multiplier + 2^(shift - 1)) >> shift.
//   Example: 1,000,000 * 20,000 >> 25, rounded: 596.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

// Plain loops, which the compiler vectorizes where the target has products and arithmetic shifts of 64 bits.

// One row. Returns whether all scaled values fit 32 bits.
template <bool kPerChannel, typename T>
bool rescale_row(const RescaleI48& job, const int64_t* HWY_RESTRICT in, T* HWY_RESTRICT out) {
  const int64_t* HWY_RESTRICT multiplier = job.multiplier;
  const int64_t* HWY_RESTRICT shift = job.shift;
  const int64_t zero_point = job.zero_point, low = job.low, high = job.high;
  int64_t beyond = 0;
  for (int64_t c = 0; c < job.channels; ++c) {
    const int64_t factor = multiplier[kPerChannel ? c : 0], bits = shift[kPerChannel ? c : 0];
    const int64_t scaled = (in[c] * factor + (int64_t{1} << (bits - 1))) >> bits;
    beyond |= scaled ^ static_cast<int32_t>(scaled);
    out[c] = static_cast<T>(std::clamp(scaled + zero_point, low, high));
  }
  return beyond == 0;
}

template <typename T>
bool rescale_rows(const RescaleI48& job) {
  bool fit = true;
  auto* out = static_cast<T*>(job.out);
  for (int64_t r = 0; r < job.rows; ++r) {
    const int64_t* in = job.in + r * job.channels;
    fit = (job.per_channel ? rescale_row<true>(job, in, out + r * job.channels)
                           : rescale_row<false>(job, in, out + r * job.channels)) &&
          fit;
  }
  return fit;
}

bool rescale_i48_here(const RescaleI48& job) {
  if (job.out_type == DType::kInt8) return rescale_rows<int8_t>(job);
  if (job.out_type == DType::kInt16) return rescale_rows<int16_t>(job);
  CARINA_CHECK(job.out_type == DType::kInt32, "RESCALE of i48 to {}", name_of(job.out_type));
  return rescale_rows<int32_t>(job);
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(rescale_i48_here);

bool rescale_i48(const RescaleI48& job) {
  return HWY_DYNAMIC_DISPATCH(rescale_i48_here)(job);
}

}  // namespace carina::kernels
#endif
