#include <cstddef>
#include <type_traits>

#include "simulate/vectors/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simulate/vectors/simd_output.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// The output stage on vectors: bias, scale with one rounding, activation limits, and narrowing to the OFM's type.
//   Example: (acc + bias) * scale >> shift with rounding, + zero point, clamped to [min, max], stored as int8.
HWY_BEFORE_NAMESPACE();
namespace carina::simulate::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::CappedTag<int32_t, kChannelGroup>;
using D64 = hn::RepartitionToWide<D32>;
using V32 = hn::Vec<D32>;
using V64 = hn::Vec<D64>;

// (product + round) >> shift for one half of the lanes, `at` being their place in the per-channel arrays.
HWY_INLINE V64 shift_product(V64 product, const ChannelScales& s, size_t at) {
  const D64 d;
  // Not IfNegativeThenElse: Highway 1.0.3 gets it wrong for 64-bit lanes on SSSE3.
  const V64 sign = hn::BroadcastSignBit(product);
  const V64 positive = hn::LoadU(d, s.round_positive + at);
  const V64 round = hn::Xor(positive, hn::And(sign, hn::Xor(positive, hn::LoadU(d, s.round_negative + at))));
  return hn::Shr(hn::Add(product, round), hn::LoadU(d, s.shift + at));
}

template <typename T>
HWY_INLINE void store(V32 v, T* out) {
  if constexpr (sizeof(T) == 4) {
    hn::StoreU(v, D32(), out);
  } else {
    hn::StoreU(hn::DemoteTo(hn::Rebind<T, D32>(), v), hn::Rebind<T, D32>(), out);
  }
}

// Channels of the first pixels.
struct Block {
  size_t channels;
  size_t pixels;
};

#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3

// A vector's channels of scale_upper().
template <bool kRaised>
struct UpperScales {
  __m512i bias, raise, multiplier, odd_multiplier, round, shift;

  HWY_INLINE UpperScales(const ChannelScales& s, size_t at)
      : bias(_mm512_loadu_si512(s.bias + at)),
        raise(kRaised ? _mm512_loadu_si512(s.upper_raise + at) : _mm512_setzero_si512()),
        multiplier(_mm512_loadu_si512(s.multiplier + at)),
        odd_multiplier(_mm512_shuffle_epi32(multiplier, _MM_PERM_DDBB)),
        round(_mm512_loadu_si512(s.upper_round + at)),
        shift(_mm512_loadu_si512(s.upper_shift + at)) {}

  HWY_INLINE __m512i scaled(const int32_t* acc) const {
    __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(acc), bias);
    if constexpr (kRaised) sum = _mm512_sllv_epi32(sum, raise);
    const __m512i even = _mm512_mul_epi32(sum, multiplier);
    const __m512i odd = _mm512_mul_epi32(_mm512_shuffle_epi32(sum, _MM_PERM_DDBB), odd_multiplier);
    const __m512i upper = _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
    return _mm512_srav_epi32(_mm512_add_epi32(upper, round), shift);
  }
};

// Four vectors of bytes are narrowed together, and limited as bytes: kAcross vectors of channels from `c` on, of as
// many pixels as make four. Saturation on the way takes nothing that the limits leave, as zero points are small. Gives
// how many pixels it has done.
template <typename T, bool kRaised, size_t kAcross>
size_t scale_fours(const OutputTask& task, size_t c) {
  constexpr size_t kPixels = 4 / kAcross;
  const size_t step = kPixels * task.channels;
  const auto channel = [](size_t vector) { return vector % kAcross * kChannelGroup; };
  const auto index = [&](size_t vector) { return vector / kAcross * task.channels + channel(vector); };
  const UpperScales<kRaised> first(task.scales, c), second(task.scales, c + channel(1)),
      third(task.scales, c + channel(2)), fourth(task.scales, c + channel(3));
  const size_t at_second = index(1), at_third = index(2), at_fourth = index(3);
  const __m512i zero_point = _mm512_set1_epi16(static_cast<int16_t>(task.zero_point));
  const __m512i low = _mm512_set1_epi8(static_cast<int8_t>(task.min)),
                high = _mm512_set1_epi8(static_cast<int8_t>(task.max));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const int32_t* acc = task.acc + c;
  std::byte* out = task.out + c;
  size_t p = 0;
  for (; p + kPixels <= task.pixels; p += kPixels, acc += step, out += step) {
    const __m512i a =
        _mm512_adds_epi16(_mm512_packs_epi32(first.scaled(acc), second.scaled(acc + at_second)), zero_point);
    const __m512i b =
        _mm512_adds_epi16(_mm512_packs_epi32(third.scaled(acc + at_third), fourth.scaled(acc + at_fourth)), zero_point);
    __m512i bytes;
    if constexpr (std::is_signed_v<T>) {
      bytes = _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(a, b), low), high);
    } else {
      bytes = _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(a, b), low), high);
    }
    bytes = _mm512_permutexvar_epi32(order, bytes);
    if constexpr (kAcross == 4) {
      _mm512_storeu_si512(out, bytes);
    } else if constexpr (kAcross == 2) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(bytes));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at_third), _mm512_extracti64x4_epi64(bytes, 1));
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_castsi512_si128(bytes));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at_second), _mm512_extracti32x4_epi32(bytes, 1));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at_third), _mm512_extracti32x4_epi32(bytes, 2));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at_fourth), _mm512_extracti32x4_epi32(bytes, 3));
    }
  }
  return p;
}

