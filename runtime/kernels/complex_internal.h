#pragma once

#include "runtime/kernels/call_internal.h"

namespace carina::runtime {

// Complex arithmetic, for kernels with a complex argument (has_complex()). Real tensors have the imaginary part 0. The
// computation is in double; the result has the precision of the output's parts.
enum class ComplexOperation : uint8_t { kSum, kProduct, kQuotient };

// (a, b, out at `out_index`), broadcast; b is a tensor or a number. b is multiplied by `alpha`; nullptr stands for 1.
Error complex_binary(Arguments arguments, ComplexOperation operation, size_t out_index, const EValue* alpha = nullptr);
// (input, out): magnitudes. The output has the type of the parts.
Error complex_magnitude(Arguments arguments);
// (input, dims, keepdim, dtype, out)
Error complex_sum(Arguments arguments);
// (a [B, M, K], b [B, K, N], out [B, M, N])
Error complex_products(Arguments arguments);

}  // namespace carina::runtime
