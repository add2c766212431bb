#pragma once

#include <span>

#include "normalize/axes.h"
#include "normalize/rewriter.h"

namespace carina::normalize {

// The rows of the pass `decompose`, one list per family.
std::span<const RewriteRow> norm_rows();              // softmax, layer_norm, group_norm
std::span<const RewriteRow> statistic_rows();         // var, std, vector norms
std::span<const RewriteRow> decompose_matmul_rows();  // mm, addmm, matmul
std::span<const RewriteRow> attention_rows();
std::span<const RewriteRow> einsum_rows();
std::span<const RewriteRow> recurrence_rows();  // lstm, gru, rnn
std::span<const RewriteRow> window_rows();      // convolutions
std::span<const RewriteRow> pool_rewrites();
std::span<const RewriteRow> movement_rewrites();
std::span<const RewriteRow> indexing_rewrites();  // index, gather, scatter, embedding
std::span<const RewriteRow> scatter_rewrites();   // select_scatter, slice_scatter, copy, fill
std::span<const RewriteRow> stride_rewrites();    // as_strided, unfold, diagonal, im2col
std::span<const RewriteRow> resampling_rewrites();
std::span<const RewriteRow> grid_rewrites();  // grid_sampler, affine_grid_generator
std::span<const RewriteRow> activation_rewrites();
std::span<const RewriteRow> arithmetic_rewrites();  // addcmul, lerp
std::span<const RewriteRow> reduction_rewrites();   // logsumexp, cosine_similarity, all
std::span<const RewriteRow> order_rewrites();       // topk, sort, median
std::span<const RewriteRow> volume_rewrites();      // conv_transpose3d

// The attributes of sums and means over these axes, which stay with size 1.
inline ir::Attributes over(const std::vector<size_t>& axes) {
  return {{"dim", to_ints(axes)}, {"keepdim", true}, {"dtype", std::monostate()}};
}
inline ir::Attributes over_extremum(const std::vector<size_t>& axes) {
  return {{"dim", to_ints(axes)}, {"keepdim", true}};
}
// Returns whether the node computes in fp32, which the decompositions require.
inline bool is_fp32(const Rewriter& in, const ir::Node& node) {
  return in[node.inputs[0]].dtype == DType::kFp32;
}

inline ir::Attributes no_alpha() {
  return {{"alpha", int64_t{1}}};
}

struct Centered {
  ir::ValueId value;   // x - mean(x) along the axes
  ir::ValueId square;  // its square
};
Centered center(Rewriter& in, ir::ValueId x, const std::vector<size_t>& axes);

}  // namespace carina::normalize
