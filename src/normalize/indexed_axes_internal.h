#pragma once

#include <optional>
#include <vector>

#include "normalize/rewriter.h"

namespace carina::normalize {

// Which axes of a tensor indices choose from: x[:, i, :, k] has axes 1 and 3. The tensor is seen as rows: the indexed
// axes, then the elements that are chosen together as one axis, `inner`.
class IndexedAxes {
 public:
  // `indices`: one per axis, invalid where all of the axis is meant. Nothing where none is given, or where they do not
  // broadcast.
  static std::optional<IndexedAxes> of(const Rewriter& in, const Shape& shape, const std::vector<ir::ValueId>& indices);

  [[nodiscard]] const std::vector<size_t>& indexed() const { return indexed_; }
  [[nodiscard]] const Shape& chosen() const { return chosen_; }  // the indices, broadcast
  [[nodiscard]] int64_t count() const { return chosen_.elements(); }
  [[nodiscard]] int64_t row_count() const;  // that an index chooses from
  [[nodiscard]] int64_t inner() const;
  // x[...] as PyTorch has it.
  [[nodiscard]] Shape chosen_shape() const;

  // The tensor as rows, and back.
  [[nodiscard]] bool are_rows(const Shape& shape) const;  // already
  [[nodiscard]] Shape rows_shape(const Shape& shape) const;
  ir::ValueId rows_of(Rewriter& in, ir::ValueId x) const;
  ir::ValueId whole_of(Rewriter& in, ir::ValueId rows, const Shape& shape) const;
  // What is chosen, as rows [chosen..., inner], and back.
  ir::ValueId chosen_rows_of(Rewriter& in, ir::ValueId values) const;
  ir::ValueId chosen_of(Rewriter& in, ir::ValueId rows) const;

  // The same for rows that are known: [before, rows, behind] without moving anything where the indexed axes are
  // neighbors; else the rows.
  ir::ValueId blocks_of(Rewriter& in, ir::ValueId x) const;
  ir::ValueId whole_of_blocks(Rewriter& in, ir::ValueId blocks, const Shape& shape) const;
  ir::ValueId chosen_blocks_of(Rewriter& in, ir::ValueId values) const;

  // Per row that is chosen, its number among the tensor's; nothing where an index is not constant or out of range.
  [[nodiscard]] std::optional<std::vector<int64_t>> known_rows(const Rewriter& in,
                                                               const std::vector<ir::ValueId>& indices) const;

 private:
  [[nodiscard]] bool are_neighbors() const;
  [[nodiscard]] size_t first_chosen() const;  // axis of the result where the indices' axes stand
  [[nodiscard]] int64_t before() const;       // elements of the axes in front of it

  std::vector<size_t> indexed_;
  std::vector<size_t> rest_;
  std::vector<int64_t> sizes_;  // of the tensor
  Shape chosen_;
};

// All attributes of _to_copy.
ir::Attributes to_copy_attributes(DType to);
// The shape that two operands have after PyTorch's broadcasting, if there is one.
std::optional<Shape> broadcast_of_ranks(const Shape& a, const Shape& b);
// The value broadcast to a shape.
ir::ValueId expanded(Rewriter& in, ir::ValueId x, const Shape& shape);

}  // namespace carina::normalize
