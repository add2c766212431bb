#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/checked_math.h"
#include "interpret/elementwise_internal.h"

namespace carina::interpret {

// The elements of a walk in blocks, which stay in the L1 cache while they pass through several steps. A block is whole
// rows of one plane, or a part of a row that is longer than a block.
//   Example: [2,3,400] + [400] in blocks of 1,024: per plane, a block of 2 rows and one of 1 row.
template <size_t N>
struct Blocks {
  Walk<N> walk;
  int64_t size = 1;  // the most elements of a block
  int64_t rows = 1;  // of a plane
  int64_t block_rows = 1;
  int64_t row_blocks = 1;  // of a plane
  int64_t chunks = 1;      // of a row

  Blocks(Walk<N> of, int64_t block_size) : walk(std::move(of)), size(block_size) {
    if (!walk.outer.empty()) rows = walk.outer.back();
    block_rows = std::clamp<int64_t>(size / std::max<int64_t>(walk.inner, 1), 1, std::max<int64_t>(rows, 1));
    row_blocks = ceil_div(rows, block_rows);
    chunks = ceil_div(walk.inner, size);
  }
  [[nodiscard]] int64_t count() const { return rows == 0 ? 0 : walk.rows / rows * row_blocks * chunks; }

  struct Block {
    int64_t row, column, rows, columns;
  };
  [[nodiscard]] Block at(int64_t index) const {
    const int64_t column = index % chunks * size;
    const int64_t row_block = index / chunks;
    const int64_t first = row_block % row_blocks * block_rows;
    return {.row = row_block / row_blocks * rows + first,
            .column = column,
            .rows = std::min(block_rows, rows - first),
            .columns = std::min(size, walk.inner - column)};
  }
  // The first element of operand `n` in a block, and the elements from row to row.
  [[nodiscard]] int64_t offset(size_t n, int64_t row, int64_t column) const {
    return walk.offset(n, row) + column * walk.inner_stride[n];
  }
  [[nodiscard]] int64_t stride(size_t n, int64_t columns) const {
    return walk.outer.empty() ? columns * walk.inner_stride[n] : walk.outer_stride[n].back();
  }
};

}  // namespace carina::interpret
