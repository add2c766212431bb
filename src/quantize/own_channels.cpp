#include "quantize/own_channels_internal.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "facts/aten_traits.h"
#include "quantize/channel_paths_internal.h"

// A slice of a layer's channels shares the range of all channels. If its own range is much narrower, int8 wastes its
// steps: a slice with a quarter of the range has 64 of 256. A layer of its own gives it a range of its own.
//
//   Example: 32 of 128 channels are sliced, their range is 1/4 of the whole, and others read the result, too. The part
//   is 25 % of the layer's products, at most kMaxPart, so it is computed a second time: two bits more for 25 % more
//   products. If the slices are all that reads the layer and do not overlap, dividing it costs nothing.
//
// Tracer goes back from a slice to the layer, through operators that treat channels alike (relu, pools, depthwise
// convolutions). Divider copies the nodes between them with the rows of the slice's channels. Time: linear in the nodes
// between a layer and its slices, which each slice visits again.
namespace carina::quantize {

namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

constexpr double kNarrower = 2;  // at least one bit
constexpr double kMaxPart = 0.5;

struct Slice {
  NodeId node;
  NodeId layer;
  std::vector<size_t> channels;
};

// Finds the layer that a value comes from, with nothing between them that mixes channels.
class Tracer {
 public:
  explicit Tracer(const ir::Graph& graph) : graph_(graph), producers_(ir::producers(graph)) {}

  // The layer whose output channels are the indices of this axis of the value. Invalid: none.
  [[nodiscard]] NodeId layer_of(ValueId value, size_t axis) const {
    const NodeId producer = value.valid() ? producers_[value.index()] : NodeId();
    if (!producer.valid()) return {};
    const Node& node = graph_[producer];
    if (!node.op.is_aten() || node.outputs.size() != 1) return {};
    if (is_depthwise(graph_, node)) {
      const bool is_plain = is_layer(graph_, node) && axis == 1 && graph_[node.inputs[1]].shape[0] == channels(value);
      return is_plain ? layer_of(node.inputs.front(), axis) : NodeId();
    }
    if (is_layer(graph_, node)) {
      const bool is_linear = node.op == ir::Op(AtenOp::linear_default);
      const bool is_channel = axis == channel_axis(node, graph_[value].shape);
      return is_channel && (is_linear || node.attributes.integer("groups") == 1) ? producer : NodeId();
    }
    if (!treats_channels_alike(node, axis)) return {};
    const NodeId layer = layer_of(node.inputs.front(), axis);
    const bool same = std::ranges::all_of(node.inputs, [&](ValueId id) { return layer_of(id, axis) == layer; });
    return same ? layer : NodeId();
  }

  [[nodiscard]] NodeId producer(ValueId value) const { return producers_[value.index()]; }

 private:
  [[nodiscard]] int64_t channels(ValueId value) const { return graph_[value].shape[1]; }

  // Operators of elements, and pools of images.
  [[nodiscard]] bool treats_channels_alike(const Node& node, size_t axis) const {
    const ValueId result = node.outputs.front();
    if (graph_[result].dtype != DType::kFp32 || node.inputs.empty()) return false;
    const AtenFamily family = traits_of(node.op.aten()).family;
    const bool is_extremum = node.op == ir::Op(AtenOp::maximum_default) || node.op == ir::Op(AtenOp::minimum_default);
    const bool same_shapes = std::ranges::all_of(
        node.inputs, [&](ValueId id) { return id.valid() && graph_[id].shape == graph_[result].shape; });
    if (is_extremum) return same_shapes;
    if (node.inputs.size() != 1) return false;
    if (family == AtenFamily::kLimit || family == AtenFamily::kFunction) return same_shapes;
    return axis == 1 &&
           (node.op == ir::Op(AtenOp::max_pool2d_default) || node.op == ir::Op(AtenOp::avg_pool2d_default));
  }

  const ir::Graph& graph_;
  std::vector<NodeId> producers_;
};

std::vector<Slice> channel_slices(const ir::Graph& graph, const Tracer& tracer) {
  std::vector<Slice> slices;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op != ir::Op(AtenOp::slice_Tensor) || graph[node.outputs.front()].quantization) continue;
    const NodeId layer = tracer.layer_of(node.inputs.front(), static_cast<size_t>(node.attributes.integer("dim")));
    if (!layer.valid()) continue;
    Slice slice{.node = NodeId(n), .layer = layer, .channels = sliced_indices(node)};
    if (!slice.channels.empty()) slices.push_back(std::move(slice));
  }
  return slices;
}

// Rows of a constant: of its first axis.
Tensor rows_of(const Tensor& tensor, const std::vector<size_t>& rows) {
  Shape shape = tensor.shape;
  shape[0] = static_cast<int64_t>(rows.size());
  const auto from = tensor.values<float>();
  const size_t each = from.size() / static_cast<size_t>(tensor.shape[0]);
  MutableTensor taken(DType::kFp32, shape);
  auto to = taken.values<float>().begin();
  for (const size_t row : rows) to = std::ranges::copy(from.subspan(row * each, each), to).out;
  return std::move(taken).freeze();
}

class Divider {
 public:
  Divider(ir::Graph& graph, const ChannelStatistics& statistics)
      : graph_(graph),
        statistics_(statistics),
        tracer_(graph),
        users_(ir::users(graph)),
        is_output_(ir::is_output(graph)) {}

