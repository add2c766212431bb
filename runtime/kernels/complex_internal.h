#pragma once

#include "runtime/kernels/call_internal.h"

namespace carina::runtime {

// Arithmetic of complex numbers, for the kernels whose arguments hold any (has_complex()): real tensors beside them
// have no imaginary part. Computed in doubles, as the parts of the output's type.
enum class ComplexOperation : uint8_t { kSum, kProduct, kQuotient };

// (a, b, out at `out_index`), broadcast; b a tensor or a number. `alpha`: b times this number; nullptr: 1.
Error complex_binary(Arguments arguments, ComplexOperation operation, size_t out_index, const EValue* alpha = nullptr);
// (input, out): magnitudes; the output is of the parts' type.
Error complex_magnitude(Arguments arguments);
// (input, dims, keepdim, dtype, out)
Error complex_sum(Arguments arguments);
// (a [B, M, K], b [B, K, N], out [B, M, N])
Error complex_products(Arguments arguments);

}  // namespace carina::runtime
