#include <algorithm>
#include <vector>

#include "carina/check.h"
#include "plan/select/emit_internal.h"
#include "plan/select/selection.h"
#include "tensor/elements.h"
#include "tensor/permutation.h"

// The location of values: in graph outputs, in parts of a CONCAT, after a TRANSPOSE, or in tensors of their own with
// the axis order of their operands.
namespace carina::plan {

std::optional<View> Selection::fixed_view(ir::ValueId id, const View* like) {
  if (!fixed_[id.index()]) {
    std::optional<View> fixed = find_fixed_view(id, like);
    fixed_[id.index()] = std::move(fixed);
  }
  return *fixed_[id.index()];
}

std::optional<View> Selection::find_fixed_view(ir::ValueId id, const View* like) {
  if (output_tensor_[id.index()].valid()) return dense_view(output_tensor_[id.index()], shape(id));
  for (const ir::NodeId user : users(id)) {
    const ir::Node& reader = graph_[user];
    if (reader.inputs.front() == id &&
        (reader.op == ir::Op(TosaOp::RESHAPE) || reader.op == ir::Op(TosaOp::IDENTITY))) {
      const auto then = like != nullptr ? reshaped(*like, shape(reader.outputs[0])) : std::nullopt;
      if (const auto fixed = fixed_view(reader.outputs[0], then ? &*then : nullptr)) {
        if (auto same = reshaped(*fixed, shape(id))) return same;
      }
    }
    if (reader.op == ir::Op(TosaOp::CONCAT)) {
      if (auto fixed = view_in_concat(id, user, like)) return fixed;
    }
    if (reader.op == ir::Op(TosaOp::PAD)) {
      if (auto fixed = view_in_pad(id, user)) return fixed;
    }
    if (reader.op == ir::Op(TosaOp::TRANSPOSE)) {
      if (auto fixed = view_through_transpose(id, user)) return fixed;
      if (auto fixed = view_transposed_by_npu(id, user)) return fixed;
    }
  }
  return std::nullopt;
}

std::optional<View> Selection::view_through_transpose(ir::ValueId id, ir::NodeId transpose) {
  const auto& perms = graph_[transpose].attributes.integers("perms");
  const ir::ValueId out = graph_[transpose].outputs[0];
  const ir::NodeId next = sole_user(out);
  if (perms.empty() || perms.back() + 1 != static_cast<int64_t>(perms.size())) return std::nullopt;
  if (!next.valid() || graph_[next].op != ir::Op(TosaOp::RESHAPE)) return std::nullopt;
  if (reshaped(permuted(dense_view({}, shape(id)), perms), shape(graph_[next].outputs[0]))) return std::nullopt;
  if (!fixed_view(out))
    fixed_[out.index()] =
        std::optional<View>(new_tensor(value(out).name, shape(out), *element_type_of(value(out).dtype)));
  return permuted(*fixed_view(out), inverse_of(perms));
}

std::optional<View> Selection::view_transposed_by_npu(ir::ValueId id, ir::NodeId transpose) {
  const ir::NodeId producer = producers_[id.index()];
  const bool is_window = producer.valid() && graph_[producer].op != ir::Op(TosaOp::CONCAT);
  if (!transposes_results() || !is_window || sole_user(id) != transpose) return std::nullopt;
  const auto fixed = fixed_view(graph_[transpose].outputs[0]);
  if (!fixed) return std::nullopt;
  return permuted(*fixed, inverse_of(graph_[transpose].attributes.integers("perms")));
}

std::optional<View> Selection::view_in_concat(ir::ValueId id, ir::NodeId concat, const View* like) {
  const ir::Node& node = graph_[concat];
  const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
  const ir::ValueId whole = node.outputs[0];
  int64_t start = 0;
  for (const ir::ValueId part : node.inputs) {
    if (part == id) break;
    start += shape(part)[axis];
  }
  if (!fixed_view(whole)) {
    const View in_shape = dense_view({}, shape(whole));
    const bool covers_most =
        like != nullptr && like->shape() == shape(id) && 2 * like->elements() >= in_shape.elements();
    fixed_[whole.index()] = std::optional<View>(new_like(whole, covers_most ? *like : in_shape));
  }
  return sliced_axis(*fixed_view(whole), axis, start, shape(id)[axis]);
}

std::optional<View> Selection::view_in_pad(ir::ValueId id, ir::NodeId pad) {
  const ir::ValueId out = graph_[pad].outputs[0];
  const auto averages = [&](ir::NodeId user) { return graph_[user].op == ir::Op(TosaOp::AVG_POOL2D); };
  const ir::Value& padding = value(graph_[pad].inputs[1]);
  if (!options_.uses(Optimization::kPaddedResults) || sole_user(id) != pad || users(out).empty() ||
      !std::ranges::all_of(users(out), averages) || !padding.constant || is_output(out))
    return std::nullopt;
  const auto sizes = integers_if_any(*padding.constant);
  const Shape inner = shape(id), whole = shape(out);
  if (!sizes || sizes->size() != 2 * inner.rank() || inner == whole) return std::nullopt;
  if (!fixed_view(out))
    fixed_[out.index()] = std::optional<View>(new_tensor(value(out).name, whole, *element_type_of(value(out).dtype)));
  View view = *fixed_view(out);
  for (size_t i = 0; i < inner.rank(); ++i) view = sliced_axis(view, i, (*sizes)[2 * i], inner[i]);
  return view;
}

View Selection::destination(ir::ValueId id) {
  if (auto fixed = fixed_view(id)) return *std::move(fixed);
  return new_tensor(value(id).name, shape(id), *element_type_of(value(id).dtype));
}

View Selection::open(ir::ValueId id, const Shape& op_shape) {
  const View fixed = destination(id);
  if (auto same = reshaped(fixed, op_shape)) return *std::move(same);
  return new_tensor(value(id).name, op_shape, *element_type_of(value(id).dtype));
}

namespace {

// The axis with contiguous elements; an axis of size 1 if there is none.
int64_t channel_axis(const View& view) {
  return view.rank() == 0 ? 0 : memory_order(view).back();
}

}  // namespace

View Selection::open_like(ir::ValueId id, const View& like) {
  if (like.shape() != shape(id)) return open(id, like.shape());
  // If different axes are contiguous in the two views, elements would be computed one by one. So the value is
  // transposed later.
  const auto fixed = fixed_view(id, &like);
  return fixed && channel_axis(*fixed) == channel_axis(like) ? *fixed : new_like(id, like);
}

View Selection::new_like(ir::ValueId id, const View& like) {
  const std::vector<int64_t> order = memory_order(like);
  std::vector<int64_t> dims, axes(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    dims.push_back(shape(id)[static_cast<size_t>(order[i])]);
    axes[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return permuted(new_tensor(value(id).name, Shape(std::span<const int64_t>(dims)), *element_type_of(value(id).dtype)),
                  axes);
}

bool Selection::read_by_channels(ir::ValueId id) const {
  return std::ranges::any_of(users(id), [&](ir::NodeId user) {
    const ir::Op op = graph_[user].op;
    return op == ir::Op(TosaOp::CONV2D) || op == ir::Op(TosaOp::DEPTHWISE_CONV2D) ||
           op == ir::Op(TosaOp::TRANSPOSE_CONV2D) || op == ir::Op(TosaOp::MAX_POOL2D) ||
           op == ir::Op(TosaOp::AVG_POOL2D) || op == ir::Op(TosaOp::MATMUL);
  });
}

std::optional<std::vector<int64_t>> Selection::order_of_part(ir::NodeId reader) const {
  if (graph_[reader].op == ir::Op(TosaOp::SLICE)) reader = sole_user(graph_[reader].outputs[0]);
  if (!reader.valid() || graph_[reader].op != ir::Op(TosaOp::TRANSPOSE)) return std::nullopt;
  const ir::ValueId transposed = graph_[reader].outputs[0];
  if (!read_by_channels(transposed)) return std::nullopt;
  return graph_[reader].attributes.integers("perms");
}

void Selection::transpose_for_parts(ir::ValueId id) {
  if (users(id).size() < 2 || users(id).front() != node_id() || is_output(id) || states_[id.index()].narrow) return;
  std::optional<std::vector<int64_t>> perms;
  int64_t elements = 0;
  for (const ir::NodeId reader : users(id)) {
    const auto order = order_of_part(reader);
    if (!order || (perms && *order != *perms)) return;
    perms = order;
    const Shape part = shape(graph_[reader].outputs[0]);
    const auto channels = static_cast<size_t>(order->back());
    if (graph_[reader].op == ir::Op(TosaOp::SLICE) && part[channels] < shape(id)[channels]) return;
    elements += part.elements();
  }
  if (elements < shape(id).elements()) return;
  const Operand as_it_is = plain(id);
  const Operand transposed{.view = permuted(as_it_is.view, *perms), .type = as_it_is.type};
  const Operand dense = with_dense_channels(*this, transposed);
  states_[id.index()].plain = Operand{.view = permuted(dense.view, inverse_of(*perms)), .type = dense.type};
}

void Selection::close(ir::ValueId id, const View& view, ElementType type) {
  const std::optional<View> fixed = fixed_view(id);
  if (fixed && fixed->tensor == view.tensor) {
    states_[id.index()].plain = Operand{.view = *fixed, .type = type};
    return;
  }
  const auto same = reshaped(view, shape(id));
  CARINA_CHECK(same.has_value(), "a fresh tensor for {} is dense", value(id).name);
  define(id, {.view = *same, .type = type});
}

}  // namespace carina::plan
