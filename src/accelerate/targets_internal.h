#pragma once

// The processors for which the vector kernels are compiled. Include this file before any Highway header. Older
// processors use the scalar code. AVX3_DL is disabled where no kernel uses its instructions, because its code would
// equal that of AVX3 (docs/performance.md 10). SVE is disabled because vectors whose length is known only at run time
// cannot be members of structs or arrays; NEON is used instead.
#ifdef CARINA_SANITIZED  // AVX2, AVX3 and the scalar code, which differ in vector width and in the handling of tails
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
