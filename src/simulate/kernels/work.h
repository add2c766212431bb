#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "simulate/decode/operation.h"
#include "simulate/kernels/checked_map.h"
#include "simulate/kernels/output_stage_internal.h"
#include "simulate/kernels/weights.h"

// The input of the kernels: an operation with resolved operands.
namespace carina::simulate {

// An operation with all operands resolved and checked. The kernels cannot fail.
struct Work {
  const Operation* op = nullptr;
  CheckedMap ifm;
  CheckedMap ifm2;
  CheckedMap ofm;     // in the stored (transposed) order
  Extent ifm_extent;  // the window space: padding excluded, in upscaled coordinates
  const DecodedWeights* weights = nullptr;
  const OutputStage* output = nullptr;
  std::atomic<bool>* overflow = nullptr;  // set if an accumulator overflows; nullptr: not requested
  std::vector<int64_t>* kept = nullptr;   // accumulators that stay in the array between operations, [H][W][C]; nullptr:
                                          // none
};

// Rows [begin, end) of the OFM before its transpose.
struct Rows {
  int32_t begin = 0;
  int32_t end = 0;
  [[nodiscard]] int32_t count() const { return end - begin; }
};

// Columns [begin, end) of the OFM before its transpose.
struct Columns {
  int32_t begin = 0;
  int32_t end = 0;
  [[nodiscard]] int32_t count() const { return end - begin; }
};

struct Patch {
  Rows rows;
  Columns columns;
  [[nodiscard]] size_t positions() const { return static_cast<size_t>(int64_t{rows.count()} * columns.count()); }
};

// The logical extent of the IFM of a windowed operation, padding excluded. Source: docs/facts/ethosu.md 3.3.
Extent window_extent(const Operation& op);
// The part of the IFM in memory that an operation can read.
Extent ifm_box(const Operation& op);
Extent ifm2_box(const Operation& op);
// The extent of a part of the OFM as it is stored, after the transpose.
Extent stored_extent(const Operation& op, const Extent& extent);
inline Extent stored_extent(const Operation& op) {
  return stored_extent(op, op.ofm_extent);
}

// The weights of a matrix multiplication: IFM2, one row per output channel. Error: a value beyond 16 bits.
Result<DecodedWeights> weights_from_ifm2(const Operation& op, const CheckedMap& ifm2);

// Executes rows with the scalar kernels, which are written for readability. They are the reference of the fast kernels;
// both compute the same bits.
void execute_scalar(const Work& work, Rows rows);

}  // namespace carina::simulate
