#pragma once

#include <optional>
#include <vector>

#include "normalize/rewriter.h"

namespace carina::normalize {

// The axes of a tensor that indices select from: x[:, i, :, k] has the axes 1 and 3. The tensor is treated as rows:
// first the indexed axes, then all other axes merged to one, `inner`.
class IndexedAxes {
 public:
  // `indices` has one entry per axis; an invalid one selects the whole axis. No value if all are invalid, or if they do
  // not broadcast.
  static std::optional<IndexedAxes> of(const Rewriter& in, const Shape& shape, const std::vector<ir::ValueId>& indices);

  [[nodiscard]] const std::vector<size_t>& indexed() const { return indexed_; }
  [[nodiscard]] const Shape& chosen() const { return chosen_; }  // the broadcast indices
  [[nodiscard]] int64_t count() const { return chosen_.elements(); }
  [[nodiscard]] int64_t row_count() const;  // number of rows that an index can select
  [[nodiscard]] int64_t inner() const;
  // The shape of x[...] in PyTorch.
  [[nodiscard]] Shape chosen_shape() const;

  // Converts the tensor to rows, and back. are_rows(): whether it has that form already.
  [[nodiscard]] bool are_rows(const Shape& shape) const;
  [[nodiscard]] Shape rows_shape(const Shape& shape) const;
  ir::ValueId rows_of(Rewriter& in, ir::ValueId x) const;
  ir::ValueId whole_of(Rewriter& in, ir::ValueId rows, const Shape& shape) const;
  // Converts the selected rows to [chosen..., inner], and back.
  ir::ValueId chosen_rows_of(Rewriter& in, ir::ValueId values) const;
  ir::ValueId chosen_of(Rewriter& in, ir::ValueId rows) const;

  // The form for constant indices: [before, rows, after] without data movement if the indexed axes are adjacent,
  // otherwise rows.
  ir::ValueId blocks_of(Rewriter& in, ir::ValueId x) const;
  ir::ValueId whole_of_blocks(Rewriter& in, ir::ValueId blocks, const Shape& shape) const;
  ir::ValueId chosen_blocks_of(Rewriter& in, ir::ValueId values) const;

  // The row number of each selected row. No value if an index is not constant or out of range.
  [[nodiscard]] std::optional<std::vector<int64_t>> known_rows(const Rewriter& in,
                                                               const std::vector<ir::ValueId>& indices) const;

 private:
  [[nodiscard]] bool are_neighbors() const;
  [[nodiscard]] size_t first_chosen() const;  // axis of the result at which the indices' axes begin
  [[nodiscard]] int64_t before() const;       // number of elements of the axes in front of it

  std::vector<size_t> indexed_;
  std::vector<size_t> rest_;
  std::vector<int64_t> sizes_;  // sizes of the tensor's axes
  Shape chosen_;
};

// The complete attributes of _to_copy.
ir::Attributes to_copy_attributes(DType to);
// The shape of two operands after PyTorch's broadcasting. No value if they do not broadcast.
std::optional<Shape> broadcast_of_ranks(const Shape& a, const Shape& b);
// Broadcasts a value to a shape.
ir::ValueId expanded(Rewriter& in, ir::ValueId x, const Shape& shape);

}  // namespace carina::normalize
