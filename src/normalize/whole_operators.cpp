// Operators that a program for the CPU keeps. ExecuTorch has a kernel for each, so one call replaces the several nodes
// that the passes of normalize() would write.
//   %y = aten.softmax.int(%x, dim=-1)      stays: one call of aten::_softmax.out instead of six kernels
// Source: the operators of ExecuTorch's edge programs (Core ATen) that facts/aten contains.

#include <algorithm>
#include <array>

#include "normalize/passes_internal.h"

namespace carina::normalize {
namespace {

constexpr std::array kWholeOperators{
    AtenOp::softmax_int,
    AtenOp::_softmax_default,
    AtenOp::log_softmax_int,
    AtenOp::_log_softmax_default,
    AtenOp::layer_norm_default,
    AtenOp::native_layer_norm_default,
    AtenOp::group_norm_default,
    AtenOp::native_group_norm_default,
    AtenOp::mm_default,
    AtenOp::addmm_default,
    AtenOp::matmul_default,
    AtenOp::var_correction,
    AtenOp::var_dim,
    AtenOp::topk_default,
    AtenOp::max_dim,
    AtenOp::min_dim,
    AtenOp::embedding_default,
    AtenOp::gather_default,
    AtenOp::index_select_default,
    AtenOp::select_int,
    AtenOp::squeeze_dims,
    AtenOp::squeeze_dim,
    AtenOp::unsqueeze_default,
    AtenOp::pow_Tensor_Scalar,
    AtenOp::div_Tensor,
    AtenOp::cumsum_default,
    AtenOp::upsample_nearest2d_vec,
    AtenOp::adaptive_avg_pool2d_default,
};

bool is_narrow_float(DType dtype) {
  return is_float(dtype) && dtype != DType::kFp32;
}

}  // namespace

// Nodes with operands that PyTorch would promote, and with 16-bit floats, are rewritten by the passes.
bool stays_whole(const Rewriter& in, const ir::Node& node) {
  if (!node.op.is_aten() || std::ranges::find(kWholeOperators, node.op.aten()) == kWholeOperators.end()) return false;
  if (node.op.aten() == AtenOp::matmul_default && !std::ranges::all_of(node.inputs, [&](ir::ValueId input) {
        return in.shape(input).rank() == 2;  // mm only: products of stacks have no kernel of that name
      }))
    return false;
  const DType dtype = in[node.inputs[0]].dtype;
  return dtype == in[node.outputs[0]].dtype && !is_narrow_float(dtype) && in.shape(node.inputs[0]).rank() > 0;
}

}  // namespace carina::normalize
