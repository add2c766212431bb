#pragma once

#include <algorithm>
#include <array>

#include "facts/tosa_row.h"
#include "facts/tosa_rows_data.h"
#include "facts/tosa_rows_elementwise.h"
#include "facts/tosa_rows_layout.h"
#include "facts/tosa_rows_tensor.h"
#include "facts/tosa_rows_unary.h"

// The operators of TOSA 1.0, one row each: operands, attributes, legal types. Source: the TOSA specification 1.0.2
// (sections named in the rows); order of attributes: the FlatBuffer schema.

namespace carina {

namespace detail {

constexpr std::array<TosaOpRow, kTosaOpCount> collect_tosa_rows() {
  std::array<TosaOpRow, kTosaOpCount> rows{};
  const auto append = [&](const auto& part) {
    for (const TosaOpRow& row : part) rows[static_cast<size_t>(row.op) - 1] = row;
  };
  append(tosa_rows::kTensorRows);
  append(tosa_rows::kElementwiseRows);
  append(tosa_rows::kUnaryRows);
  append(tosa_rows::kLayoutRows);
  append(tosa_rows::kDataRows);
  return rows;
}

}  // namespace detail

// In the order of the operators' numbers, which start at 1.
inline constexpr std::array<TosaOpRow, kTosaOpCount> kTosaRows = detail::collect_tosa_rows();
static_assert(std::ranges::all_of(kTosaRows, [n = 0](const TosaOpRow& row) mutable {
  return static_cast<int>(row.op) == ++n && !row.section.empty();
}));

constexpr const TosaOpRow& row_of(TosaOp op) {
  return kTosaRows[static_cast<size_t>(op) - 1];
}

}  // namespace carina
