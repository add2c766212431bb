#include "kernels/micro/targets_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/look_up.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include "kernels/micro/microkernels.h"

// Functions of bytes given as tables. A shuffle looks bytes up in 16 entries, so each vector passes 16 parts of the
// table, each of which gives the results for its indices and zeros for the others. With vectors of 16 bytes, one
// element at a time is as fast.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void look_up_here(const int8_t* table, const int8_t* in, int8_t* out, int64_t count) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  using D8 = hn::ScalableTag<uint8_t>;
  if constexpr (hn::MaxLanes(D8()) > 16) {
    const D8 d8;
    using V8 = hn::Vec<D8>;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d8));
    const auto load = [&](int64_t at) HWY_ATTR {
      return hn::Xor(hn::LoadU(d8, reinterpret_cast<const uint8_t*>(in) + at), hn::Set(d8, 0x80));
    };
    const auto store = [&](V8 bytes, int64_t at)
                           HWY_ATTR { hn::StoreU(bytes, d8, reinterpret_cast<uint8_t*>(out) + at); };
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      const V8 a = load(i), b = load(i + lanes);
      V8 found_a = hn::Zero(d8), found_b = hn::Zero(d8);
      for (int part = 0; part < 16; ++part) {
        const V8 entries = hn::LoadDup128(d8, reinterpret_cast<const uint8_t*>(table) + 16 * part);
        const V8 first = hn::Set(d8, static_cast<uint8_t>(16 * part)), limit = hn::Set(d8, 0x70);
        // Indices outside of the part get their highest bit set, which gives 0.
        found_a = hn::Or(found_a, hn::TableLookupBytesOr0(entries, hn::SaturatedAdd(hn::Xor(a, first), limit)));
        found_b = hn::Or(found_b, hn::TableLookupBytesOr0(entries, hn::SaturatedAdd(hn::Xor(b, first), limit)));
      }
      store(found_a, i);
      store(found_b, i + lanes);
    }
  }
#endif
  for (; i < count; ++i) out[i] = table[in[i] + 128];
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(look_up_here);

void look_up(const int8_t* table, const int8_t* in, int8_t* out, int64_t count) {
  HWY_DYNAMIC_DISPATCH(look_up_here)(table, in, out, count);
}

}  // namespace carina::kernels
#endif
