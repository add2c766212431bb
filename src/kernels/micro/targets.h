#pragma once

// The processors that the vector kernels are compiled for. Include it before any Highway header. Older processors use
// the scalar code. AVX3_DL is left out where no kernel uses its instructions, because its code would equal that of AVX3
// (docs/performance.md 10). SVE is left out because vectors whose length is known only at run time cannot be members of
// structs and arrays; NEON is used instead.
#ifdef CARINA_SANITIZED  // AVX2 and the scalar code: AVX3 alone would take a tenth of that build
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
