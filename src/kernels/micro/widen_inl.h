// Integers as vectors of i32, for inclusion in code that Highway compiles once per target.

#if defined(CARINA_WIDEN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CARINA_WIDEN_INL_H
#undef CARINA_WIDEN_INL_H
#else
#define CARINA_WIDEN_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {

// As many elements as a vector of i32 has.
template <typename In>
HWY_INLINE auto load_i32(const In* in) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<int32_t> d32;
  if constexpr (sizeof(In) == 4) {
    return hn::LoadU(d32, in);
  } else {
    return hn::PromoteTo(d32, hn::LoadU(hn::Rebind<In, hn::ScalableTag<int32_t>>(), in));
  }
}

}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
