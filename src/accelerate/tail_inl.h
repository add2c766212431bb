// Loads and stores of the first elements of a vector. Files that are compiled once per vector target include it, so it
// has no include guard.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace carina::accelerate::HWY_NAMESPACE {
namespace {

// Loads and stores `count` elements without access to the memory after them. The other lanes are 0.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_first(D d, const float* from, int64_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_ARCH_X86
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else
  float lanes[HWY_LANES(float)] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::LoadU(d, lanes);
#endif
}

template <class D>
HWY_INLINE void store_first(hwy::HWY_NAMESPACE::Vec<D> value, D d, float* to, int64_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_ARCH_X86
  hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(count)), d, to);
#else
  float lanes[HWY_LANES(float)];
  hn::StoreU(value, d, lanes);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

// Loads the lanes [first, end) of a vector. The other lanes are 0, and their memory is not accessed.
template <class D>
class LanesInside {
 public:
#if HWY_ARCH_X86
  HWY_INLINE LanesInside(D d, size_t first, size_t end)
      : mask_(hwy::HWY_NAMESPACE::AndNot(hwy::HWY_NAMESPACE::FirstN(d, first), hwy::HWY_NAMESPACE::FirstN(d, end))) {}
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load(D d, const float* from) const {
    return hwy::HWY_NAMESPACE::MaskedLoad(mask_, d, from);
  }

 private:
  hwy::HWY_NAMESPACE::Mask<D> mask_;
#else
  HWY_INLINE LanesInside(D /*d*/, size_t first, size_t end) : first_(first), end_(end) {}
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load(D d, const float* from) const {
    if (first_ == 0 && end_ == HWY_LANES(float)) return hwy::HWY_NAMESPACE::LoadU(d, from);
    float lanes[HWY_LANES(float)] = {};
    for (size_t i = first_; i < end_; ++i) lanes[i] = from[i];
    return hwy::HWY_NAMESPACE::LoadU(d, lanes);
  }

 private:
  size_t first_, end_;
#endif
};

// Loads all lanes, or the first `count` if kPart is set.
template <bool kPart, class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_lanes(D d, const float* from, int64_t count) {
  if constexpr (kPart) return load_first(d, from, count);
  return hwy::HWY_NAMESPACE::LoadU(d, from);
}
template <bool kPart, class D>
HWY_INLINE void store_lanes(hwy::HWY_NAMESPACE::Vec<D> value, D d, float* to, int64_t count) {
  if constexpr (kPart) return store_first(value, d, to, count);
  hwy::HWY_NAMESPACE::StoreU(value, d, to);
}

// NaN propagates.
HWY_INLINE float clamped(float value, float low, float high) {
  value = value < low ? low : value;
  return value > high ? high : value;
}
// A maximum or minimum that propagates NaN: if an operand is NaN, x86's instruction returns the second operand.
template <class V>
HWY_INLINE V clamped(V value, V low, V high) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_ARCH_X86
  return hn::Min(high, hn::Max(low, value));
#else
  value = hn::IfThenElse(hn::Lt(value, low), low, value);
  return hn::IfThenElse(hn::Gt(value, high), high, value);
#endif
}

}  // namespace
}  // namespace carina::accelerate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
