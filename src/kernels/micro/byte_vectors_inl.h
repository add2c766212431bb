// Converts sums in registers to bytes, on AVX3_DL. Highway 1.0 does not have all instructions of that target. The file
// is compiled once per target, so it has no include guard.
#if HWY_TARGET == HWY_AVX3_DL

// Highway 1.0 requires VNNI when it chooses this target, but does not let the compiler use it.
#undef HWY_TARGET_STR
#define HWY_TARGET_STR \
  HWY_TARGET_STR_AVX3 ",vpclmulqdq,avx512vbmi,avx512vbmi2,vaes,avxvnni,avx512bitalg,avx512vpopcntdq,avx512vnni"

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

// sum + the products of four unsigned bytes of each lane of u with the signed bytes of s, for vectors of 32 and 16
// bytes. It is in assembly because the target's list has avxvnni, so GCC would encode the intrinsic as an AVX-VNNI
// instruction (VEX). Processors with AVX512-VNNI alone (AMD's Zen 4) do not have that instruction. Without a prefix,
// the assembler uses the AVX512 form (EVEX).
template <class V>
HWY_INLINE V dot_evex(V sum, V u, V s) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(u), "v"(s));
  return sum;
}

// The instructions for vectors of 64, 32 and 16 bytes, with the same names.
struct Bytes64 {
  using V = __m512i;
  using Mask = __mmask64;
  static constexpr int64_t kBytes = 64;
  static HWY_INLINE V load(const void* from) { return _mm512_loadu_si512(from); }
  static HWY_INLINE V load(Mask m, const int8_t* from) { return _mm512_maskz_loadu_epi8(m, from); }
  static HWY_INLINE void store(Mask m, int8_t* to, V v) { _mm512_mask_storeu_epi8(to, m, v); }
  static HWY_INLINE V bytes(int8_t v) { return _mm512_set1_epi8(v); }
  static HWY_INLINE V shorts(int16_t v) { return _mm512_set1_epi16(v); }
  static HWY_INLINE V longs(int64_t v) { return _mm512_set1_epi64(v); }
  static HWY_INLINE V flipped(V a, V b) { return _mm512_xor_si512(a, b); }
  static HWY_INLINE V low8(V a, V b) { return _mm512_unpacklo_epi8(a, b); }
  static HWY_INLINE V high8(V a, V b) { return _mm512_unpackhi_epi8(a, b); }
  static HWY_INLINE V low16(V a, V b) { return _mm512_unpacklo_epi16(a, b); }
  static HWY_INLINE V high16(V a, V b) { return _mm512_unpackhi_epi16(a, b); }
  static HWY_INLINE V dot(V sum, V u, V s) { return _mm512_dpbusd_epi32(sum, u, s); }
  static HWY_INLINE V add32(V a, V b) { return _mm512_add_epi32(a, b); }
  static HWY_INLINE V add64(V a, V b) { return _mm512_add_epi64(a, b); }
  static HWY_INLINE V multiply(V a, V b) { return _mm512_mul_epi32(a, b); }
  static HWY_INLINE V odd(V a) { return _mm512_shuffle_epi32(a, _MM_PERM_DDBB); }
  // The upper halves of the products of even and odd lanes.
  static HWY_INLINE V upper(V even, V odd) { return _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB); }
  static HWY_INLINE V shift(V a, V bits) { return _mm512_srav_epi32(a, bits); }
  static HWY_INLINE V sign(V a) { return _mm512_srai_epi32(a, 31); }
  static HWY_INLINE V pack32(V a, V b) { return _mm512_packs_epi32(a, b); }
  static HWY_INLINE V pack16(V a, V b) { return _mm512_packs_epi16(a, b); }
  static HWY_INLINE V add16(V a, V b) { return _mm512_adds_epi16(a, b); }
  static HWY_INLINE V min(V a, V b) { return _mm512_min_epi8(a, b); }
  static HWY_INLINE V max(V a, V b) { return _mm512_max_epi8(a, b); }
};

struct Bytes32 {
  using V = __m256i;
  using Mask = __mmask32;
  static constexpr int64_t kBytes = 32;
  static HWY_INLINE V load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  static HWY_INLINE V load(Mask m, const int8_t* from) { return _mm256_maskz_loadu_epi8(m, from); }
  static HWY_INLINE void store(Mask m, int8_t* to, V v) { _mm256_mask_storeu_epi8(to, m, v); }
  static HWY_INLINE V bytes(int8_t v) { return _mm256_set1_epi8(v); }
  static HWY_INLINE V shorts(int16_t v) { return _mm256_set1_epi16(v); }
  static HWY_INLINE V longs(int64_t v) { return _mm256_set1_epi64x(v); }
  static HWY_INLINE V flipped(V a, V b) { return _mm256_xor_si256(a, b); }
  static HWY_INLINE V low8(V a, V b) { return _mm256_unpacklo_epi8(a, b); }
  static HWY_INLINE V high8(V a, V b) { return _mm256_unpackhi_epi8(a, b); }
  static HWY_INLINE V low16(V a, V b) { return _mm256_unpacklo_epi16(a, b); }
  static HWY_INLINE V high16(V a, V b) { return _mm256_unpackhi_epi16(a, b); }
  static HWY_INLINE V dot(V sum, V u, V s) { return dot_evex(sum, u, s); }
  static HWY_INLINE V add32(V a, V b) { return _mm256_add_epi32(a, b); }
  static HWY_INLINE V add64(V a, V b) { return _mm256_add_epi64(a, b); }
  static HWY_INLINE V multiply(V a, V b) { return _mm256_mul_epi32(a, b); }
  static HWY_INLINE V odd(V a) { return _mm256_shuffle_epi32(a, 0xF5); }
  static HWY_INLINE V upper(V even, V odd) { return _mm256_mask_shuffle_epi32(odd, 0x55, even, _MM_PERM_DDBB); }
  static HWY_INLINE V shift(V a, V bits) { return _mm256_srav_epi32(a, bits); }
  static HWY_INLINE V sign(V a) { return _mm256_srai_epi32(a, 31); }
  static HWY_INLINE V pack32(V a, V b) { return _mm256_packs_epi32(a, b); }
  static HWY_INLINE V pack16(V a, V b) { return _mm256_packs_epi16(a, b); }
  static HWY_INLINE V add16(V a, V b) { return _mm256_adds_epi16(a, b); }
  static HWY_INLINE V min(V a, V b) { return _mm256_min_epi8(a, b); }
  static HWY_INLINE V max(V a, V b) { return _mm256_max_epi8(a, b); }
};

