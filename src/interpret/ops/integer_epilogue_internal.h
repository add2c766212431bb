#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "interpret/kernel_internal.h"
#include "simd/kernels.h"

namespace carina::interpret {

// What happens to i32 sums of a product on their way out: perhaps a RESCALE and a CLAMP that were fused in.
struct IntegerEpilogue {
  std::optional<simd::Scales> scales;  // none: the sums are the output
  DType out_type = DType::kInt32;

  struct Sums {
    const int32_t* sums;
    int64_t stride;
    const int32_t* column;  // added per channel, of channel 0 on, padded
    int64_t rows;
    int64_t first;     // channel, a multiple of simd::kLanes
    int64_t channels;  // from `first` on
  };
  // As the product's kernel does it in registers; nothing where that cannot be. `column` as in Sums.
  [[nodiscard]] std::optional<simd::Int8Epilogue> in_registers(std::span<const int32_t> column) const {
    return scales ? simd::int8_epilogue(*scales, out_type, column) : std::nullopt;
  }
  // Writes the sums to out, whose rows are `out_stride` elements apart and start at channel 0.
  void run(const Sums& sums, std::byte* out, int64_t out_stride) const;
};

// The factors of a RESCALE whose parameters are constants, for inputs minus zero point in [-bound - 1, bound]; nothing
// when it must check each element, or for types that the vector kernels do not have.
std::optional<simd::Scales> constant_scales(const NodePlan& rescale, int64_t bound);

// The epilogue for plan.tail: RESCALE and CLAMP in that order; `bound` limits the sums. Nothing: they cannot be fused.
std::optional<IntegerEpilogue> integer_epilogue(const NodePlan& plan, int64_t bound);

}  // namespace carina::interpret
