// SHA-256 by the SHA extensions of x86 (Intel SDM, SHA256RNDS2, SHA256MSG1, SHA256MSG2), where the processor has them.
#include "base/hash/sha256_internal.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

namespace carina::sha256_rounds {

namespace {

bool has_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kSsse3 = 1U << 9, kSse41 = 1U << 19, kSha = 1U << 29;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSsse3) == 0 || (c & kSse41) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
}

#define CARINA_SHA __attribute__((target("sha,ssse3,sse4.1")))

// Computes the next four words of the message schedule from the sixteen words before them.
CARINA_SHA __m128i next_words(__m128i w0, __m128i w4, __m128i w8, __m128i w12) {
  const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w4), _mm_alignr_epi8(w12, w8, 4));
  return _mm_sha256msg2_epu32(sum, w12);
}

CARINA_SHA void compress_block(__m128i& abef, __m128i& cdgh, const std::byte* block) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i abef_before = abef, cdgh_before = cdgh;
  __m128i w[4];  // std::array would lose the alignment of __m128i
  for (size_t i = 0; i < kRounds / 4; ++i) {
    __m128i& words = w[i % 4];
    words = i < 4 ? _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i), big_endian)
                  : next_words(words, w[(i + 1) % 4], w[(i + 2) % 4], w[(i + 3) % 4]);
    const __m128i sums = _mm_add_epi32(words, _mm_load_si128(reinterpret_cast<const __m128i*>(kConstants.data()) + i));
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sums);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sums, 0x0e));
  }
  abef = _mm_add_epi32(abef, abef_before);
  cdgh = _mm_add_epi32(cdgh, cdgh_before);
}

CARINA_SHA void compress(State& state, std::span<const std::byte> blocks) {
  const auto word = [&](size_t i) { return static_cast<int>(state[i]); };
  __m128i abef = _mm_set_epi32(word(0), word(1), word(4), word(5));
  __m128i cdgh = _mm_set_epi32(word(2), word(3), word(6), word(7));
  for (; !blocks.empty(); blocks = blocks.subspan(kBlockBytes)) compress_block(abef, cdgh, blocks.data());
  std::array<uint32_t, 4> first, second;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(first.data()), abef);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(second.data()), cdgh);
  state = {first[3], first[2], second[3], second[2], first[1], first[0], second[1], second[0]};
}

#undef CARINA_SHA

}  // namespace

bool compress_in_hardware(State& state, std::span<const std::byte> blocks) {
  static const bool kHas = has_instructions();
  if (kHas) compress(state, blocks);
  return kHas;
}

}  // namespace carina::sha256_rounds

#else

namespace carina::sha256_rounds {

bool compress_in_hardware(State&, std::span<const std::byte>) {
  return false;
}

}  // namespace carina::sha256_rounds

#endif