// What it does of the channels from `c` on: so many of them, of so many pixels.
template <typename T, bool kRaised>
Block scale_by_fours(const OutputTask& task, size_t c) {
  constexpr int32_t kSmall = 255;
  const size_t left = task.channels - c;
  if (sizeof(T) != 1 || task.zero_point < -kSmall || task.zero_point > kSmall) return {.channels = left, .pixels = 0};
  if (left >= 4 * kChannelGroup) return {4 * kChannelGroup, scale_fours<T, kRaised, 4>(task, c)};
  if (left >= 2 * kChannelGroup) return {2 * kChannelGroup, scale_fours<T, kRaised, 2>(task, c)};
  return {kChannelGroup, scale_fours<T, kRaised, 1>(task, c)};
}

#else

template <typename T, bool kRaised>
Block scale_by_fours(const OutputTask& task, size_t c) {
  return {.channels = task.channels - c, .pixels = 0};
}

#endif

// Half of the products' bits do: what is added and shifted out are whole multiples of 2^32.
template <typename T, bool kRaised, bool kSigned>
void scale_upper(const OutputTask& task, size_t c, size_t first_pixel) {
  const D32 d;
  const V32 zero_point = hn::Set(d, task.zero_point);
  const V32 low = hn::Set(d, task.min);
  const V32 high = hn::Set(d, task.max);
  const ChannelScales& s = task.scales;
  const V32 bias = hn::LoadU(d, s.bias + c);
  const V32 raise = kRaised ? hn::LoadU(d, s.upper_raise + c) : hn::Zero(d);
  const V32 multiplier = hn::LoadU(d, s.multiplier + c);
  const V32 odd_multiplier = hn::DupOdd(multiplier);
  const V32 round = hn::LoadU(d, s.upper_round + c);
  const V32 change = kSigned ? hn::Xor(round, hn::LoadU(d, s.upper_round_negative + c)) : hn::Zero(d);
  const V32 shift = hn::LoadU(d, s.upper_shift + c);
  const int32_t* acc = task.acc + first_pixel * task.channels + c;
  T* out = reinterpret_cast<T*>(task.out) + first_pixel * task.channels + c;
  for (size_t p = first_pixel; p < task.pixels; ++p, acc += task.channels, out += task.channels) {
    V32 sum = hn::Add(hn::LoadU(d, acc), bias);
    if constexpr (kRaised) sum = hn::Shl(sum, raise);
    const V32 even = hn::BitCast(d, hn::MulEven(sum, multiplier));
    const V32 odd = hn::BitCast(d, hn::MulEven(hn::DupOdd(sum), odd_multiplier));
    const V32 upper = hn::OddEven(odd, hn::DupOdd(even));
    const V32 term = kSigned ? hn::Xor(round, hn::And(hn::BroadcastSignBit(upper), change)) : round;
    const V32 result = hn::Shr(hn::Add(upper, term), shift);
    store(hn::Min(hn::Max(hn::Add(result, zero_point), low), high), out);
  }
}

template <typename T, bool kRaised>
void scale_all_upper(const OutputTask& task) {
  constexpr size_t lanes = hn::MaxLanes(D32());
  if (task.scales.upper_round_negative != nullptr) {
    for (size_t c = 0; c < task.channels; c += lanes) scale_upper<T, kRaised, true>(task, c, 0);
    return;
  }
  for (size_t c = 0; c < task.channels;) {
    const Block done = scale_by_fours<T, kRaised>(task, c);
    for (const size_t end = c + done.channels; c < end; c += lanes)
      scale_upper<T, kRaised, false>(task, c, done.pixels);
  }
}

template <typename T>
void scale(const OutputTask& task) {
  if (task.scales.upper_raise != nullptr) return scale_all_upper<T, true>(task);
  if (task.scales.upper_round != nullptr) return scale_all_upper<T, false>(task);
  const D32 d;
  constexpr size_t lanes = hn::MaxLanes(D32());
  const V32 zero_point = hn::Set(d, task.zero_point);
  const V32 low = hn::Set(d, task.min);
  const V32 high = hn::Set(d, task.max);
  const ChannelScales& s = task.scales;
  T* out = reinterpret_cast<T*>(task.out);
  const int32_t* acc = task.acc;
  for (size_t p = 0; p < task.pixels; ++p, acc += task.channels, out += task.channels) {
    for (size_t c = 0; c < task.channels; c += lanes) {
      const V32 sum = hn::Add(hn::LoadU(d, acc + c), hn::LoadU(d, s.bias + c));
      const V32 multiplier = hn::LoadU(d, s.multiplier + c);
      // Even channels of a group of 16 come first in the 64-bit arrays, then the odd ones.
      const size_t group = c / kChannelGroup * kChannelGroup;
      const size_t even = group + (c - group) / 2;
      const V64 low_half = shift_product(hn::MulEven(sum, multiplier), s, even);
      const V64 high_half =
          shift_product(hn::MulEven(hn::DupOdd(sum), hn::DupOdd(multiplier)), s, even + kChannelGroup / 2);
      const V32 result = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(high_half)), hn::BitCast(d, low_half));
      store(hn::Min(hn::Max(hn::Add(result, zero_point), low), high), out + c);
    }
  }
}

void ScaleOutput(const OutputTask& task) {
  switch (task.type) {
    case OutputType::kS8:
      return scale<int8_t>(task);
    case OutputType::kU8:
      return scale<uint8_t>(task);
    case OutputType::kS16:
      return scale<int16_t>(task);
    case OutputType::kU16:
      return scale<uint16_t>(task);
    case OutputType::kS32:
      return scale<int32_t>(task);
  }
}

}  // namespace carina::simulate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::simulate {

HWY_EXPORT(ScaleOutput);

void scale_output(const OutputTask& task) {
  HWY_DYNAMIC_DISPATCH(ScaleOutput)(task);
}

}  // namespace carina::simulate
#endif
