// Vectors of i32 as bytes, for inclusion in code that Highway compiles once per target.

#if defined(CARINA_NARROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CARINA_NARROW_INL_H
#undef CARINA_NARROW_INL_H
#else
#define CARINA_NARROW_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

// Narrows two vectors of i32 to bytes and stores these in order, saturated. Packing joins the blocks of 128 bits of
// both vectors; one permutation of the bytes' blocks puts them in order.
struct StoreBytes {
  using D32 = hwy::HWY_NAMESPACE::ScalableTag<int32_t>;
  using V32 = hwy::HWY_NAMESPACE::Vec<D32>;
  using D16 = hwy::HWY_NAMESPACE::Repartition<int16_t, D32>;
  using D8 = hwy::HWY_NAMESPACE::Rebind<int8_t, D16>;
  using DBlocks = hwy::HWY_NAMESPACE::Repartition<uint32_t, D8>;  // of the four bytes that were one block
  static constexpr size_t kBlocks = hwy::HWY_NAMESPACE::MaxLanes(DBlocks());

  HWY_INLINE StoreBytes() {
    namespace hn = hwy::HWY_NAMESPACE;
    HWY_ALIGN int16_t places[hn::MaxLanes(D16())];
    const D32 d32;
    const auto lanes = static_cast<int32_t>(hn::Lanes(d32));
    hn::Store(hn::ReorderDemote2To(D16(), hn::Iota(d32, 0), hn::Iota(d32, lanes)), D16(), places);
    for (uint32_t block = 0; block < kBlocks; ++block) order[places[4 * block] / 4] = static_cast<int32_t>(block);
  }

  HWY_INLINE void operator()(V32 a, V32 b, int8_t* out) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const auto bytes = hn::DemoteTo(D8(), hn::ReorderDemote2To(D16(), a, b));
    if constexpr (kBlocks <= 2) {
      hn::StoreU(bytes, D8(), out);
    } else {
      const auto blocks = hn::TableLookupLanes(hn::BitCast(DBlocks(), bytes), hn::SetTableIndices(DBlocks(), order));
      hn::StoreU(hn::BitCast(D8(), blocks), D8(), out);
    }
  }
  // Stores four vectors. With vectors of 32 bytes, one permutation suffices for all of them.
  HWY_INLINE void four(V32 a, V32 b, V32 c, V32 d, int8_t* out) const {
#if HWY_TARGET == HWY_AVX2
    const __m256i shorts_ab = _mm256_packs_epi32(a.raw, b.raw), shorts_cd = _mm256_packs_epi32(c.raw, d.raw);
    const __m256i places = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(shorts_ab, shorts_cd), places);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), bytes);
#else
    (*this)(a, b, out);
    (*this)(c, d, out + 2 * static_cast<int64_t>(hwy::HWY_NAMESPACE::Lanes(D32())));
#endif
  }

  HWY_ALIGN int32_t order[kBlocks] = {};
};

#endif

}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
