#include "quantize/channel_paths_internal.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "normalize/axes.h"

// Follows the channels of a layer forward, from value to value. A carried value has a map from each index of one of its
// axes to a channel of the layer. Each operator maps the map, or ends the path.
//
//   Example: conv2d with 4 channels -> [1,4,2,3]; axis 1, channels 0 1 2 3
//            slice of every second channel -> [1,2,2,3]; axis 1, channels 0 2
//            view -> [1,12]; axis 1, channels 0 0 0 0 0 0 2 2 2 2 2 2
//            linear reads 12 inputs: factors of channel 0 for the first six, of channel 2 for the others
//
// The next node is always the first in the graph's order, so all operands of a sum are known when it is looked at. A
// path counts only if every reader ends in a layer: one other reader, or an output of the model, and the factors would
// be visible. Time: edges x log(edges) for each layer.
namespace carina::quantize {

namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool is_op(const Node& node, AtenOp op) {
  return node.op == ir::Op(op);
}

bool is_convolution(const Node& node) {
  return is_op(node, AtenOp::conv1d_default) || is_op(node, AtenOp::conv2d_default);
}

bool is_float_constant(const ir::Value& value) {
  return value.constant && value.constant->dtype == DType::kFp32 && !value.quantization;
}

// Which channel of the layer an index of this axis is.
struct Carried {
  size_t axis = 1;
  std::vector<size_t> channel_of;
  bool operator==(const Carried&) const = default;
};

// Operators of one operand: of elements, or of images with channels on axis 1.
bool keeps_factors(const Node& node, size_t axis) {
  constexpr std::array kElements{AtenOp::relu_default, AtenOp::leaky_relu_default, AtenOp::rrelu_default,
                                 AtenOp::clone_default};
  constexpr std::array kImages{AtenOp::max_pool2d_default, AtenOp::avg_pool2d_default, AtenOp::upsample_bilinear2d_vec};
  const AtenOp op = node.op.aten();
  return std::ranges::find(kElements, op) != kElements.end() ||
         (axis == 1 && std::ranges::find(kImages, op) != kImages.end());
}

// Follows the results of one layer.
class Follower {
 public:
  explicit Follower(const ir::Graph& graph)
      : graph_(graph), producers_(ir::producers(graph)), users_(ir::users(graph)), is_output_(ir::is_output(graph)) {}

  std::optional<ChannelPath> path_from(NodeId layer) {
    const Node& node = graph_[layer];
    if (!has_own_weights(node)) return std::nullopt;
    carried_.clear();
    next_.clear();
    ChannelPath path{
        .layers = {layer}, .channels = static_cast<size_t>(graph_[node.inputs[1]].shape[0]), .readers = {}};
    if (!carry(node.outputs.front(), all_channels(node))) return std::nullopt;
    while (!next_.empty()) {
      const NodeId reader = *next_.begin();
      next_.erase(next_.begin());
      if (!read(reader, path)) return std::nullopt;
    }
    return path.readers.empty() ? std::nullopt : std::optional(std::move(path));
  }

 private:
  [[nodiscard]] Carried all_channels(const Node& layer) const {
    const Shape& shape = graph_[layer.outputs.front()].shape;
    Carried all{.axis = channel_axis(layer, shape), .channel_of = {}};
    all.channel_of.resize(static_cast<size_t>(shape[all.axis]));
    std::iota(all.channel_of.begin(), all.channel_of.end(), size_t{0});
    return all;
  }

  // Marks a value as carried and queues its readers. Returns false if the value is an output of the model.
  bool carry(ValueId value, Carried how) {
    if (is_output_[value.index()]) return false;
    carried_.emplace(value, std::move(how));
    next_.insert(users_[value.index()].begin(), users_[value.index()].end());
    return true;
  }

  [[nodiscard]] const Carried* find(ValueId value) const {
    const auto found = value.valid() ? carried_.find(value) : carried_.end();
    return found == carried_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] bool has_own_weights(const Node& node) const {
    const auto is_own = [&](ValueId id) { return users_[id.index()].size() == 1 && !is_output_[id.index()]; };
    return is_layer(graph_, node) && is_own(node.inputs[1]) && (!has_bias(node) || is_own(node.inputs[2]));
  }

