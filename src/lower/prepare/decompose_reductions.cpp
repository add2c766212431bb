#include "facts/aten_traits.h"
#include "lower/prepare/decompose_internal.h"

namespace carina::lower {
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
  const ValueId most = in.make(AtenOp::amax_default, {x}, {{"dim", to_ints(axes)}, {"keepdim", true}}, kept);
  const ValueId power =
      in.make(AtenOp::exp_default, {in.make(AtenOp::sub_Tensor, {x, most}, no_alpha(), shape)}, {}, shape);
  const ValueId sum = in.make(AtenOp::sum_dim_IntList, {power}, over(axes), kept);
  const ValueId log = in.make(AtenOp::log_default, {sum}, {}, kept);
  return rewritten(in.view_into(node.outputs[0], in.make(AtenOp::add_Tensor, {most, log}, no_alpha(), kept)));
}

// sum(a * b) / sqrt(max(sum(a * a), eps^2) * max(sum(b * b), eps^2)), each vector's length limited from below as in
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

// All are true where not any is false.
Result<bool> all(Rewriter& in, const Node& node, AtenOp any, const Attributes& attributes) {
  const ValueId x = node.inputs[0];
  const auto flag = [&](const Shape& shape) {
    return ir::Value{
        .name = node.name + "_not", .dtype = DType::kBool, .shape = shape, .quantization = {}, .constant = {}};
  };
  const ValueId opposite = in.make_value(AtenOp::logical_not_default, {x}, {}, flag(in.shape(x)));
  const ValueId found = in.make_value(any, {opposite}, attributes, flag(in.shape(node.outputs[0])));
  return rewritten(in.into(node.outputs[0], AtenOp::logical_not_default, {found}, {}));
}
Result<bool> all_elements(Rewriter& in, const Node& node) {
  return all(in, node, AtenOp::any_default, {});
}
template <AtenOp any>
Result<bool> all_along(Rewriter& in, const Node& node) {
  return all(in, node, any, node.attributes);
}

constexpr RewriteRow kReductionRewrites[] = {
    {AtenOp::logsumexp_default, logsumexp},
    {AtenOp::cosine_similarity_default, cosine_similarity},
    {AtenOp::all_default, all_elements},
    {AtenOp::all_dim, all_along<AtenOp::any_dim>},
    {AtenOp::all_dims, all_along<AtenOp::any_dims>},
};
static_assert(rewrites_what_becomes(kReductionRewrites));

}  // namespace

std::span<const RewriteRow> reduction_rewrites() {
  return kReductionRewrites;
}

}  // namespace carina::lower
