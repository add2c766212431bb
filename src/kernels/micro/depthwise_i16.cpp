#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/depthwise_i16.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>

#include "kernels/micro/microkernels.h"

// Depthwise convolutions of int16 with int8 weights, which are widened to 16 bits.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kBlock = 64;  // channels whose sums stay in registers or the first-level cache

// A plain loop, which the compiler vectorizes for each target.
void add_products(const int16_t* HWY_RESTRICT x, const int16_t* HWY_RESTRICT weights, int32_t* HWY_RESTRICT sums,
                  int64_t count) {
  for (int64_t c = 0; c < count; ++c) sums[c] += int32_t{x[c]} * int32_t{weights[c]};
}

void depthwise_i16_here(const DepthwiseI16& job) {
  for (int64_t first = 0; first < job.channels; first += kBlock) {
    const int64_t count = std::min(kBlock, job.channels - first);
    int32_t sums[kBlock] = {};
    for (int64_t t = 0; t < job.taps; ++t)
      add_products(job.x[t] + first, job.weights + t * job.channels + first, sums, count);
    for (int64_t c = 0; c < count; ++c) job.out[first + c] = sums[c] + job.bias[first + c];
  }
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(depthwise_i16_here);

void depthwise_i16(const DepthwiseI16& job) {
  HWY_DYNAMIC_DISPATCH(depthwise_i16_here)(job);
}

}  // namespace carina::kernels
#endif
