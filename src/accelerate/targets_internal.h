#pragma once

// Which processors the vector kernels are compiled for; before any Highway header. Older ones use the scalar code. AVX3_DL is not
// among them where no kernel uses its instructions: the code would be that of AVX3 once more (docs/adr/0073).
// Vectors whose length is known at run time only (SVE) cannot stand in structs and arrays; NEON serves there.
#ifdef CARINA_SANITIZED  // AVX2, AVX3 and the scalar code: widths and tails that differ
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
