#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "kernels/micro/microkernels.h"
#include "kernels/workers.h"

// How a matrix product is divided among threads.
namespace carina::kernels {

inline constexpr int64_t kBlockColumns = kMaxPanels * kLanes;  // computed at a time

// The division of a matrix product (GEMM) [rows, k] x [k, columns] into units of work: blocks of rows and, if these are
// too few for all threads, parts of the columns.
struct GemmTiling {
  int64_t rows = 1;  // of the product
  int64_t columns = 1;
  int64_t block_rows = 1;
  int64_t blocks = 1;
  int64_t part_columns = 1;  // a multiple of kBlockColumns, or all
  int64_t parts = 1;
  int64_t grain = 1;  // the fewest units of one thread

  [[nodiscard]] int64_t units() const { return blocks * parts; }

  struct Unit {
    int64_t row;
    int64_t rows;
    int64_t column;
    int64_t columns;
  };
  // Units of one part of the columns are neighbors, because they read the same weights.
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
  int64_t block_rows;  // the most rows that fit the scratch
};
// `grain` is the fewest multiply-adds of one thread.
inline GemmTiling tile_gemm(const GemmSize& size, int64_t grain, int threads) {
  constexpr int64_t kTileRows = 6;  // of the microkernels
  GemmTiling tiling{
      .rows = size.rows, .columns = size.columns, .block_rows = size.block_rows, .part_columns = size.columns};
  const double work = static_cast<double>(size.rows) * static_cast<double>(size.k) * static_cast<double>(size.columns);
  const auto worth = static_cast<int64_t>(std::min(work / static_cast<double>(grain), 1e6));
  const int64_t wanted = std::clamp<int64_t>(worth, 1, max_chunks(threads));
  if (wanted > 1) {
    // Each thread reads all of the smaller operand and its own part of the larger one.
    const int64_t column_blocks = ceil_div(size.columns, kBlockColumns);
    const int64_t parts = size.columns > size.rows ? std::min(wanted, column_blocks) : 1;
    const int64_t rows = round_up(ceil_div(size.rows, ceil_div(wanted, parts)), kTileRows);
    tiling.block_rows = std::clamp(rows, kTileRows, size.block_rows);
    tiling.part_columns = std::min(size.columns, ceil_div(column_blocks, parts) * kBlockColumns);
  }
  // Blocks have about the same size. A short block would read all weights for few rows.
  const int64_t even = ceil_div(size.rows, std::max<int64_t>(ceil_div(size.rows, tiling.block_rows), 1));
  tiling.block_rows = std::clamp<int64_t>(round_up(even, kTileRows), 1, tiling.block_rows);
  tiling.blocks = ceil_div(size.rows, tiling.block_rows);
  tiling.parts = ceil_div(size.columns, tiling.part_columns);
  tiling.grain = std::max<int64_t>(1, tiling.units() / wanted);
  return tiling;
}

}  // namespace carina::kernels
