#pragma once

#include <hwy/aligned_allocator.h>

#include <cstdint>

#include "accelerate/vector_internal.h"

namespace carina::accelerate {

inline constexpr int64_t kPanelRows = 16;
// Columns that a tile takes in, with the widest vectors; fewer at the end cost more each.
inline constexpr int64_t kTileColumns = 48;

// A matrix that stays, in panels of kPanelRows rows, which stand side by side for each k; zeros behind the last row.
struct PackedMatrix {
  int64_t rows = 0, depth = 0;
  hwy::AlignedFreeUniquePtr<float[]> panels;
};

// from[m * row_step + k * depth_step] for all rows m and depths k.
struct Unpacked {
  const float* from;
  int64_t rows, depth;
  int64_t row_step, depth_step;
};
PackedMatrix pack(const Unpacked& matrix);

// out(m, n) = epilogue(sum over k of a(first + m, k) * b(k, n)); `epilogue` is of row m, its `column` too. Either the columns lie side by
// side in `b` and `out`, or the rows do in `out`; other steps are slow.
struct PackedGemm {
  const PackedMatrix* a;
  int64_t first;  // a multiple of kPanelRows; of kPanelRows / 2 where the columns' steps are 1
  int64_t rows;
  const float* b;
  int64_t b_step, b_column_step;  // from k to k, from column to column
  int64_t columns;
  float* out;
  int64_t out_row_step, out_column_step;
  Epilogue epilogue;
};
void multiply(const PackedGemm& job);

}  // namespace carina::accelerate
