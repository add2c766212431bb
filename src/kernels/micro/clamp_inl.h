// CLAMP of a kernel's results, for inclusion in code that Highway compiles once per target.

#if defined(CARINA_CLAMP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CARINA_CLAMP_INL_H
#undef CARINA_CLAMP_INL_H
#else
#define CARINA_CLAMP_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {

// NaN fails both comparisons and stays, as CLAMP requires. Of zeros with different signs, the result is the upper
// bound.
inline float clamp_one(float value, float low, float high) {
  value = value < low ? low : value;
  return value >= high ? high : value;
}

template <typename V>
HWY_INLINE V clamp_vector(V value, V low, V high) {
  namespace hn = hwy::HWY_NAMESPACE;
  value = hn::IfThenElse(hn::Lt(value, low), low, value);
  return hn::IfThenElse(hn::Ge(value, high), high, value);
}

}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
