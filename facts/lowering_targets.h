#pragma once

#include <cstdint>
#include <limits>

#include "facts/npu_enums.h"
#include "facts/npu_targets.h"

// Limits and preferred idioms of the targets of lowering.
namespace carina {

// The limits of a window that slides over an image.
struct WindowLimit {
  int64_t rows;
  int64_t elems;  // rows * columns
};

// The limits of a target per operator, besides types.
struct OperatorLimits {
  int64_t stride;                // of a window, per axis
  int64_t unrolled_windows;      // a larger stride is accepted if the window has at most this many positions
  int64_t axis_elems;            // of an image or a matrix
  WindowLimit kernel;            // of a convolution, with its dilation
  WindowLimit pool;              // of a pool
  int64_t padded_average_pool;   // rows and columns of an average pool with padding
  int64_t wide_transposed_axes;  // of a transposition of elements wider than 16 bits
  int64_t max_indexed_rows;      // rows that an index list may select (gather, scatter); 0: not supported
  int64_t product_bits;          // of the elements of two computed matrices
};

// The idioms that a target prefers if TOSA has several forms of one computation. Zero: no preference.
struct LoweringIdioms {
  int64_t picked_step;        // a strided slice of an image, up to this step, becomes a strided pool of one element
  WindowLimit pooled_mean;    // a mean over an image of at most this size, with one scale, becomes one AVG_POOL2D
  WindowLimit convolved_sum;  // a sum over an image of at most this size becomes one DEPTHWISE_CONV2D with ones
  // Operands of an addition with different scales are rescaled to one scale with this many bits below the larger one.
  int aligned_int8_log2;
  int aligned_int16_log2;
  bool operands_of_one_width;  // an operand of 8 bits beside one of 16 becomes one of 16 first
};

struct LoweringTarget {
  OperatorLimits limits;
  LoweringIdioms idioms;
};

namespace detail {
inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// estimate(1024): with more operations than this (one per output row or column), strides beyond the hardware's do not
// pay.
inline constexpr OperatorLimits kEthosULimits{
    .stride = npu::kMaxStride,
    .unrolled_windows = 1024,
    .axis_elems = npu::kMaxAxis,
    .kernel = {.rows = npu::kMaxKernelHeight, .elems = npu::kMaxKernelElements},
    .pool = {.rows = npu::kMaxPoolHeight, .elems = npu::kMaxPoolElements},
    .padded_average_pool = npu::kMaxPaddedAveragePoolSize,
    .wide_transposed_axes = 4,
    .max_indexed_rows = 0,
    .product_bits = 8,
};

// An addition of operands with two scales is one operation if the larger is multiplied by exactly these powers of two.
// Source: docs/facts/ethosu.md 4.4, 9.2.
inline constexpr LoweringIdioms kEthosUIdioms{
    .picked_step = npu::kMaxStride,
    .pooled_mean = {.rows = npu::kMaxPoolHeight, .elems = npu::kMaxPoolElements},
    .convolved_sum = {.rows = npu::kMaxKernelHeight, .elems = npu::kMaxKernelElements},
    .aligned_int8_log2 = 19,
    .aligned_int16_log2 = 14,
    .operands_of_one_width = true,
};

// Source: Ethos-U85 TRM, NPU_OP_DMA_START with an index; 48-bit accumulators.
constexpr OperatorLimits of_ethos_u85(OperatorLimits limits) {
  limits.wide_transposed_axes = 6;
  limits.max_indexed_rows = kUnlimited;
  limits.product_bits = 16;
  return limits;
}
}  // namespace detail

// Plain TOSA: no operator is rejected for its size, and no special idioms are used.
inline constexpr LoweringTarget kPlainTosa{
    .limits = {.stride = detail::kUnlimited,
               .unrolled_windows = 0,
               .axis_elems = detail::kUnlimited,
               .kernel = {.rows = detail::kUnlimited, .elems = detail::kUnlimited},
               .pool = {.rows = detail::kUnlimited, .elems = detail::kUnlimited},
               .padded_average_pool = detail::kUnlimited,
               .wide_transposed_axes = detail::kUnlimited,
               .max_indexed_rows = detail::kUnlimited,
               .product_bits = detail::kUnlimited},
    .idioms = {.picked_step = 0,
               .pooled_mean = {.rows = 0, .elems = 0},
               .convolved_sum = {.rows = 0, .elems = 0},
               .aligned_int8_log2 = 19,
               .aligned_int16_log2 = 14,
               .operands_of_one_width = false},
};

inline constexpr LoweringTarget kU55Lowering{
    .limits = detail::kEthosULimits,
    .idioms = detail::kEthosUIdioms,
};
inline constexpr LoweringTarget kU65Lowering = kU55Lowering;
inline constexpr LoweringTarget kU85Lowering{
    .limits = detail::of_ethos_u85(detail::kEthosULimits),
    .idioms = detail::kEthosUIdioms,
};
// The target of a TOSA file without one. Most such files are read by compilers for the small NPUs.
inline constexpr LoweringTarget kDefaultLowering = kU55Lowering;

constexpr const LoweringTarget& lowering_target_of(npu::Product product) {
  switch (product) {
    case npu::Product::kU55:
      return kU55Lowering;
    case npu::Product::kU65:
      return kU65Lowering;
    case npu::Product::kU85:
      break;
  }
  return kU85Lowering;
}

}  // namespace carina
