#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "interpret/kernel_internal.h"
#include "simd/kernels.h"

// The epilogue of integer products: a fused RESCALE and CLAMP.
namespace carina::interpret {

// The processing of the i32 sums of a product before they are stored: a fused RESCALE and CLAMP, if there are any.
struct IntegerEpilogue {
  std::optional<simd::Scales> scales;  // without a value, the sums are the output
  DType out_type = DType::kInt32;

  struct Sums {
    const int32_t* sums;
    int64_t stride;
    const int32_t* column;  // added per channel, from channel 0, padded
    int64_t rows;
    int64_t first;     // channel, a multiple of simd::kLanes
    int64_t channels;  // from `first` on
  };
  // The form that the microkernel of the product applies in registers. Returns nothing if that is impossible. `column`
  // as in Sums.
  [[nodiscard]] std::optional<simd::Int8Epilogue> in_registers(std::span<const int32_t> column) const {
    return scales ? simd::int8_epilogue(*scales, out_type, column) : std::nullopt;
  }
  // Writes the epilogue of the sums to out. Its rows are `out_stride` elements apart and start at channel 0.
  void run(const Sums& sums, std::byte* out, int64_t out_stride) const;
};

// The factors of a RESCALE with constant parameters, for inputs minus zero point in [-bound - 1, bound]. Returns
// nothing if each element must be checked, or for types that the vector kernels do not support.
std::optional<simd::Scales> constant_scales(const NodePlan& rescale, int64_t bound);

// The epilogue for the tail: RESCALE and CLAMP in that order. The sums are within `bound`. Returns nothing if they
// cannot be fused.
std::optional<IntegerEpilogue> integer_epilogue(const TailPlan& plan, int64_t bound);

}  // namespace carina::interpret
