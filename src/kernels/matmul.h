#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "kernels/convolution.h"
#include "kernels/operator.h"

// Products of two matrices that are known only when they run: A [n,h,c] times B [n,c,w]. B is packed in each run.
namespace carina::kernels {

struct MatmulSizes {
  int64_t n, h, c, w;
};

// Returns nothing for empty products, and for sizes whose scratch memory would be absurd.
std::optional<Operator> matmul_f32(const MatmulSizes& sizes, int threads);
// Operands 2 and 3 are the zero points of A and B. Returns nothing also if a sum could exceed 32 bits.
std::optional<Operator> matmul_i8(const MatmulSizes& sizes, const EpilogueOf& epilogue, int threads);

}  // namespace carina::kernels
