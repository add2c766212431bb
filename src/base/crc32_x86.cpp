// CRC-32 by products without carries (PCLMULQDQ): V. Gopal and others, "Fast CRC Computation for Generic Polynomials Using
// PCLMULQDQ Instruction", Intel, 2009; the constants are those of its table for the reflected polynomial of IEEE 802.3.
#include "base/crc32_internal.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

namespace carina {

namespace {

bool has_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kPclmul = 1U << 1, kSse41 = 1U << 19;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kPclmul) != 0 && (c & kSse41) != 0;
}

#define CARINA_CLMUL __attribute__((target("pclmul,sse4.1")))

CARINA_CLMUL __m128i block_at(const std::byte* bytes, size_t block) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + block);
}

// What `remainder` is worth so many blocks later as the factors say, and the block that stands there.
CARINA_CLMUL __m128i folded(__m128i remainder, __m128i factors, __m128i block) {
  const __m128i low = _mm_clmulepi64_si128(remainder, factors, 0x00);
  const __m128i high = _mm_clmulepi64_si128(remainder, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), block);
}

// From 128 bits to 64, then to the 32 of the remainder by Barrett's way.
CARINA_CLMUL uint32_t reduced(__m128i x, __m128i one_block) {
  const __m128i low_words = _mm_setr_epi32(~0, 0, ~0, 0);
  const __m128i half_block = _mm_set_epi64x(0, 0x0163cd6124);
  const __m128i polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641);
  x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, one_block, 0x10));
  x = _mm_xor_si128(_mm_srli_si128(x, 4), _mm_clmulepi64_si128(_mm_and_si128(x, low_words), half_block, 0x00));
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(x, low_words), polynomial, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_words), polynomial, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(x, quotient), 1));
}

CARINA_CLMUL uint32_t crc_of(std::span<const std::byte> bytes, uint32_t before) {
  const __m128i four_blocks = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
  const __m128i one_block = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  __m128i x[4];
  for (size_t i = 0; i < 4; ++i) x[i] = block_at(bytes.data(), i);
  x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128(static_cast<int>(~before)));
  bytes = bytes.subspan(kCrcLeastBytes);
  for (; bytes.size() >= kCrcLeastBytes; bytes = bytes.subspan(kCrcLeastBytes)) {
    for (size_t i = 0; i < 4; ++i) x[i] = folded(x[i], four_blocks, block_at(bytes.data(), i));
  }
  for (size_t i = 1; i < 4; ++i) x[0] = folded(x[0], one_block, x[i]);
  for (; !bytes.empty(); bytes = bytes.subspan(kCrcBlockBytes))
    x[0] = folded(x[0], one_block, block_at(bytes.data(), 0));
  return ~reduced(x[0], one_block);
}

#undef CARINA_CLMUL

}  // namespace

std::optional<uint32_t> crc32_in_hardware(std::span<const std::byte> blocks, uint32_t before) {
  static const bool kHas = has_instructions();
  return kHas ? std::optional(crc_of(blocks, before)) : std::nullopt;
}

}  // namespace carina
#else
namespace carina {

std::optional<uint32_t> crc32_in_hardware(std::span<const std::byte> /*blocks*/, uint32_t /*before*/) {
  return std::nullopt;
}

}  // namespace carina
#endif
