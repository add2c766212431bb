#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "interpret/kernel_internal.h"
#include "simd/kernels.h"

namespace carina::interpret {

inline constexpr int64_t kBlockColumns = simd::kMaxPanels * simd::kLanes;  // computed at a time

// How a matrix product [rows, k] x [k, columns] is cut into units of work: blocks of rows and, where these are too few
// for all threads, parts of the columns.
struct GemmTiling {
  int64_t rows = 1;  // of the product
  int64_t columns = 1;
  int64_t block_rows = 1;
  int64_t blocks = 1;
  int64_t part_columns = 1;  // a multiple of kBlockColumns, or all
  int64_t parts = 1;
  int64_t grain = 1;  // units that are worth a thread's attention

  [[nodiscard]] int64_t units() const { return blocks * parts; }

  struct Unit {
    int64_t row;
    int64_t rows;
    int64_t column;
    int64_t columns;
  };
  // Units of one part of the columns are neighbors: they read the same weights.
  [[nodiscard]] Unit unit(int64_t index) const {
    const int64_t row = index % blocks * block_rows;
    const int64_t column = index / blocks * part_columns;
    return {.row = row,
            .rows = std::min(block_rows, rows - row),
            .column = column,
            .columns = std::min(part_columns, columns - column)};
  }
};

struct GemmSize {
  int64_t rows;
  int64_t k;
  int64_t columns;
  int64_t block_rows;  // the most that are kept in scratch
};
// `grain`: multiply-adds that are worth a thread's attention.
inline GemmTiling tile_gemm(const GemmSize& size, int64_t grain, int threads) {
  constexpr int64_t kTileRows = 6;  // of the vector kernels
  GemmTiling tiling{
      .rows = size.rows, .columns = size.columns, .block_rows = size.block_rows, .part_columns = size.columns};
  const double work = static_cast<double>(size.rows) * static_cast<double>(size.k) * static_cast<double>(size.columns);
  const auto worth = static_cast<int64_t>(std::min(work / static_cast<double>(grain), 1e6));
  const int64_t wanted = std::clamp<int64_t>(worth, 1, max_chunks(threads));
  if (wanted > 1) {
    // Of rows and weights, each thread reads all of the smaller one and its part of the larger.
    const int64_t column_blocks = ceil_div(size.columns, kBlockColumns);
    const int64_t parts = size.columns > size.rows ? std::min(wanted, column_blocks) : 1;
    const int64_t rows = round_up(ceil_div(size.rows, ceil_div(wanted, parts)), kTileRows);
    tiling.block_rows = std::clamp(rows, kTileRows, size.block_rows);
    tiling.part_columns = std::min(size.columns, ceil_div(column_blocks, parts) * kBlockColumns);
  }
  // Blocks of about the same size: a short one reads all weights for few rows.
  const int64_t even = ceil_div(size.rows, std::max<int64_t>(ceil_div(size.rows, tiling.block_rows), 1));
  tiling.block_rows = std::clamp<int64_t>(round_up(even, kTileRows), 1, tiling.block_rows);
  tiling.blocks = ceil_div(size.rows, tiling.block_rows);
  tiling.parts = ceil_div(size.columns, tiling.part_columns);
  tiling.grain = std::max<int64_t>(1, tiling.units() / wanted);
  return tiling;
}

}  // namespace carina::interpret
