#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/gather.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include "kernels/micro/microkernels.h"

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

// All indices are checked before the first is used. The sign bits of all of them together say whether one is outside of
// [-size, size) or negative; such a loop becomes vectors. Unsigned sums, because indices may be any numbers.
bool gather_here(const GatherRow& row) {
  const int64_t* HWY_RESTRICT index = row.index;
  const auto size = static_cast<uint64_t>(row.size);
  uint64_t outside = 0, negative = 0;
  for (int64_t i = 0; i < row.count; ++i) {
    const auto at = static_cast<uint64_t>(index[i]);
    outside |= (at + size) | (size - 1 - at);
    negative |= at;
  }
  if (static_cast<int64_t>(outside) < 0) return false;
  const float* in = row.in;
  float* HWY_RESTRICT out = row.out;
  if (static_cast<int64_t>(negative) < 0) {
    for (int64_t i = 0; i < row.count; ++i)
      out[i] = in[(index[i] + (index[i] < 0 ? row.size : 0)) * row.stride + i * row.step];
  } else if (row.step == 0 && row.stride == 1) {
    for (int64_t i = 0; i < row.count; ++i) out[i] = in[index[i]];
  } else {
    for (int64_t i = 0; i < row.count; ++i) out[i] = in[index[i] * row.stride + i * row.step];
  }
  return true;
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(gather_here);

bool gather_row(const GatherRow& row) {
  return HWY_DYNAMIC_DISPATCH(gather_here)(row);
}

}  // namespace carina::kernels
#endif
