#pragma once

// The processors that the vector kernels are compiled for. Include it before any Highway header. Older processors use
// the scalar code. AVX3_DL is left out where no kernel uses its instructions, because its code would equal that of AVX3
// (docs/adr/0073). SVE is left out because vectors whose length is known only at run time cannot be members of structs
// and arrays; NEON is used instead.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
