#pragma once

#include <cstdint>
#include <optional>

#include "interpret/kernel_internal.h"

// Declarations shared by the kernels of MATMUL.
namespace carina::interpret {

// The sizes of A [n,h,c] times B [n,c,w].
struct MatmulSizes {
  int64_t n, h, c, w;
};

// The vector kernel with the tail fused in. Returns nothing for other types and for sums that could overflow.
std::optional<Kernel> vector_matmul(const TailPlan& fused, const MatmulSizes& sizes);

}  // namespace carina::interpret