  void run() {
    std::map<NodeId, std::vector<Slice>> slices;
    for (Slice& slice : channel_slices(graph_, tracer_)) slices[slice.layer].push_back(std::move(slice));
    std::map<NodeId, std::vector<size_t>> chosen;
    for (const auto& [layer, of_layer] : slices) {
      for (const Slice* slice : chosen_of(layer, of_layer)) chosen.emplace(slice->node, slice->channels);
    }
    if (chosen.empty()) return;
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (size_t n = 0; n < nodes.size(); ++n) {
      const auto slice = chosen.find(NodeId(n));
      if (slice == chosen.end()) {
        graph_.nodes.push_back(nodes[n]);
        continue;
      }
      Part part{.axis = axis_of(nodes[n]), .channels = slice->second, .made = {}};
      compute(nodes[n].inputs.front(), nodes[n].outputs.front(), nodes, part);
      graph_.nodes.back().name = nodes[n].name;  // for overrides that name the slice
    }
    ir::remove_dead(graph_);
  }

 private:
  static size_t axis_of(const Node& slice) { return static_cast<size_t>(slice.attributes.integer("dim")); }

  // The slices of a layer that get layers of their own.
  [[nodiscard]] std::vector<const Slice*> chosen_of(NodeId layer, const std::vector<Slice>& slices) const {
    const auto channels = static_cast<size_t>(graph_[graph_[layer].inputs[1]].shape[0]);
    std::set<NodeId> nodes;
    size_t read = 0;
    for (const Slice& slice : slices) {
      nodes.insert(slice.node);
      read += slice.channels.size();
    }
    const bool is_free = read <= channels && ends_in(nodes, graph_[layer].outputs.front());
    const bool any_is_narrow = std::ranges::any_of(slices, [&](const Slice& slice) { return is_narrow(slice); });
    std::vector<const Slice*> chosen;
    for (const Slice& slice : slices) {
      const double part = static_cast<double>(slice.channels.size()) / static_cast<double>(channels);
      const bool pays = is_free ? any_is_narrow || slices.size() == 1 : part <= kMaxPart && is_narrow(slice);
      if (pays && part < 1) chosen.push_back(&slice);
    }
    return chosen;
  }

  // Whether nothing but these slices reads the value, or what is computed of it channel by channel.
  [[nodiscard]] bool ends_in(const std::set<NodeId>& slices, ValueId value) const {
    if (is_output_[value.index()]) return false;
    const size_t axis = axis_of(graph_[*slices.begin()]);
    return std::ranges::all_of(users_[value.index()], [&](NodeId user) {
      if (slices.contains(user)) return true;
      const ValueId result = graph_[user].outputs.front();
      const NodeId layer = tracer_.layer_of(result, axis);
      return layer.valid() && layer == tracer_.layer_of(value, axis) && ends_in(slices, result);
    });
  }

  [[nodiscard]] bool is_narrow(const Slice& slice) const {
    const Node& node = graph_[slice.node];
    const auto part = statistics_.values.find(graph_[node.outputs.front()].name);
    const auto whole = statistics_.values.find(graph_[node.inputs.front()].name);
    if (part == statistics_.values.end() || whole == statistics_.values.end()) return false;
    const auto width = [](const Spread& spread) { return spread.max - spread.min; };
    return width(whole->second) >= kNarrower * width(part->second);
  }

  // The channels of a slice, and the values that are computed for them so far.
  struct Part {
    size_t axis = 1;
    std::vector<size_t> channels;
    std::map<ValueId, ValueId> made;
  };

  // Adds nodes that compute the part of a value, as `result`. `nodes` are those of the graph before.
  void compute(ValueId value, ValueId result, const std::vector<Node>& nodes, Part& part) {
    Node node = nodes[tracer_.producer(value).index()];
    node.outputs = {result};
    if (is_layer(graph_, node)) {
      const bool reads_part = is_depthwise(graph_, node);
      for (const size_t i : {size_t{1}, size_t{2}}) {
        if (i >= node.inputs.size() || !node.inputs[i].valid()) continue;
        const std::string name = graph_[node.inputs[i]].name;
        node.inputs[i] = graph_.add_constant(name + "_part", rows_of(*graph_[node.inputs[i]].constant, part.channels));
      }
      if (reads_part) {
        node.attributes.set("groups", static_cast<int64_t>(part.channels.size()));
        node.inputs[0] = part_of(node.inputs[0], nodes, part);
      }
    } else {
      for (ValueId& input : node.inputs) input = part_of(input, nodes, part);
    }
    graph_.nodes.push_back(std::move(node));
  }

  ValueId part_of(ValueId value, const std::vector<Node>& nodes, Part& part) {
    if (const auto known = part.made.find(value); known != part.made.end()) return known->second;
    Shape shape = graph_[value].shape;
    shape[part.axis] = static_cast<int64_t>(part.channels.size());
    const std::string name = graph_[value].name + "_part";
    const ValueId result = graph_.add_value(name, DType::kFp32, shape);
    part.made.emplace(value, result);
    compute(value, result, nodes, part);
    return result;
  }

  ir::Graph& graph_;
  const ChannelStatistics& statistics_;
  Tracer tracer_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> is_output_;
};

}  // namespace

std::vector<ValueId> values_of_channel_slices(const ir::Graph& graph) {
  std::vector<ValueId> values;
  for (const Slice& slice : channel_slices(graph, Tracer(graph))) {
    values.push_back(graph[slice.node].inputs.front());
    values.push_back(graph[slice.node].outputs.front());
  }
  return values;
}

void divide_layers(ir::Graph& graph, const ChannelStatistics& statistics) {
  Divider(graph, statistics).run();
}

}  // namespace carina::quantize
