#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "interpret/kernel_internal.h"
#include "interpret/simd/simd_internal.h"

namespace carina::interpret {

inline constexpr int64_t kBlockColumns = simd::kMaxPanels * simd::kLanes;  // computed at a time

// How a matrix product [rows, k] x [k, columns] is cut into units of work: blocks of rows and, where these are too few
// for all threads, parts of the columns.
struct ProductCut {
  int64_t rows = 1;  // of the product
  int64_t columns = 1;
  int64_t block_rows = 1;
  int64_t blocks = 1;
  int64_t part_columns = 1;  // a multiple of kBlockColumns, or all
  int64_t parts = 1;

  [[nodiscard]] int64_t units() const { return blocks * parts; }

  struct Unit {
    int64_t row;
    int64_t rows;
    int64_t column;
    int64_t columns;
  };
  // Units of one part of the columns are neighbours: they read the same weights.
  [[nodiscard]] Unit unit(int64_t index) const {
    const int64_t row = index % blocks * block_rows;
    const int64_t column = index / blocks * part_columns;
    return {.row = row,
            .rows = std::min(block_rows, rows - row),
            .column = column,
            .columns = std::min(part_columns, columns - column)};
  }
};

struct ProductSize {
  int64_t rows;
  int64_t k;
  int64_t columns;
  int64_t block_rows;  // the most that are kept in scratch
};
// `grain`: multiply-adds that are worth a thread's attention.
inline ProductCut cut_product(const ProductSize& size, int64_t grain, int threads) {
  constexpr int64_t kTileRows = 6;  // of the vector kernels
  constexpr int64_t kFewRows = 2 * kTileRows;
  ProductCut cut{.rows = size.rows, .columns = size.columns, .block_rows = size.block_rows};
  const double work = static_cast<double>(size.rows) * static_cast<double>(size.k) * static_cast<double>(size.columns);
  const auto worth = static_cast<int64_t>(std::min(work / static_cast<double>(grain), 1e6));
  const int64_t wanted = std::clamp<int64_t>(worth, 1, max_pieces(threads));
  const auto whole_tiles = [](int64_t rows) { return round_up(rows, kTileRows); };
  if (wanted > 1) cut.block_rows = std::clamp(whole_tiles(ceil_div(size.rows, wanted)), kFewRows, size.block_rows);
  cut.blocks = ceil_div(size.rows, cut.block_rows);
  if (wanted > 1 && cut.blocks > 0)
    cut.block_rows = std::min(size.block_rows, whole_tiles(ceil_div(size.rows, cut.blocks)));
  cut.blocks = ceil_div(size.rows, cut.block_rows);
  const int64_t column_blocks = ceil_div(size.columns, kBlockColumns);
  const int64_t parts = cut.blocks == 0 ? 1 : std::clamp<int64_t>(ceil_div(wanted, cut.blocks), 1, column_blocks);
  cut.part_columns = parts == 1 ? size.columns : ceil_div(column_blocks, parts) * kBlockColumns;
  cut.parts = ceil_div(size.columns, cut.part_columns);
  return cut;
}

}  // namespace carina::interpret
