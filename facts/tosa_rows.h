#pragma once

#include <algorithm>
#include <array>

#include "facts/tosa_row.h"
#include "facts/tosa_rows_block_scaled.h"
#include "facts/tosa_rows_data.h"
#include "facts/tosa_rows_elementwise.h"
#include "facts/tosa_rows_layout.h"
#include "facts/tosa_rows_tensor.h"
#include "facts/tosa_rows_unary.h"

// The operators, one row each: operands, attributes, legal types. Source: the TOSA specification 1.0.2
// (sections named in the rows); order of attributes: the FlatBuffer schema.

namespace carina {

namespace detail {

constexpr std::array<TosaOpRow, kTosaOpCount> collect_tosa_rows() {
  std::array<TosaOpRow, kTosaOpCount> rows{};
  const auto append = [&](const auto& part) {
    for (const TosaOpRow& row : part) rows[index_of(row.op)] = row;
  };
  append(tosa_rows::kTensorRows);
  append(tosa_rows::kElementwiseRows);
  append(tosa_rows::kUnaryRows);
  append(tosa_rows::kLayoutRows);
  append(tosa_rows::kDataRows);
  append(tosa_rows::kBlockScaledRows);
  return rows;
}

}  // namespace detail

// In the order of facts/tosa_ops.def.
inline constexpr std::array<TosaOpRow, kTosaOpCount> kTosaRows = detail::collect_tosa_rows();
static_assert(std::ranges::all_of(kTosaRows, [n = size_t{0}](const TosaOpRow& row) mutable {
  return index_of(row.op) == n++ && !row.section.empty();
}));

constexpr const TosaOpRow& row_of(TosaOp op) {
  return kTosaRows[index_of(op)];
}

}  // namespace carina
