#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "facts/aten_traits.h"
#include "lower/prepare/decompose_internal.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

bool is_plain_matrix(const Rewriter& in, ValueId id) {
  const ir::Value& value = in[id];
  return value.constant && value.shape.rank() == 2 && value.constant->dtype == DType::kFp32 && !value.quantization;
}

// [K,N] -> [N,K], at compile time.
ValueId transposed(Rewriter& in, ValueId id) {
  const Tensor matrix = *in[id].constant;
  const int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  MutableTensor out(DType::kFp32, Shape{columns, rows});
  const auto from = matrix.values<float>();
  auto to = out.values<float>();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c)
      to[static_cast<size_t>(c * rows + r)] = from[static_cast<size_t>(r * columns + c)];
  }
  return in.constant(in[id].name + "_t", std::move(out).freeze());
}

Shape with_last_two(const Shape& shape, const Shape& batch) {
  std::vector<int64_t> dims = dims_of(batch);
  dims.push_back(shape[shape.rank() - 2]);
  dims.push_back(shape[shape.rank() - 1]);
  return Shape(dims);
}

Shape batch_of(const Shape& shape) {
  return Shape(shape.dims().first(shape.rank() - 2));
}

// Two tensors of rank 2 or more to one bmm: equal batch axes are merged, others expanded first.
Result<bool> to_bmm(Rewriter& in, const Node& node) {
  const Shape a = in.shape(node.inputs[0]), b = in.shape(node.inputs[1]), out = in.shape(node.outputs[0]);
  const Shape batch = batch_of(out);
  const int64_t count = batch.elements();
  const auto flattened = [&](ValueId id, const Shape& shape) {
    Shape full = with_last_two(shape, batch);
    if (shape.elements() != full.elements()) {
      std::vector<int64_t> padded(full.rank() - shape.rank(), 1);
      padded.insert(padded.end(), shape.dims().begin(), shape.dims().end());
      id = in.move(AtenOp::expand_default, {in.view(id, Shape(padded))}, {{"size", dims_of(full)}, {"implicit", false}},
                   full);
    }
    return in.view(id, Shape{count, shape[shape.rank() - 2], shape[shape.rank() - 1]});
  };
  const ValueId left = flattened(node.inputs[0], a), right = flattened(node.inputs[1], b);
  if (out.rank() == 3) return rewritten(in.into(node.outputs[0], AtenOp::bmm_default, {left, right}, {}));
  ir::Value product{.name = node.name + "_bmm",
                    .dtype = in[node.outputs[0]].dtype,
                    .shape = Shape{count, out[out.rank() - 2], out[out.rank() - 1]},
                    .quantization = in[node.outputs[0]].quantization,
                    .constant = {}};
  const ValueId result = in.make_value(AtenOp::bmm_default, {left, right}, {}, std::move(product));
  return rewritten(in.view_into(node.outputs[0], result));
}

Result<bool> product(Rewriter& in, const Node& node) {
  const size_t left = in.shape(node.inputs[0]).rank(), right = in.shape(node.inputs[1]).rank();
  if (left < 1 || right < 2 || (left < 2 && right != 2)) return false;  // vectors on the right stay what they are
  if (is_plain_matrix(in, node.inputs[1])) {
    const ValueId weight = transposed(in, node.inputs[1]);
    return rewritten(in.into(node.outputs[0], AtenOp::linear_default, {node.inputs[0], weight, ValueId()}, {}));
  }
  if (left < 2 || (node.op == ir::Op(AtenOp::bmm_default))) return false;
  return to_bmm(in, node);
}

// beta * self + alpha * mat1 @ mat2
Result<bool> addmm(Rewriter& in, const Node& node) {
  const double alpha = node.attributes.number("alpha"), beta = node.attributes.number("beta");
  const ValueId self = node.inputs[0];
  const Shape out = in.shape(node.outputs[0]);
  const bool is_bias =
      in[self].constant && in.shape(self).rank() == 1 && in.shape(self)[0] == out[1] && !in[self].quantization;
  if (alpha == 1 && beta == 1 && is_bias && is_plain_matrix(in, node.inputs[2])) {
    const ValueId weight = transposed(in, node.inputs[2]);
    return rewritten(in.into(node.outputs[0], AtenOp::linear_default, {node.inputs[1], weight, self}, {}));
  }
  const auto times = [&](ValueId value, double factor) {
    const Shape shape = in.shape(value);
    return factor == 1 ? value : in.make(AtenOp::mul_Tensor, {value, in.scalar(factor, DType::kFp32)}, {}, shape);
  };
  const ValueId matrix = times(in.make(AtenOp::mm_default, {node.inputs[1], node.inputs[2]}, {}, out), alpha);
  return rewritten(in.into(node.outputs[0], AtenOp::add_Tensor, {matrix, times(self, beta)}, no_alpha()));
}

