#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "carina/buffer.h"
#include "kernels/convolution.h"
#include "kernels/micro/microkernels.h"

// Products of int8 matrices with constant weights, as all int8 convolutions are computed.
namespace carina::kernels {

// Values that depend only on the weights: the terms of the zero points, and a bound of the sums.
struct WeightTerms {
  std::vector<int32_t> column;  // bias - input_zp * sum(w) + k * input_zp * weight_zp
  int64_t largest_sum = 0;
};
// The terms of n outputs with k weights each. Weight (k, n) is at weights[k * stride_k + n * stride_n].
struct WeightMatrix {
  const int8_t* weights;
  int64_t k;
  int64_t n;
  int64_t stride_k;
  int64_t stride_n;
};
WeightTerms weight_terms(const ConstantsI8& constants, const WeightMatrix& matrix);
// The epilogue of sums with these terms. Returns nothing if a sum could overflow.
std::optional<IntegerEpilogue> epilogue_for(const EpilogueOf& epilogue, const WeightTerms& terms);

// Packs parts of rows as pack_row() does, many with one call of the microkernel.
class PartPacker {
 public:
  PartPacker() = default;
  PartPacker(const PartPacker&) = delete;
  PartPacker& operator=(const PartPacker&) = delete;
  ~PartPacker() { pack(); }

  void add(const int8_t* in, int64_t count, std::byte* out) {
    if (count_ == kMany) pack();
    parts_[count_++] = {.in = in, .count = count, .out = out};
  }

 private:
  static constexpr size_t kMany = 64;

  void pack() {
    pack_parts({parts_.data(), count_});
    count_ = 0;
  }

  std::array<PackedPart, kMany> parts_;
  size_t count_ = 0;
};

// A product of rows of inputs with a packed matrix of weights, bias, zero points and epilogue.
class Int8Product {
 public:
  // Returns nothing if a sum could overflow, or if there is no epilogue for the sums.
  static std::optional<Int8Product> create(const EpilogueOf& epilogue, const ConstantsI8& constants,
                                           const WeightMatrix& matrix);

  // A row has row_bytes(): k elements of the format, then zeros.
  [[nodiscard]] int64_t k() const { return k_; }
  [[nodiscard]] const MatrixFormat& format() const { return format_; }
  [[nodiscard]] size_t row_bytes() const { return format_.row_bytes(k_); }
  [[nodiscard]] size_t packed_bytes() const { return panels_.size(); }
  // The bytes of an element of the result.
  [[nodiscard]] size_t out_bytes() const;
  [[nodiscard]] static size_t scratch_bytes(int64_t rows);

  // Computes columns [first, first + columns) of the result of `rows` rows; `first` is a multiple of kBlockColumns.
  // Column 0 of a row of the result is at out + row * out_stride elements.
  struct Part {
    const std::byte* a;
    int64_t rows;
    int64_t first;
    int64_t columns;
    std::byte* out;
    int64_t out_stride;
    std::byte* scratch;  // scratch_bytes(rows)
  };
  void run(const Part& part) const;

 private:
  int64_t k_ = 0;
  MatrixFormat format_{};
  bool needs_sums_ = false;
  int32_t weight_zp_ = 0;
  Buffer panels_;
  std::vector<int32_t> column_;  // added to the sums
  IntegerEpilogue epilogue_;
  std::optional<Int8Epilogue> bytes_;  // the same epilogue, if the product's microkernel applies it
};

}  // namespace carina::kernels
