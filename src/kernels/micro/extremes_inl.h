// Extremes of the vectors that a kernel writes, for inclusion in code that Highway compiles once per target.

#if defined(CARINA_EXTREMES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CARINA_EXTREMES_INL_H
#undef CARINA_EXTREMES_INL_H
#else
#define CARINA_EXTREMES_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/micro/extremes.h"

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {

// Vectors cannot be members on every target, so the caller holds them.
template <typename V, typename M>
HWY_INLINE void see(V v, V& min, V& max, M& not_numbers) {
  namespace hn = hwy::HWY_NAMESPACE;
  min = hn::Min(v, min);
  max = hn::Max(v, max);
  not_numbers = hn::Or(not_numbers, hn::IsNaN(v));
}

// Adding +0 turns -0 into +0. Otherwise the order of the vectors would decide which zero is the extreme.
template <typename D, typename V, typename M>
HWY_INLINE Extremes seen(D d, V min, V max, M not_numbers) {
  namespace hn = hwy::HWY_NAMESPACE;
  return {.min = hn::GetLane(hn::MinOfLanes(d, min)) + 0.0F,
          .max = hn::GetLane(hn::MaxOfLanes(d, max)) + 0.0F,
          .numbers = hn::AllFalse(d, not_numbers)};
}

inline Extremes seen(float value) {
  return {.min = value + 0.0F, .max = value + 0.0F, .numbers = value == value};
}

}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
