#pragma once

#include <hwy/aligned_allocator.h>

#include <cstdint>

#include "accelerate/vector_internal.h"

// Matrix products with a constant matrix that is packed once.
//   Example: 20 rows are packed in two panels of 16: panel 0 has rows 0..15, panel 1 rows 16..19 and 12 rows of zeros.
namespace carina::accelerate {

inline constexpr int64_t kPanelRows = 16;
// The columns of a tile with the widest vectors. Fewer columns at the end cost more time per column.
inline constexpr int64_t kTileColumns = 48;

// A constant matrix, packed in panels of kPanelRows rows. The elements of a panel's rows are adjacent for each k. The
// last panel is padded with zeros.
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

// Computes out(m, n) = epilogue(sum over k of a(first + m, k) * b(k, n)). All arrays of `epilogue`, also `column`, are
// indexed by the row m. Either the columns are contiguous in `b` and `out`, or the rows are contiguous in `out`; other
// steps are slow.
struct PackedGemm {
  const PackedMatrix* a;
  int64_t first;  // a multiple of kPanelRows; of kPanelRows / 2 if the column step is 1
  int64_t rows;
  const float* b;
  int64_t b_step, b_column_step;  // elements between successive k, elements between successive columns
  int64_t columns;
  float* out;
  int64_t out_row_step, out_column_step;
  Epilogue epilogue;
};
void multiply(const PackedGemm& job);

}  // namespace carina::accelerate
