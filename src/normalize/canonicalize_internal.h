#pragma once

#include <span>
#include <vector>

#include "facts/aten_traits.h"
#include "normalize/axes.h"
#include "normalize/rewriter.h"

namespace carina::normalize {

// The rows of the pass `canonicalize`, one list per family.
std::span<const RewriteRow> canonical_views();
std::span<const RewriteRow> canonical_slices();
std::span<const RewriteRow> canonical_limits();
std::span<const RewriteRow> canonical_arithmetic();
std::span<const RewriteRow> canonical_reductions();
std::span<const RewriteRow> canonical_logic();
std::span<const RewriteRow> canonical_promotions();
std::span<const RewriteRow> canonical_divisions();

// The axes in their order: {0, 1, ..., rank - 1}.
inline std::vector<int64_t> identity_order(size_t rank) {
  std::vector<int64_t> dims(rank);
  for (size_t i = 0; i < rank; ++i) dims[i] = static_cast<int64_t>(i);
  return dims;
}

// A constant of rank 0 with the given type. fp64 becomes fp32, because no stage computes with fp64.
ir::ValueId constant_of(Rewriter& in, const ir::Node& node, double value, DType dtype);

// Replaces the operator by one with the same meaning that the later passes know.
template <AtenOp kTo>
Result<bool> renamed(Rewriter& in, const ir::Node& node) {
  return rewritten(in.define(node.outputs[0], kTo, node.inputs, node.attributes));
}

}  // namespace carina::normalize