  bool read(NodeId id, ChannelPath& path) {
    const Node& node = graph_[id];
    if (node.outputs.size() != 1 || !node.op.is_aten()) return false;
    if (has_own_weights(node) && !is_slope(node)) return read_by_layer(id, path);
    add_layer_beside(node, path);
    const std::optional<Carried> result = result_of(node);
    return result && carry(node.outputs.front(), *result);
  }

  // If one operand of a sum or maximum is not carried but the result of another layer that nothing else reads, that
  // layer takes the same factors.
  void add_layer_beside(const Node& node, ChannelPath& path) {
    if (!joins(node)) return;
    const auto other = std::ranges::find_if(node.inputs, [&](ValueId id) { return find(id) == nullptr; });
    if (other == node.inputs.end() || !other->valid() || !producers_[other->index()].valid()) return;
    const NodeId layer = producers_[other->index()];
    const bool fits = has_own_weights(graph_[layer]) && users_[other->index()].size() == 1 &&
                      !is_output_[other->index()] && all_channels(graph_[layer]).channel_of.size() == path.channels;
    if (!fits) return;
    path.layers.push_back(layer);
    carried_.emplace(*other, all_channels(graph_[layer]));
  }

  static bool joins(const Node& node) {
    return is_op(node, AtenOp::maximum_default) || is_op(node, AtenOp::minimum_default) ||
           is_op(node, AtenOp::add_Tensor) || is_op(node, AtenOp::sub_Tensor);
  }

  bool read_by_layer(NodeId id, ChannelPath& path) const {
    const Node& node = graph_[id];
    const Carried* x = find(node.inputs.front());
    if (x == nullptr || x->axis != channel_axis(node, shape_of(node.inputs.front()))) return false;
    const bool one_group = !is_convolution(node) || node.attributes.integer("groups") == 1;
    if (!one_group && !is_depthwise(graph_, node)) return false;
    path.readers.push_back({.layer = id, .channel_of = x->channel_of});
    return true;
  }

  // a * x of max(x, a * x), a PReLU: a depthwise 1x1 convolution without a bias.
  [[nodiscard]] bool is_slope(const Node& node) const {
    if (!is_op(node, AtenOp::conv2d_default) || has_bias(node) || !is_depthwise(graph_, node)) return false;
    const auto& readers = users_[node.outputs.front().index()];
    if (graph_[node.inputs[1]].shape.elements() != graph_[node.inputs[1]].shape[0] || readers.size() != 1) return false;
    const Node& reader = graph_[readers.front()];
    return (is_op(reader, AtenOp::maximum_default) || is_op(reader, AtenOp::minimum_default)) &&
           std::ranges::find(reader.inputs, node.inputs.front()) != reader.inputs.end();
  }

  [[nodiscard]] std::optional<Carried> result_of(const Node& node) const {
    const Carried* x = node.inputs.empty() ? nullptr : find(node.inputs.front());
    if (x == nullptr) return std::nullopt;
    if (keeps_factors(node, x->axis) || is_slope(node)) return *x;
    if (joins(node)) {
      const Carried* other = find(node.inputs[1]);
      const bool fits = other != nullptr && *other == *x && shape_of(node.inputs[0]) == shape_of(node.inputs[1]);
      return fits ? std::optional(*x) : std::nullopt;
    }
    switch (node.op.aten()) {
      case AtenOp::slice_Tensor:
        return sliced(node, *x);
      case AtenOp::view_default:
        return viewed(node, *x);
      case AtenOp::permute_default:
        return permuted(node, *x);
      case AtenOp::mean_dim:
        return averaged(node, *x);
      default:
        return std::nullopt;
    }
  }

  [[nodiscard]] const Shape& shape_of(ValueId id) const { return graph_[id].shape; }

  [[nodiscard]] static Carried sliced(const Node& node, const Carried& x) {
    if (static_cast<size_t>(node.attributes.integer("dim")) != x.axis) return x;
    Carried result{.axis = x.axis, .channel_of = {}};
    for (const size_t i : sliced_indices(node)) result.channel_of.push_back(x.channel_of[i]);
    return result;
  }

