#pragma once

#include <cstdint>

namespace carina::kernels {

// When operators convert fp32 weights to the layout of their microkernels.
enum class Packing : uint8_t {
  kOnce,     // when they are created; a copy of all weights is held
  kEachRun,  // in each run: for few runs of large networks
};

}  // namespace carina::kernels
