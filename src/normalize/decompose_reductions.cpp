#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/slices.h"

// Composite reductions become sums, maxima and products with constant matrices.
//   Example: cumsum of [a,b,c] is its product with [[1,1,1],[0,1,1],[0,0,1]] = [a, a+b, a+b+c].
namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

// max + log(sum(exp(x - max)))
Result<bool> logsumexp(Rewriter& in, const Node& node) {
  const ValueId x = node.inputs[0];
  const Shape shape = in.shape(x);
  if (in[x].dtype != DType::kFp32 || shape.rank() == 0) return false;
  const std::vector<size_t> axes = reduced_axes(node.attributes, "dim", shape.rank());
  const Shape kept = kept_shape(shape, axes);
  const ValueId max = in.make(AtenOp::amax_default, {x}, {{"dim", to_ints(axes)}, {"keepdim", true}}, kept);
  const ValueId power =
      in.make(AtenOp::exp_default, {in.make(AtenOp::sub_Tensor, {x, max}, no_alpha(), shape)}, {}, shape);
  const ValueId sum = in.make(AtenOp::sum_dim_IntList, {power}, over(axes), kept);
  const ValueId log = in.make(AtenOp::log_default, {sum}, {}, kept);
  return rewritten(in.view_into(node.outputs[0], in.make(AtenOp::add_Tensor, {max, log}, no_alpha(), kept)));
}

// sum(a * b) / sqrt(max(sum(a * a), eps^2) * max(sum(b * b), eps^2)). The length of each vector is at least eps, as in
// PyTorch.
Result<bool> cosine_similarity(Rewriter& in, const Node& node) {
  const ValueId a = node.inputs[0], b = node.inputs[1];
  const Shape shape = in.shape(a);
  if (in[a].dtype != DType::kFp32 || in.shape(b) != shape || shape.rank() == 0) return false;
  const std::vector<size_t> axes{axis_of(node.attributes.integer("dim"), shape.rank())};
  const Shape kept = kept_shape(shape, axes);
  const double eps = node.attributes.number("eps");
  const auto dot = [&](ValueId x, ValueId y) {
    return in.make(AtenOp::sum_dim_IntList, {in.make(AtenOp::mul_Tensor, {x, y}, {}, shape)}, over(axes), kept);
  };
  const auto inverse_length = [&](ValueId x) {
    const ValueId safe =
        in.make(AtenOp::clamp_default, {dot(x, x)}, {{"min", eps * eps}, {"max", std::monostate()}}, kept);
    return in.make(AtenOp::rsqrt_default, {safe}, {}, kept);
  };
  const ValueId half = in.make(AtenOp::mul_Tensor, {dot(a, b), inverse_length(a)}, {}, kept);
  return rewritten(in.view_into(node.outputs[0], in.make(AtenOp::mul_Tensor, {half, inverse_length(b)}, {}, kept)));
}

// A triangular matrix of ones: the weights of a cumulative sum.
Tensor ones_up_to_each(int64_t size) {
  MutableTensor ones(DType::kFp32, Shape{size, size});
  const auto elements = ones.values<float>();
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t row = i / static_cast<size_t>(size), column = i % static_cast<size_t>(size);
    elements[i] = column <= row ? 1.0F : 0.0F;
  }
  return std::move(ones).freeze();
}

// Exchanges the axis with the last one. The same exchange restores the order.
ValueId with_last(Rewriter& in, ValueId x, size_t axis) {
  const Shape shape = in.shape(x);
  std::vector<int64_t> dims(shape.rank());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  std::swap(dims[axis], dims.back());
  Shape exchanged = shape;
  std::swap(exchanged[axis], exchanged[shape.rank() - 1]);
  return in.move(AtenOp::permute_default, {x}, {{"dims", dims}}, exchanged);
}

Result<bool> running_sum_of_floats(Rewriter& in, const Node& node, ValueId x, size_t axis) {
  constexpr int64_t kLargestMatrix = 2048;
  const int64_t size = in.shape(x)[axis];
  if (size > kLargestMatrix) return false;
  const ValueId ones = in.constant(node.name + "_ones", ones_up_to_each(size));
  const ValueId rows = with_last(in, x, axis);
  const ValueId sums = in.make(AtenOp::linear_default, {rows, ones}, {}, in.shape(rows));
  return rewritten(in.view_into(node.outputs[0], with_last(in, sums, axis)));
}

