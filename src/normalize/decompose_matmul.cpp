#include <algorithm>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/slices.h"
#include "tensor/permutation.h"

// Matrix products of any rank become linear layers (a constant right operand) or one bmm of rank 3.
//   Example: [8,1,4,16] x [2,16,5] is bmm([16,4,16], [16,16,5]), viewed as [8,2,4,5].
namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

// Returns whether the value is a constant [K,N] that can be the weight of a linear layer: floats, or symmetric int8
// with a scale for each column.
bool is_weight_matrix(const Rewriter& in, ValueId id) {
  const ir::Value& value = in[id];
  if (!value.constant || value.shape.rank() != 2 || !is_float(value.dtype)) return false;
  if (!value.quantization) return is_float(value.constant->dtype);
  const Quantization& q = *value.quantization;
  return q.dtype == DType::kInt8 && (!q.per_channel() || q.axis == 1) &&
         std::ranges::all_of(q.zero_points, [](int64_t zp) { return zp == 0; });
}

// Transposes [K,N] to [N,K] at compile time.
ValueId transposed(Rewriter& in, ValueId id) {
  ir::Value matrix = in[id];
  matrix.name += "_t";
  matrix.constant = permuted(*matrix.constant, {1, 0});
  matrix.shape = matrix.constant->shape;
  if (matrix.quantization && matrix.quantization->per_channel()) matrix.quantization->axis = 0;
  return in.graph().add_value(std::move(matrix));
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

// Replaces the node by one with a result of another shape and a view to the node's shape.
Result<bool> reshaped_result(Rewriter& in, const Node& node, AtenOp op, std::vector<ValueId> inputs,
                             const Shape& shape) {
  const ir::Value& output = in[node.outputs[0]];
  if (output.shape == shape) return rewritten(in.define(node.outputs[0], op, std::move(inputs), {}));
  ir::Value product{.name = node.name + "_product",
                    .dtype = output.dtype,
                    .shape = shape,
                    .quantization = output.quantization,
                    .constant = {}};
  return rewritten(in.view_into(node.outputs[0], in.make_value(op, std::move(inputs), {}, std::move(product))));
}

// Converts a product of two tensors of rank 2 or more to one bmm. Equal batch axes are merged; others are broadcast
// first.
Result<bool> to_bmm(Rewriter& in, const Node& node) {
  const Shape a = in.shape(node.inputs[0]), b = in.shape(node.inputs[1]), out = in.shape(node.outputs[0]);
  const Shape batch = batch_of(out);
  const int64_t count = batch.elements();
  const auto flattened = [&](ValueId id, const Shape& shape) {
    const Shape full = with_last_two(shape, batch);
    if (shape.elements() != full.elements()) {
      std::vector<int64_t> padded(full.rank() - shape.rank(), 1);
      padded.insert(padded.end(), shape.dims().begin(), shape.dims().end());
      id = in.move(AtenOp::expand_default, {in.view(id, Shape(padded))}, {{"size", dims_of(full)}, {"implicit", false}},
                   full);
    }
    return in.view(id, Shape{count, shape[shape.rank() - 2], shape[shape.rank() - 1]});
  };
  const ValueId left = flattened(node.inputs[0], a), right = flattened(node.inputs[1], b);
  return reshaped_result(in, node, AtenOp::bmm_default, {left, right},
                         Shape{count, out[out.rank() - 2], out[out.rank() - 1]});
}

// A vector is a row as the left operand and a column as the right operand. The result does not have that axis.
Result<bool> product_with_vector(Rewriter& in, const Node& node) {
  std::vector<int64_t> result = dims_of(in.shape(node.outputs[0]));
  ValueId left = node.inputs[0], right = node.inputs[1];
  const bool is_row = in.shape(left).rank() == 1, is_column = in.shape(right).rank() == 1;
  if (is_column) result.push_back(1);
  if (is_row) result.insert(result.end() - 1, 1);
  if (is_row) left = in.view(left, Shape{1, in.shape(left)[0]});
  if (is_column) right = in.view(right, Shape{in.shape(right)[0], 1});
  return reshaped_result(in, node, AtenOp::matmul_default, {left, right}, Shape(result));
}

// A product with a constant on the left, as filters over the channels of [N,C,W], is a linear layer of the columns:
//   W x = (x^T W^T)^T
Result<bool> product_of_columns(Rewriter& in, const Node& node) {
  const ValueId columns = permuted_axes(in, node.inputs[1], transposed_axes(in.shape(node.inputs[1]).rank()));
  std::vector<int64_t> shape = dims_of(in.shape(node.outputs[0]));
  std::swap(shape[shape.size() - 2], shape[shape.size() - 1]);
  const ValueId rows = in.make(AtenOp::linear_default, {columns, node.inputs[0], ValueId()}, {}, Shape(shape));
  return rewritten(
      in.define(node.outputs[0], AtenOp::permute_default, {rows}, {{"dims", transposed_axes(shape.size())}}));
}

Result<bool> product(Rewriter& in, const Node& node) {
  const size_t left = in.shape(node.inputs[0]).rank(), right = in.shape(node.inputs[1]).rank();
  if (left < 1 || right < 1) return false;
  if (left == 1 || right == 1) return product_with_vector(in, node);
  if (is_weight_matrix(in, node.inputs[1])) {
    const ValueId weight = transposed(in, node.inputs[1]);
    return rewritten(in.define(node.outputs[0], AtenOp::linear_default, {node.inputs[0], weight, ValueId()}, {}));
  }
  const bool is_plain = !in[node.inputs[0]].quantization && !in[node.outputs[0]].quantization;
  if (is_plain && is_weight_matrix(in, node.inputs[0]) && !in[node.inputs[1]].constant)
    return product_of_columns(in, node);
  return to_bmm(in, node);
}

ValueId times(Rewriter& in, ValueId value, double factor) {
  if (factor == 1) return value;
  const Shape shape = in.shape(value);
  return in.make(AtenOp::mul_Tensor, {value, in.scalar(factor, in[value].dtype)}, {}, shape);
}

// beta * self + alpha * product. If beta is 0, self is not read, as in PyTorch.
Result<bool> product_and_sum(Rewriter& in, const Node& node) {
  const double alpha = node.attributes.number("alpha"), beta = node.attributes.number("beta");
  const Shape out = in.shape(node.outputs[0]);
  const ValueId matrix = times(in, in.make(AtenOp::matmul_default, {node.inputs[1], node.inputs[2]}, {}, out), alpha);
  const ValueId self = beta == 0 ? in.scalar(0, in[node.inputs[0]].dtype) : times(in, node.inputs[0], beta);
  return rewritten(in.define(node.outputs[0], AtenOp::add_Tensor, {matrix, self}, no_alpha()));
}

Result<bool> addmm(Rewriter& in, const Node& node) {
  const ValueId self = node.inputs[0];
  const Shape out = in.shape(node.outputs[0]), shape = in.shape(self);
  const bool plain = node.attributes.number("alpha") == 1 && node.attributes.number("beta") == 1;
  const bool is_bias = in[self].constant && shape.rank() == 1 && shape[0] == out[1];
  if (!plain || !is_bias || !is_weight_matrix(in, node.inputs[2]) ||
      in[self].quantization.has_value() != in[node.inputs[2]].quantization.has_value())
    return product_and_sum(in, node);
  const ValueId weight = transposed(in, node.inputs[2]);
  return rewritten(in.define(node.outputs[0], AtenOp::linear_default, {node.inputs[1], weight, self}, {}));
}

// A linear layer whose weights are computed: x @ w^T + b.
Result<bool> linear(Rewriter& in, const Node& node) {
  const ValueId x = node.inputs[0], weight = node.inputs[1];
  const ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : ValueId();
  const bool added = bias.valid() && (!in[bias].constant || !in[weight].constant);
  if (in[weight].constant && !added) return false;
  const Shape out = in.shape(node.outputs[0]), w = in.shape(weight);
  if (w.rank() != 2 || (added && in[node.outputs[0]].quantization)) return false;
  const auto multiply = [&](ValueId output) -> Result<void> {
    if (in[weight].constant) return in.define(output, AtenOp::linear_default, {x, weight, ValueId()}, {});
    const ValueId matrix =
        in.move(AtenOp::permute_default, {weight}, {{"dims", std::vector<int64_t>{1, 0}}}, Shape{w[1], w[0]});
    return in.define(output, AtenOp::matmul_default, {x, matrix}, {});
  };
  if (!added) return rewritten(multiply(node.outputs[0]));
  const ValueId sum = in.graph().add_value(node.name + "_product", in[node.outputs[0]].dtype, out);
  CARINA_CHECKED(multiply(sum));
  return rewritten(in.define(node.outputs[0], AtenOp::add_Tensor, {sum, bias}, no_alpha()));
}

Result<bool> vector_product(Rewriter& in, const Node& node) {
  return rewritten(in.define(node.outputs[0], AtenOp::matmul_default, node.inputs, {}));
}

// y[o] = sum over j of (x1 @ weight[o])[j] * x2[j], plus the bias.
Result<bool> bilinear(Rewriter& in, const Node& node) {
  if (!is_fp32(in, node) || in[node.outputs[0]].quantization) return false;
  const ValueId first = node.inputs[0], weight = node.inputs[2];
  const Shape weights = in.shape(weight), out = in.shape(node.outputs[0]), second = in.shape(node.inputs[1]);
  const ValueId matrix = in.view(permuted_axes(in, weight, {0, 2, 1}), Shape{weights[0] * weights[2], weights[1]});
  const int64_t rows = out.elements() / weights[0];
  const Shape apart{rows, weights[0], weights[2]};
  const ValueId half = in.make(AtenOp::linear_default, {in.view(first, Shape{rows, weights[1]}), matrix}, {},
                               Shape{rows, weights[0] * weights[2]});
  const ValueId product =
      in.make(AtenOp::mul_Tensor,
              {in.view(half, apart), in.view(node.inputs[1], Shape{rows, 1, second[second.rank() - 1]})}, {}, apart);
  const std::vector<size_t> columns{2};
  ValueId sum = in.make(AtenOp::sum_dim_IntList, {product}, over(columns), kept_shape(apart, columns));
  if (!node.inputs[3].valid()) return rewritten(in.view_into(node.outputs[0], sum));
  sum = in.view(sum, out);
  return rewritten(in.define(node.outputs[0], AtenOp::add_Tensor, {sum, node.inputs[3]}, no_alpha()));
}

constexpr RewriteRow kDecomposeMatmulRows[] = {
    {AtenOp::mm_default, product},
    {AtenOp::matmul_default, product},
    {AtenOp::mv_default, vector_product},
    {AtenOp::dot_default, vector_product},
    {AtenOp::addmm_default, addmm},
    {AtenOp::addmv_default, product_and_sum},
    {AtenOp::baddbmm_default, product_and_sum},
    {AtenOp::linear_default, linear},
    {AtenOp::bilinear_default, bilinear},
};
static_assert(rewrites_what_becomes(kDecomposeMatmulRows));

}  // namespace

std::span<const RewriteRow> decompose_matmul_rows() {
  return kDecomposeMatmulRows;
}

}  // namespace carina::normalize
