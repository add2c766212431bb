// Rewrites full reductions, and extrema and max-pools whose indices are unused.

#include <algorithm>

#include "normalize/canonicalize_internal.h"

namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

template <AtenOp kTo>
Result<bool> reduce_all(Rewriter& in, const Node& node) {
  const std::vector<int64_t> dims = identity_order(in.shape(node.inputs[0]).rank());
  Attributes attributes{{"dim", dims}, {"keepdim", false}};
  if (node.attributes.find("dtype") != nullptr) attributes.set("dtype", *node.attributes.find("dtype"));
  return rewritten(in.define(node.outputs[0], kTo, {node.inputs[0]}, attributes));
}

// The product of all elements, as a reduction of a flat view along its only axis.
Result<bool> product_of_all(Rewriter& in, const Node& node) {
  const ValueId flat = in.view(node.inputs[0], Shape{in.shape(node.inputs[0]).elements()});
  return rewritten(in.define(node.outputs[0], AtenOp::prod_dim_int, {flat},
                             {{"dim", int64_t{0}}, {"keepdim", false}, {"dtype", *node.attributes.find("dtype")}}));
}

bool only_first_used(Rewriter& in, const Node& node) {
  return std::ranges::all_of(node.outputs.begin() + 1, node.outputs.end(),
                             [&](ValueId v) { return !v.valid() || in.uses(v) == 0; });
}

template <AtenOp kTo>
Result<bool> extremum_of_axis(Rewriter& in, const Node& node) {
  const auto axis = static_cast<int64_t>(axis_of(node.attributes.integer("dim"), in.shape(node.inputs[0]).rank()));
  if (!only_first_used(in, node)) {
    constexpr AtenOp kArgument = kTo == AtenOp::amax_default ? AtenOp::argmax_default : AtenOp::argmin_default;
    CARINA_CHECKED(in.define(node.outputs[1], kArgument, {node.inputs[0]},
                             {{"dim", axis}, {"keepdim", node.attributes.get<bool>("keepdim")}}));
  }
  return rewritten(in.define(node.outputs[0], kTo, {node.inputs[0]},
                             {{"dim", std::vector{axis}}, {"keepdim", node.attributes.get<bool>("keepdim")}}));
}

Result<bool> both_extrema(Rewriter& in, const Node& node) {
  const size_t rank = in.shape(node.inputs[0]).rank();
  const bool all = node.attributes.is_none("dim");
  const std::vector<int64_t> dims =
      all ? identity_order(rank) : std::vector{static_cast<int64_t>(axis_of(node.attributes.integer("dim"), rank))};
  const Attributes attributes{{"dim", dims}, {"keepdim", node.attributes.get<bool>("keepdim")}};
  CARINA_CHECKED(in.define(node.outputs[0], AtenOp::amin_default, {node.inputs[0]}, attributes));
  return rewritten(in.define(node.outputs[1], AtenOp::amax_default, {node.inputs[0]}, attributes));
}

// Replaces an operator with several results by the operator that has only the first, if no other result is used.
template <AtenOp kTo>
Result<bool> first_result(Rewriter& in, const Node& node) {
  if (!only_first_used(in, node)) return false;
  return rewritten(in.define(node.outputs[0], kTo, node.inputs, node.attributes));
}

constexpr RewriteRow kCanonicalizeReductionsRows[] = {
    {AtenOp::max_default, reduce_all<AtenOp::amax_default>},
    {AtenOp::min_default, reduce_all<AtenOp::amin_default>},
    {AtenOp::max_dim, extremum_of_axis<AtenOp::amax_default>},
    {AtenOp::min_dim, extremum_of_axis<AtenOp::amin_default>},
    {AtenOp::aminmax_default, both_extrema},
    {AtenOp::mean_default, reduce_all<AtenOp::mean_dim>},
    {AtenOp::prod_default, product_of_all},
    {AtenOp::sum_default, reduce_all<AtenOp::sum_dim_IntList>},
    {AtenOp::max_pool2d_with_indices_default, first_result<AtenOp::max_pool2d_default>},
    {AtenOp::max_pool1d_with_indices_default, first_result<AtenOp::max_pool1d_default>},
    {AtenOp::_adaptive_avg_pool2d_default, renamed<AtenOp::adaptive_avg_pool2d_default>},
};
static_assert(rewrites_what_becomes(kCanonicalizeReductionsRows));

}  // namespace

std::span<const RewriteRow> canonical_reductions() {
  return kCanonicalizeReductionsRows;
}

}  // namespace carina::normalize
