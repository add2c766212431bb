// What:   composite ops become chains of simple ones.
// Before: %y = aten.softmax.int(%x, dim=-1)
// After:  %m = aten.amax(%x); %s = aten.sub(%x, %m); %e = aten.exp(%s); %d = aten.sum(%e); %r = aten.reciprocal(%d); %y
// = aten.mul(%e, %r) Needs:  canonicalize, fold-batch-norm. Gives:  no softmax, norms, variance, attention, mm, addmm,
// matmul, one-dimensional convolution or pooling; every
//         intermediate is a value that calibration can observe and the quantizer annotate.
// Legal:  PyTorch's own decompositions; in float the results differ by rounding only.

#include <algorithm>

#include "lower/prepare/decompose_internal.h"
#include "lower/prepare/passes_internal.h"

namespace carina::lower {

namespace {

std::vector<RewriteRow> all_rows() {
  std::vector<RewriteRow> rows;
  for (const auto part : {norm_rows(), product_rows(), window_rows()})
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace

Result<void> decompose(ir::Graph& graph, const Log&) {
  static const std::vector<RewriteRow> rows = all_rows();
  return Rewriter(graph, rows).run();
}

}  // namespace carina::lower
