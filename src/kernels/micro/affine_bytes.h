#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/micro/microkernels.h"

// Bytes scaled by integers: out = clamp((in * factor + addend) >> shift, rounded down), for each row or each column.
// A RESCALE has this form, also after a sum or product with a value that is known before the row.
//   Example: (x - 3) * 5, rescaled by 2^30 / 2^33 (1/8) with zero point 7, is
//   (x * 5 * 2^30 - 15 * 2^30 + 2^32 + 7 * 2^33) >> 33.
namespace carina::kernels {

// The factor and the addend in parts, so that 32 bits suffice:
//   (x * high + ((x * low + low_addend) >> kLowBits) + high_addend) >> shift.
struct Affine {
  static constexpr int kLowBits = 22;
  int32_t high, low, high_addend, low_addend, shift;

  // Returns nothing if a sum could exceed 32 bits.
  static std::optional<Affine> create(int64_t factor, int64_t addend, int shift);
};

// Row r of `out`, which is dense, has factors[r], or factors[0] if `is_one`.
struct AffineRows {
  const int8_t* in;
  int64_t in_stride;
  int8_t* out;
  int64_t rows;
  int64_t columns;
  const Affine* factors;
  bool is_one = false;
  int8_t low = -128;
  int8_t high = 127;
};
void affine_rows(const AffineRows& job);

// Factors for each column.
class AffineColumns {
 public:
  explicit AffineColumns(std::span<const Affine> factors);

  // Rows of as many columns as there are factors. `out` is dense.
  struct Job {
    const int8_t* in;
    int64_t in_stride;
    int8_t* out;
    int64_t rows;
    int8_t low = -128;
    int8_t high = 127;
  };
  void run(const Job& job) const;

  // A list of each part. They are repeated for several rows if there are few columns, and padded.
  struct Lists {
    std::vector<int32_t> high, low, high_addend, low_addend, shift;
  };

 private:
  int64_t columns_;
  int64_t times_;  // rows in the lists
  Lists lists_;
};

// out = clamp(round((x - zero_point)^2 * factor) + addend), in floats; what is between two integers gives the even one.
struct SquareBytes {
  static constexpr int64_t kLargest = 1 << 22;  // rounded products are less
  const int8_t* in;
  int32_t zero_point;
  float factor;
  int32_t addend;
  void* out;
  bool to_bytes;  // otherwise to i16
  int64_t count;
};
void square_bytes(const SquareBytes& job);

// out = clamp(round(((a - a_zero_point) op (b - b_zero_point)) * factor + addend)), in floats, as Scales::InFloats
// says.
struct CombineBytes {
  static constexpr float kLargest = 1 << 22;  // rounded results are less
  CombineIntegers op;                         // not kSquare
  const int8_t *a, *b;
  int32_t a_zero_point, b_zero_point;
  float factor, addend;
  int8_t* out;
  int64_t count;
};
void combine_bytes(const CombineBytes& job);

}  // namespace carina::kernels
