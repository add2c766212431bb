#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "interpret/kernel_internal.h"

// Declarations shared by the kernels of TRANSPOSE_CONV2D.
namespace carina::interpret {

// One axis. Output position o reads input position i at tap k if o = i * stride + pad + k.
struct TransposedAxis {
  int64_t in;
  int64_t out;
  int64_t kernel;
  int64_t stride;
  int64_t pad;  // out_pad; negative: outputs are cut off
};

struct TransposedGeometry {
  int64_t batch;
  int64_t ic;
  int64_t oc;
  std::array<TransposedAxis, 2> axes;  // y, x
  int64_t bias_count;                  // 1, or one per output channel
};

// The vector kernels for constant weights, with the tail fused in. They return nothing if they do not apply: other
// types, operands that are not constants, weights that are not finite, or sums that could overflow.
std::optional<Kernel> vector_transposed_conv(const TailPlan& plan, const TransposedGeometry& geometry);

}  // namespace carina::interpret
