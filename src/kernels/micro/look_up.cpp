#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/look_up.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include "kernels/micro/microkernels.h"

// Functions of bytes given as tables. A shuffle looks the lower four bits of a byte up in 16 entries. This is done in
// all 16 parts of the table, and each higher bit chooses between the halves of what is left: 16 shuffles and 15
// choices. With vectors of 16 bytes, one element at a time is as fast.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

using D8 = hn::ScalableTag<int8_t>;
using V8 = hn::Vec<D8>;

// The entries of 2^kBits parts. The highest bit of each byte of bits[i] is bit 4 + i of the index.
template <int kBits>
HWY_INLINE V8 entries(const int8_t* parts, V8 lowest, const V8* bits) {
  if constexpr (kBits == 0) {
    return hn::TableLookupBytes(hn::LoadDup128(D8(), parts), lowest);
  } else {
    const V8 low = entries<kBits - 1>(parts, lowest, bits);
    const V8 high = entries<kBits - 1>(parts + (16 << (kBits - 1)), lowest, bits);
    return hn::IfNegativeThenElse(bits[kBits - 1], high, low);
  }
}

#endif

void look_up_here(const int8_t* table, const int8_t* in, int8_t* out, int64_t count) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D8()) > 16) {
    const D8 d8;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d8));
    for (; i + lanes <= count; i += lanes) {
      const V8 index = hn::Xor(hn::LoadU(d8, in + i), hn::Set(d8, INT8_MIN));
      V8 bits[4];
      bits[3] = index;
      for (int bit = 3; bit > 0; --bit) bits[bit - 1] = hn::Add(bits[bit], bits[bit]);
      hn::StoreU(entries<4>(table, hn::And(index, hn::Set(d8, 0x0F)), bits), d8, out + i);
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
