// What:   replaces equivalent PyTorch operators by one canonical form.
// Before: %b = aten.flatten.using_ints(%a, start_dim=1, end_dim=-1)
//         %c = aten.relu6.default(%b)
//         %d = aten.select_copy.int(%c, dim=0, index=3)
// After:  %b = aten.view.default(%a, size=[1,64])
//         %c = aten.clamp.default(%b, min=0, max=6)
//         %s = aten.slice.Tensor(%c, dim=0, start=3, end=4, step=1)
//         %d = aten.view.default(%s, size=[64])
// Needs:  static shapes.
// Gives:  one-spelling: reshapes are view.default, transpositions permute.default, activations with limits relu.default
//         or clamp.default, scalar operands constants, splits and selects slice.Tensor with start and end in range.
// Legal:  every row is PyTorch's own definition of the op in terms of the other.

#include "normalize/canonicalize_internal.h"
#include "normalize/passes_internal.h"
#include "tensor/filled_tensor.h"

namespace carina::normalize {

std::span<const RewriteRow> canonical_rows() {
  static const std::vector<RewriteRow> rows =
      joined({canonical_promotions(), canonical_views(), canonical_slices(), canonical_limits(), canonical_arithmetic(),
              canonical_reductions(), canonical_logic(), canonical_divisions()});
  return rows;
}

ir::ValueId constant_of(Rewriter& in, const ir::Node& node, double value, DType dtype) {
  return in.constant(node.name + "_scalar", filled_tensor(dtype, {}, value));
}

Result<void> canonicalize(ir::Graph& graph, const Log&) {
  return Rewriter(graph, canonical_rows()).run();
}

Result<void> canonicalize_for_cpu(ir::Graph& graph, const Log&) {
  return Rewriter(graph, canonical_rows(), stays_whole).run();
}

}  // namespace carina::normalize