// Combines each element with the element 1, 2, 4, ... positions before it. Before the first element, the neutral
// element of the operation is used.
template <AtenOp kJoin>
Result<bool> running(Rewriter& in, const Node& node, ValueId x, size_t axis) {
  constexpr int64_t kNeutral = kJoin == AtenOp::mul_Tensor ? 1 : 0;
  const Shape shape = in.shape(x);
  for (int64_t step = 1; step < shape[axis]; step *= 2) {
    std::vector<int64_t> pad(2 * (shape.rank() - axis), 0);
    pad[pad.size() - 2] = step;
    const ValueId before = in.move(AtenOp::constant_pad_nd_default, {slice(in, x, axis, 0, shape[axis] - step)},
                                   {{"pad", pad}, {"value", kNeutral}}, shape);
    x = in.make(kJoin, {x, before}, kJoin == AtenOp::add_Tensor ? no_alpha() : ir::Attributes{}, shape);
  }
  return rewritten(in.view_into(node.outputs[0], x));
}

// The input in the type of the result.
ValueId converted_input(Rewriter& in, const Node& node) {
  const ir::Value& output = in[node.outputs[0]];
  const DType type = output.dtype;
  if (in[node.inputs[0]].dtype == type) return node.inputs[0];
  ir::Value converted{
      .name = node.name + "_to", .dtype = type, .shape = output.shape, .quantization = {}, .constant = {}};
  return in.make_value(AtenOp::_to_copy_default, {node.inputs[0]}, {{"dtype", type}}, std::move(converted));
}

template <AtenOp kJoin>
Result<bool> running_result(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.outputs[0]);
  const DType type = in[node.outputs[0]].dtype;
  if (shape.elements() == 0 || (is_float(type) && type != DType::kFp32)) return false;
  const ValueId x = converted_input(in, node);
  if (shape.rank() == 0) return rewritten(in.view_into(node.outputs[0], x));
  const size_t axis = axis_of(node.attributes.integer("dim"), shape.rank());
  if (kJoin == AtenOp::add_Tensor && type == DType::kFp32) return running_sum_of_floats(in, node, x, axis);
  return running<kJoin>(in, node, x, axis);
}

// Compares each class number with the index.
Result<bool> one_hot(Rewriter& in, const Node& node) {
  const Shape result = in.shape(node.outputs[0]);
  const int64_t classes = node.attributes.integer("num_classes");
  constexpr int64_t kMaxClasses = int64_t{1} << 22;  // the list of all classes is a constant
  if (classes < 1 || classes > kMaxClasses) return false;
  std::vector<int64_t> numbers(static_cast<size_t>(classes));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  const ValueId all = in.constant(node.name + "_classes", Tensor::of<int64_t>(DType::kInt64, Shape{classes}, numbers));
  Shape single = result;
  single[result.rank() - 1] = 1;
  ir::Value flags{
      .name = node.name + "_equal", .dtype = DType::kBool, .shape = result, .quantization = {}, .constant = {}};
  const ValueId found = in.make_value(AtenOp::eq_Tensor, {in.view(node.inputs[0], single), all}, {}, std::move(flags));
  return rewritten(
      in.define(node.outputs[0], AtenOp::_to_copy_default, {found}, {{"dtype", in[node.outputs[0]].dtype}}));
}

constexpr RewriteRow kReductionRewrites[] = {
    {AtenOp::logsumexp_default, logsumexp},
    {AtenOp::cosine_similarity_default, cosine_similarity},
    {AtenOp::cumsum_default, running_result<AtenOp::add_Tensor>},
    {AtenOp::cumprod_default, running_result<AtenOp::mul_Tensor>},
    {AtenOp::one_hot_default, one_hot},
};
static_assert(rewrites_what_becomes(kReductionRewrites));

}  // namespace

std::span<const RewriteRow> reduction_rewrites() {
  return kReductionRewrites;
}

}  // namespace carina::normalize
