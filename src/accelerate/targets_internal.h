#pragma once

// Which processors the vector kernels are compiled for; before any Highway header. Older ones use the scalar code.
#define HWY_WANT_AVX3_DL 1
#define HWY_DISABLED_TARGETS HWY_SSSE3