struct Bytes16 {
  using V = __m128i;
  using Mask = __mmask16;
  static constexpr int64_t kBytes = 16;
  static HWY_INLINE V load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
  static HWY_INLINE V load(Mask m, const int8_t* from) { return _mm_maskz_loadu_epi8(m, from); }
  static HWY_INLINE void store(Mask m, int8_t* to, V v) { _mm_mask_storeu_epi8(to, m, v); }
  static HWY_INLINE V bytes(int8_t v) { return _mm_set1_epi8(v); }
  static HWY_INLINE V shorts(int16_t v) { return _mm_set1_epi16(v); }
  static HWY_INLINE V longs(int64_t v) { return _mm_set1_epi64x(v); }
  static HWY_INLINE V flipped(V a, V b) { return _mm_xor_si128(a, b); }
  static HWY_INLINE V low8(V a, V b) { return _mm_unpacklo_epi8(a, b); }
  static HWY_INLINE V high8(V a, V b) { return _mm_unpackhi_epi8(a, b); }
  static HWY_INLINE V low16(V a, V b) { return _mm_unpacklo_epi16(a, b); }
  static HWY_INLINE V high16(V a, V b) { return _mm_unpackhi_epi16(a, b); }
  static HWY_INLINE V dot(V sum, V u, V s) { return dot_evex(sum, u, s); }
  static HWY_INLINE V add32(V a, V b) { return _mm_add_epi32(a, b); }
  static HWY_INLINE V add64(V a, V b) { return _mm_add_epi64(a, b); }
  static HWY_INLINE V multiply(V a, V b) { return _mm_mul_epi32(a, b); }
  static HWY_INLINE V odd(V a) { return _mm_shuffle_epi32(a, 0xF5); }
  static HWY_INLINE V upper(V even, V odd) { return _mm_mask_shuffle_epi32(odd, 0x5, even, _MM_PERM_DDBB); }
  static HWY_INLINE V shift(V a, V bits) { return _mm_srav_epi32(a, bits); }
  static HWY_INLINE V sign(V a) { return _mm_srai_epi32(a, 31); }
  static HWY_INLINE V pack32(V a, V b) { return _mm_packs_epi32(a, b); }
  static HWY_INLINE V pack16(V a, V b) { return _mm_packs_epi16(a, b); }
  static HWY_INLINE V add16(V a, V b) { return _mm_adds_epi16(a, b); }
  static HWY_INLINE V min(V a, V b) { return _mm_min_epi8(a, b); }
  static HWY_INLINE V max(V a, V b) { return _mm_max_epi8(a, b); }
};

// One vector of channels of an Int8Epilogue.
template <class W>
struct EpilogueVector {
  typename W::V column, multiplier, odd_multiplier, addend, shift;

  HWY_INLINE EpilogueVector(const Int8Epilogue& epilogue, int64_t at)
      : column(W::load(epilogue.column.data() + at)),
        multiplier(W::load(epilogue.multiplier.data() + at)),
        odd_multiplier(W::odd(multiplier)),
        addend(W::load(epilogue.addend.data() + at)),
        shift(W::load(epilogue.shift.data() + at)) {}

  template <ByteRule kRule>
  HWY_INLINE typename W::V scaled(typename W::V sum) const {
    sum = W::add32(sum, column);
    if constexpr (kRule == ByteRule::kRescale) {
      const auto high = W::upper(W::multiply(sum, multiplier), W::multiply(W::odd(sum), odd_multiplier));
      return W::shift(W::add32(high, addend), shift);
    } else {
      const auto half = W::longs(int64_t{1} << 31);
      const auto twice = W::add32(sum, sum);
      const auto high = W::upper(W::add64(W::multiply(twice, multiplier), half),
                                 W::add64(W::multiply(W::odd(twice), odd_multiplier), half));
      return W::shift(W::add32(W::add32(high, addend), W::sign(high)), shift);
    }
  }
};

// Converts four vectors of scaled sums to bytes: each 16 bytes hold four of the first, four of the second, and so on.
template <class W>
HWY_INLINE typename W::V packed_bytes(const Int8Epilogue& f, typename W::V a, typename W::V b, typename W::V c,
                                      typename W::V d) {
  const auto zero_point = W::shorts(static_cast<int16_t>(f.zero_point));
  const auto first = W::add16(W::pack32(a, b), zero_point), second = W::add16(W::pack32(c, d), zero_point);
  return W::min(W::max(W::pack16(first, second), W::bytes(f.low)), W::bytes(f.high));
}

template <class W>
HWY_INLINE typename W::Mask first_bytes(int64_t count) {
  const auto all = static_cast<typename W::Mask>(~uint64_t{0});
  return count >= W::kBytes ? all : static_cast<typename W::Mask>((uint64_t{1} << count) - 1);
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