// beta * self + alpha * batch1 @ batch2
Result<bool> baddbmm(Rewriter& in, const Node& node) {
  const double alpha = node.attributes.number("alpha"), beta = node.attributes.number("beta");
  const auto times = [&](ValueId value, double factor) {
    const Shape shape = in.shape(value);
    return factor == 1 ? value : in.make(AtenOp::mul_Tensor, {value, in.scalar(factor, DType::kFp32)}, {}, shape);
  };
  const Shape out = in.shape(node.outputs[0]);
  const ValueId product = in.make(AtenOp::bmm_default, {node.inputs[1], node.inputs[2]}, {}, out);
  return rewritten(
      in.into(node.outputs[0], AtenOp::add_Tensor, {times(product, alpha), times(node.inputs[0], beta)}, no_alpha()));
}

// 0 where a query may look, minus infinity where the keys lie after it.
ValueId causal_mask(Rewriter& in, const std::string& name, int64_t queries, int64_t keys) {
  std::vector<float> mask;
  for (int64_t q = 0; q < queries; ++q) {
    for (int64_t k = 0; k < keys; ++k) mask.push_back(k <= q ? 0 : -std::numeric_limits<float>::infinity());
  }
  return in.constant(name, Tensor::of<float>(DType::kFp32, Shape{queries, keys}, mask));
}

// softmax(q @ k^T * scale + mask) @ v
Result<bool> attention(Rewriter& in, const Node& node) {
  const ir::Attributes& attributes = node.attributes;
  const Shape q = in.shape(node.inputs[0]), k = in.shape(node.inputs[1]);
  const bool is_causal = attributes.get<bool>("is_causal");
  const bool plain = attributes.number("dropout_p") == 0 && !attributes.get<bool>("enable_gqa") &&
                     !(is_causal && node.inputs[3].valid());
  if (!plain || q.rank() < 3 || k.rank() != q.rank() ||
      (node.inputs[3].valid() && in[node.inputs[3]].dtype != DType::kFp32))
    return false;
  const size_t rank = q.rank();
  const ValueId mask = is_causal ? causal_mask(in, node.name + "_mask", q[rank - 2], k[rank - 2]) : node.inputs[3];
  const double scale =
      attributes.is_none("scale") ? 1 / std::sqrt(static_cast<double>(q[rank - 1])) : attributes.number("scale");
  Shape swapped = k, scores = q;
  std::swap(swapped[rank - 1], swapped[rank - 2]);
  scores[rank - 1] = k[rank - 2];
  std::vector<int64_t> dims(rank);
  for (size_t i = 0; i < rank; ++i) dims[i] = static_cast<int64_t>(i);
  std::swap(dims[rank - 1], dims[rank - 2]);
  const ValueId keys = in.move(AtenOp::permute_default, {node.inputs[1]}, {{"dims", dims}}, swapped);
  ValueId score = in.make(AtenOp::matmul_default, {node.inputs[0], keys}, {}, scores);
  score = in.make(AtenOp::mul_Tensor, {score, in.scalar(scale, DType::kFp32)}, {}, scores);
  if (mask.valid()) score = in.make(AtenOp::add_Tensor, {score, mask}, no_alpha(), scores);
  const ValueId weights =
      in.make(AtenOp::softmax_int, {score}, {{"dim", int64_t{-1}}, {"dtype", std::monostate()}}, scores);
  return rewritten(in.into(node.outputs[0], AtenOp::matmul_default, {weights, node.inputs[2]}, {}));
}

constexpr RewriteRow kDecomposeProductsRows[] = {
    {AtenOp::mm_default, product},
    {AtenOp::matmul_default, product},
    {AtenOp::addmm_default, addmm},
    {AtenOp::baddbmm_default, baddbmm},
    {AtenOp::scaled_dot_product_attention_default, attention},
};
static_assert(rewrites_what_becomes(kDecomposeProductsRows));

}  // namespace

std::span<const RewriteRow> product_rows() {
  return kDecomposeProductsRows;
}

}  // namespace carina::lower
