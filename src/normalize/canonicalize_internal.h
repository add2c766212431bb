#pragma once

#include <span>
#include <vector>

#include "facts/aten_traits.h"
#include "normalize/axes.h"
#include "normalize/rewriter.h"

namespace carina::normalize {

// The rows of the pass `canonicalize`, by family.
std::span<const RewriteRow> canonical_views();
std::span<const RewriteRow> canonical_slices();
std::span<const RewriteRow> canonical_limits();
std::span<const RewriteRow> canonical_arithmetic();
std::span<const RewriteRow> canonical_reductions();
std::span<const RewriteRow> canonical_logic();
std::span<const RewriteRow> canonical_promotions();
std::span<const RewriteRow> canonical_divisions();

// 0, 1, ... : the axes in their order.
inline std::vector<int64_t> identity_order(size_t rank) {
  std::vector<int64_t> dims(rank);
  for (size_t i = 0; i < rank; ++i) dims[i] = static_cast<int64_t>(i);
  return dims;
}

// A constant without axes, of the very type (fp64, which no stage computes with, as fp32).
ir::ValueId constant_of(Rewriter& in, const ir::Node& node, double value, DType dtype);

// The same operator under the name that the later passes know.
template <AtenOp kTo>
Result<bool> renamed(Rewriter& in, const ir::Node& node) {
  return rewritten(in.into(node.outputs[0], kTo, node.inputs, node.attributes));
}

}  // namespace carina::normalize