  // The axes after the channels' may become one with it: [1,C,H,W] as [1,C*H*W].
  [[nodiscard]] std::optional<Carried> viewed(const Node& node, const Carried& x) const {
    const Shape &from = shape_of(node.inputs.front()), &to = shape_of(node.outputs.front());
    if (from.elements() == 0) return std::nullopt;
    const auto before = [](const Shape& shape, size_t axis) {
      int64_t count = 1;
      for (size_t i = 0; i < axis; ++i) count *= shape[i];
      return count;
    };
    const int64_t channels = from[x.axis], outer = before(from, x.axis);
    for (size_t axis = 0; axis < to.rank(); ++axis) {
      if (before(to, axis) != outer || to[axis] % channels != 0 || to[axis] == 0) continue;
      const int64_t each = to[axis] / channels;
      // one channel is `inner` elements, of which this axis has `each` and those after it the rest
      const int64_t inner = from.elements() / (outer * channels), after = to.elements() / (outer * to[axis]);
      if (each * after != inner) continue;
      Carried result{.axis = axis, .channel_of = {}};
      for (int64_t i = 0; i < to[axis]; ++i) result.channel_of.push_back(x.channel_of[static_cast<size_t>(i / each)]);
      return result;
    }
    return std::nullopt;
  }

  [[nodiscard]] static Carried permuted(const Node& node, const Carried& x) {
    const std::vector<int64_t>& dims = node.attributes.integers("dims");
    const auto rank = static_cast<int64_t>(dims.size());
    const auto at = std::ranges::find_if(
        dims, [&](int64_t dim) { return static_cast<size_t>(dim < 0 ? dim + rank : dim) == x.axis; });
    return {.axis = static_cast<size_t>(at - dims.begin()), .channel_of = x.channel_of};
  }

  [[nodiscard]] std::optional<Carried> averaged(const Node& node, const Carried& x) const {
    const auto axes = normalize::reduced_axes(node.attributes, "dim", shape_of(node.inputs.front()).rank());
    if (std::ranges::find(axes, x.axis) != axes.end()) return std::nullopt;
    const bool keeps = node.attributes.get<bool>("keepdim");
    const auto removed = keeps ? 0 : std::ranges::count_if(axes, [&](size_t axis) { return axis < x.axis; });
    return Carried{.axis = x.axis - static_cast<size_t>(removed), .channel_of = x.channel_of};
  }

  const ir::Graph& graph_;
  std::vector<NodeId> producers_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> is_output_;
  std::map<ValueId, Carried> carried_;
  std::set<NodeId> next_;  // in the order of the nodes, so that all operands of a node come before it
};

}  // namespace

bool is_layer(const ir::Graph& graph, const Node& node) {
  if (!is_convolution(node) && !is_op(node, AtenOp::linear_default)) return false;
  if (is_convolution(node) && graph[node.outputs.front()].shape.rank() != graph[node.inputs[1]].shape.rank())
    return false;
  return is_float_constant(graph[node.inputs[1]]) && (!has_bias(node) || is_float_constant(graph[node.inputs[2]]));
}

bool has_bias(const Node& layer) {
  return layer.inputs.size() > 2 && layer.inputs[2].valid();
}

size_t channel_axis(const Node& layer, const Shape& shape) {
  return is_convolution(layer) ? 1 : shape.rank() - 1;
}

std::vector<size_t> sliced_indices(const Node& slice) {
  std::vector<size_t> indices;
  for (int64_t i = slice.attributes.integer("start"); i < slice.attributes.integer("end");
       i += slice.attributes.integer("step"))
    indices.push_back(static_cast<size_t>(i));
  return indices;
}

bool is_depthwise(const ir::Graph& graph, const Node& node) {
  if (!is_convolution(node)) return false;
  const int64_t groups = node.attributes.integer("groups");
  return groups > 1 && groups == graph[node.inputs.front()].shape[1];
}

std::vector<ChannelPath> channel_paths(const ir::Graph& graph) {
  Follower follower(graph);
  std::vector<ChannelPath> paths;
  std::set<NodeId> begun;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (begun.contains(NodeId(n))) continue;
    auto path = follower.path_from(NodeId(n));
    if (!path) continue;
    const auto is_begun = [&](NodeId layer) { return begun.contains(layer); };
    if (std::ranges::any_of(path->layers, is_begun)) continue;
    begun.insert(path->layers.begin(), path->layers.end());
    paths.push_back(*std::move(path));
  }
  return paths;
}

}  // namespace carina::quantize
