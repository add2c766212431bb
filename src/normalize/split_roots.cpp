#include "normalize/split_roots.h"

#include <cmath>

#include "normalize/rewriter.h"

namespace carina::normalize {

Result<void> split_roots(ir::Graph& aten, const std::map<ir::NodeId, double>& largest) {
  constexpr double kFactor = 128;
  Rewriter in(aten, std::span<const RewriteRow>());
  return in.run_each([&](const ir::Node& node, ir::NodeId id) -> Result<bool> {
    const auto found = largest.find(id);
    if (found == largest.end()) return false;
    const ir::ValueId x = node.inputs[0];
    const auto with_number = [&](AtenOp op, ir::ValueId value, double number) {
      return in.make(op, {value, in.scalar(number, DType::kFp32)}, {}, in.shape(x));
    };
    const ir::ValueId whole = in.unary(AtenOp::sqrt_default, x);
    const ir::ValueId small = with_number(AtenOp::minimum_default, x, found->second / kFactor);
    const ir::ValueId root = in.unary(AtenOp::sqrt_default, with_number(AtenOp::mul_Tensor, small, kFactor));
    const ir::ValueId fine = with_number(AtenOp::mul_Tensor, root, 1 / std::sqrt(kFactor));
    return rewritten(in.define(node.outputs[0], AtenOp::maximum_default, {whole, fine}, {}));
  });
}

}  // namespace carina::normalize
