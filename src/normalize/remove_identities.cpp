// What:   nodes that return their input unchanged disappear.
// Before: %d = aten.dropout.default(%x, p=0.2, train=false); %e = aten.relu.default(%d)
// After:  %e = aten.relu.default(%x)
// Needs:  one-spelling (canonicalize).
// Gives:  no dropout, detach, alias, clone, contiguous, conversion to the same type, reshape or expand to the same
//         shape, slice of everything, identity permute, padding by nothing, cat of one tensor (or of one and empty
//         ones), assertion.
// Legal:  input and output have the same type, shape and elements. If both are quantized with different parameters, a
//         clone remains for the requantization. If only the output is quantized, its parameters move to the input, if
//         the input has no other reader.

#include <algorithm>

#include "facts/aten_traits.h"
#include "normalize/axes.h"
#include "normalize/passes_internal.h"
#include "normalize/rewriter.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

Result<bool> forward_input(Rewriter& in, const Node& node) {
  const ValueId from = node.inputs[0], to = node.outputs[0];
  if (!from.valid() || in[from].dtype != in[to].dtype || in[from].shape != in[to].shape) return false;
  const auto& wanted = in[to].quantization;
  const auto& given = in[from].quantization;
  if (wanted && given && *wanted != *given) {
    if (node.op == ir::Op(AtenOp::clone_default)) return false;
    CARINA_CHECKED(in.define(to, AtenOp::clone_default, {from}, {{"memory_format", std::monostate()}}));
    return true;
  }
  if (wanted && !given) {
    if (in.uses(from) != 1 || in[from].constant) return false;
    in.graph()[from].quantization = wanted;
  }
  in.forward(to, from);
  return true;
}

Result<bool> dropout(Rewriter& in, const Node& node) {
  const ir::Attribute* train = node.attributes.find("train");
  if (train != nullptr && std::holds_alternative<bool>(*train) && std::get<bool>(*train)) {
    Diagnostic diagnostic = about(node, "dropout is in training mode");
    diagnostic.hint = "call model.eval() before torch.export.export()";
    return fail(std::move(diagnostic));
  }
  return forward_input(in, node);
}

Result<bool> whole_slice(Rewriter& in, const Node& node) {
  return node.attributes.integer("step") == 1 ? forward_input(in, node) : false;
}

Result<bool> ordered_permute(Rewriter& in, const Node& node) {
  return std::ranges::is_sorted(node.attributes.integers("dims")) ? forward_input(in, node) : false;
}

// A concatenation in which only one operand has elements.
Result<bool> single_cat(Rewriter& in, const Node& node) {
  std::vector<ValueId> parts = node.inputs;
  std::erase_if(parts, [&](ValueId id) { return in[id].shape.elements() == 0; });
  if (!parts.empty() && parts.size() < node.inputs.size())
    return rewritten(in.define(node.outputs[0], AtenOp::cat_default, std::move(parts), node.attributes));
  return node.inputs.size() == 1 ? forward_input(in, node) : false;
}

Result<bool> no_padding(Rewriter& in, const Node& node) {
  return std::ranges::all_of(node.attributes.integers("pad"), [](int64_t n) { return n == 0; })
             ? forward_input(in, node)
             : false;
}

constexpr RewriteRow kRemoveIdentitiesRows[] = {
    {AtenOp::dropout_default, dropout},
    {AtenOp::feature_dropout_default, dropout},
    {AtenOp::alpha_dropout_default, dropout},
    {AtenOp::native_dropout_default, dropout},
    {AtenOp::detach_default, forward_input},
    {AtenOp::detach_copy_default, forward_input},
    {AtenOp::alias_default, forward_input},
    {AtenOp::alias_copy_default, forward_input},
    {AtenOp::clone_default, forward_input},
    {AtenOp::contiguous_default, forward_input},
    {AtenOp::positive_default, forward_input},
    {AtenOp::lift_fresh_default, forward_input},
    {AtenOp::lift_fresh_copy_default, forward_input},
    {AtenOp::to_dtype, forward_input},
    {AtenOp::to_device, forward_input},
    {AtenOp::to_other, forward_input},
    {AtenOp::to_dtype_layout, forward_input},
    {AtenOp::to_prim_Device, forward_input},
    {AtenOp::to_prim_dtype, forward_input},
    {AtenOp::to_prim_other, forward_input},
    {AtenOp::type_as_default, forward_input},
    {AtenOp::_to_copy_default, forward_input},
    {AtenOp::_clone_dim_order_default, forward_input},
    {AtenOp::_to_dim_order_copy_default, forward_input},
    {AtenOp::convert_element_type_no_fuse, forward_input},
    {AtenOp::view_default, forward_input},
    {AtenOp::expand_default, forward_input},
    {AtenOp::repeat_default, forward_input},
    {AtenOp::slice_Tensor, whole_slice},
    {AtenOp::permute_default, ordered_permute},
    {AtenOp::cat_default, single_cat},
    {AtenOp::constant_pad_nd_default, no_padding},
};
static_assert(rewrites_what_becomes(kRemoveIdentitiesRows));

}  // namespace

std::span<const RewriteRow> identity_rows() {
  return kRemoveIdentitiesRows;
}

// Assertions have no outputs, so the clean-up after the rewriting removes them.
Result<void> remove_identities(ir::Graph& graph, const Log&) {
  return Rewriter(graph, kRemoveIdentitiesRows).run();
}

}  // namespace carina::normalize
