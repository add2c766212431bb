#pragma once

// The targets of targets.h and AVX3_DL, for kernels that use its dot products of bytes.
#define HWY_WANT_AVX3_DL 1
#include "kernels/micro/targets.h"
