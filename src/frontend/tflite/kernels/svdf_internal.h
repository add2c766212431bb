// The operands of SVDF.
#pragma once

#include <cstddef>

#include "frontend/tflite/kernels/kernel_call_internal.h"

namespace carina::tflite {

inline constexpr size_t kSvdfFeatures = 1, kSvdfTime = 2, kSvdfBias = 3, kSvdfState = 4;

}  // namespace carina::tflite
