#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "carina/dtype.h"
#include "kernels/micro/microkernels.h"

// What happens to the 32-bit sums of an integer product before they are stored.
namespace carina::kernels {

// CMSIS-NN's conversion of a sum below 2^30 to a byte (arm_nn_requantize): per channel a multiplier that is not
// negative and a right shift of 0 to 31 bits. The lists are padded() with zeros.
struct Requantization {
  std::vector<int32_t> multiplier;
  std::vector<int32_t> right_shift;
  int32_t zero_point = 0, low = -128, high = 127;

  explicit Requantization(int64_t channels)
      : multiplier(static_cast<size_t>(padded(channels))), right_shift(multiplier.size()) {}
};

// At most one of the two conversions. Without any, the sums are the output.
struct IntegerEpilogue {
  std::optional<Scales> scales = {};  // TOSA's RESCALE, and a CLAMP after it
  std::optional<Requantization> requantization = {};
  DType out_type = DType::kInt32;

  struct Sums {
    const int32_t* sums;
    int64_t stride;
    const int32_t* column;  // added per channel, from channel 0, padded
    int64_t rows;
    int64_t first;     // channel, a multiple of kLanes
    int64_t channels;  // from `first` on
  };
  // The form that the microkernel of the product applies in registers. Returns nothing if that is impossible. `column`
  // as in Sums.
  [[nodiscard]] std::optional<Int8Epilogue> in_registers(std::span<const int32_t> column, int64_t channels) const;
  // Writes the epilogue of the sums to out. Its rows are `out_stride` elements apart and start at channel 0.
  void run(const Sums& sums, std::byte* out, int64_t out_stride) const;
};

}  // namespace carina::kernels
