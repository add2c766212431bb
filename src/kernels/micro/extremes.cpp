#include "kernels/micro/extremes.h"

#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/extremes.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"
#include "kernels/micro/extremes_inl.h"

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void extremes_here(const float* in, size_t count, Extremes& found) {
  const hn::ScalableTag<float> d;
  const size_t wide = hn::Lanes(d);
  size_t i = 0;
  if (count >= wide) {
    auto min = hn::LoadU(d, in), max = min;
    auto not_numbers = hn::IsNaN(min);
    for (i = wide; i + wide <= count; i += wide) see(hn::LoadU(d, in + i), min, max, not_numbers);
    found = seen(d, min, max, not_numbers);
  }
  for (; i < count; ++i) found.add(seen(in[i]));
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(extremes_here);

namespace {
Extremes best_extremes(std::span<const float> elements) {
  Extremes found;
  HWY_DYNAMIC_DISPATCH(extremes_here)(elements.data(), elements.size(), found);
  return found;
}
}  // namespace

Extremes extremes_of(std::span<const float> elements) {
  return best_extremes(elements);
}

}  // namespace carina::kernels
#endif
