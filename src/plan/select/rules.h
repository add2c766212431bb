#pragma once

#include "carina/result.h"
#include "plan/select/selection.h"

namespace carina::plan {

// One function per operator or family of operators. Each file says how it works. The rules of a family say which
// functions it uses (plan/family).
Result<void> select_convolution(Selection& s);     // CONV2D
Result<void> select_convolution_3d(Selection& s);  // CONV3D
Result<void> select_depthwise(Selection& s);       // DEPTHWISE_CONV2D
Result<void> select_transpose_conv(Selection& s);  // TRANSPOSE_CONV2D
Result<void> select_max_pool(Selection& s);
Result<void> select_average_pool(Selection& s);
Result<void> select_add_sub(Selection& s);  // ADD, SUB
Result<void> select_mul(Selection& s);
Result<void> select_binary_32(Selection& s);  // MAXIMUM, MINIMUM
Result<void> select_shift(Selection& s);      // ARITHMETIC_RIGHT_SHIFT, LOGICAL_LEFT_SHIFT
Result<void> select_unary_32(Selection& s);   // ABS, CLZ
Result<void> select_negate(Selection& s);
Result<void> select_cast(Selection& s);
Result<void> select_truth(Selection& s);       // CAST to bool
Result<void> select_comparison(Selection& s);  // EQUAL, GREATER, GREATER_EQUAL, by differences
Result<void> select_logical(Selection& s);     // LOGICAL_AND, _OR, _XOR, _NOT, by minima, maxima and differences
Result<void> select_choice(Selection& s);      // SELECT, by products
Result<void> select_bitwise_not(Selection& s);
Result<void> select_clamp(Selection& s);
Result<void> select_rescale(Selection& s);
Result<void> select_table(Selection& s);
Result<void> select_reduce_sum(Selection& s);
Result<void> select_reduce_extreme(Selection& s);  // REDUCE_MAX, REDUCE_MIN, REDUCE_ANY, REDUCE_ALL
Result<void> select_argmax(Selection& s);
Result<void> select_matmul(Selection& s);
Result<void> select_reshape(Selection& s);  // RESHAPE, IDENTITY
Result<void> select_slice(Selection& s);
Result<void> select_transpose(Selection& s);
Result<void> select_reverse(Selection& s);
Result<void> select_concat(Selection& s);
Result<void> select_pad(Selection& s);
Result<void> select_tile(Selection& s);
Result<void> select_resize(Selection& s);

// The same operators by operations that only some NPUs have.
Result<void> select_bits(Selection& s);       // BITWISE_* and LOGICAL_* of bits
Result<void> select_order(Selection& s);      // EQUAL, GREATER, GREATER_EQUAL
Result<void> select_by_mask(Selection& s);    // SELECT
Result<void> select_bit_shift(Selection& s);  // all three shifts
Result<void> select_bit_cast(Selection& s);   // CAST, also to bool and to narrower types
Result<void> select_quotient(Selection& s);   // INTDIV
Result<void> select_gather(Selection& s);
Result<void> select_scatter(Selection& s);
Result<void> select_resample(Selection& s);               // RESIZE
Result<void> select_gemm(Selection& s);                   // MATMUL
Result<void> select_convolution_by_tensor(Selection& s);  // CONV2D, also with weights computed at run time

}  // namespace carina::plan
