// What:   composite ops become chains of simple ones.
// Before: %y = aten.softmax.int(%x, dim=-1)
// After:  %m = aten.amax(%x); %s = aten.sub(%x, %m); %e = aten.exp(%s)
//         %d = aten.sum(%e); %r = aten.reciprocal(%d); %y = aten.mul(%e, %r)
// Needs:  no-batch-norm (fold-batch-norm).
// Gives:  no-composites: no softmax, norms, variance, attention, mm, addmm, matmul, one-dimensional convolution or
//         pooling; every intermediate is a value that calibration can observe and the quantizer annotate.
// Legal:  PyTorch's own decompositions; in float the results differ by rounding only.

#include "normalize/decompose_internal.h"
#include "normalize/passes_internal.h"

namespace carina::normalize {

std::span<const RewriteRow> decomposition_rows() {
  static const std::vector<RewriteRow> rows = joined(
      {moved_constant_rows(), norm_rows(),           statistic_rows(),     decompose_matmul_rows(), attention_rows(),
       einsum_rows(),         recurrence_rows(),     window_rows(),        pool_rewrites(),         movement_rewrites(),
       indexing_rewrites(),   scatter_rewrites(),    stride_rewrites(),    resampling_rewrites(),   grid_rewrites(),
       activation_rewrites(), arithmetic_rewrites(), reduction_rewrites(), order_rewrites(),        volume_rewrites()});
  return rows;
}

Result<void> decompose(ir::Graph& graph, const Log&) {
  return Rewriter(graph, decomposition_rows()).run();
}

Result<void> decompose_for_cpu(ir::Graph& graph, const Log&) {
  return Rewriter(graph, decomposition_rows(), stays_whole).run();
}

}  // namespace carina::normalize
