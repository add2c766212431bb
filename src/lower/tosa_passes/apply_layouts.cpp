#include <map>

#include "ir/emitter.h"
#include "lower/tosa_passes/aliases_internal.h"
#include "lower/tosa_passes/layouts_internal.h"
#include "tensor/elements.h"

namespace carina::lower {

namespace {

using ir::Node;
using ir::ValueId;

// Rebuilds a graph node by node. A value exists in the layout of its node, and is transposed once for each other
// layout that a node needs.
class Rebuilding {
 public:
  explicit Rebuilding(ir::Graph& graph) : graph_(graph), out_(graph), aliases_(graph) {}

  void run(const std::vector<Layout>& layout_of_node) {
    const std::vector<Node> nodes = std::exchange(graph_.nodes, {});
    for (size_t n = 0; n < nodes.size(); ++n) {
      out_.set_origin_of(nodes[n]);
      add(nodes[n], layout_of_node[n]);
      for (const ValueId result : nodes[n].outputs) {
        if (is_output(result)) finish(result);
      }
    }
    ir::remove_dead(graph_);
  }

 private:
  // The value that holds another one in a layout.
  struct Stored {
    ValueId value;
    Layout layout;
  };

  [[nodiscard]] bool is_output(ValueId value) const {
    return std::ranges::find(graph_.outputs, value) != graph_.outputs.end();
  }

  void add(const Node& node, const Layout& layout) {
    const NodeLayouts rule = layouts_of(graph_, node);
    const auto needed = operand_layouts(graph_, node, rule, layout);
    if (rule.rule == LayoutRule::kTransposed) {
      stored_[node.outputs[0]] = {.value = in_layout(node.inputs[0], needed->front()), .layout = layout};
      return;
    }
    Node made = node;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      const ValueId input = node.inputs[i];
      made.inputs[i] = in_layout(input, i < rule.data_operands ? (*needed)[i] : identity_layout(graph_[input].shape));
    }
    if (!is_identity(layout)) adjust(made, rule.rule, layout);
    graph_.add_node(std::move(made));
  }

  // Writes the result of a node in another layout than that of its shape.
  void adjust(Node& node, LayoutRule rule, const Layout& layout) {
    const ir::Value result = graph_[node.outputs[0]];
    const ValueId made = graph_.add_value(reordered_name(result.name), result.dtype, permuted(result.shape, layout));
    stored_[node.outputs[0]] = {.value = made, .layout = layout};
    node.outputs[0] = made;
    if (rule == LayoutRule::kAxis) {
      const Layout position = inverse_of(layout);
      node.attributes.set("axis", position[static_cast<size_t>(node.attributes.integer("axis"))]);
    }
    if (rule == LayoutRule::kShapes) {
      for (size_t i = 1; i < node.inputs.size(); ++i)
        node.inputs[i] = out_.shape_constant(permuted(integers_of(*graph_[node.inputs[i]].constant), layout));
    }
    if (rule == LayoutRule::kPadding) node.inputs[1] = permuted_padding(node.inputs[1], layout);
    if (rule == LayoutRule::kReshaped) node.inputs[1] = out_.shape_constant(graph_[made].shape.dims());
    if (rule == LayoutRule::kProduct) {
      std::swap(node.inputs[0], node.inputs[1]);
      std::swap(node.inputs[2], node.inputs[3]);  // the zero points
    }
  }

  ValueId permuted_padding(ValueId padding, const Layout& layout) {
    const std::vector<int64_t> pairs = integers_of(*graph_[padding].constant);
    std::vector<int64_t> moved;
    for (const int64_t axis : layout)
      moved.insert(moved.end(), {pairs[static_cast<size_t>(2 * axis)], pairs[static_cast<size_t>(2 * axis + 1)]});
    return out_.shape_constant(moved);
  }

  ValueId in_layout(ValueId value, const Layout& layout) {
    const auto found = stored_.find(value);
    const Stored base =
        found != stored_.end() ? found->second : Stored{.value = value, .layout = identity_layout(graph_[value].shape)};
    if (base.layout == layout) return base.value;
    const auto [known, is_new] = others_.try_emplace({value, layout});
    if (!is_new) return known->second;
    const ValueId made = converted(value, base, layout);
    others_[{value, layout}] = made;
    return made;
  }

  ValueId converted(ValueId value, const Stored& base, const Layout& layout) {
    const Perms perms = composed(inverse_of(base.layout), layout);
    if (graph_[base.value].constant) {
      const Tensor tensor = permuted(*graph_[base.value].constant, perms);
      return graph_.add_constant(reordered_name(graph_[value].name), tensor);
    }
    const ValueId made = keeps_element_order(graph_[base.value].shape, perms)
                             ? out_.reshape(base.value, permuted(graph_[value].shape, layout))
                             : out_.transpose(base.value, perms);
    if (!is_identity(layout) || made == base.value) return made;
    graph_.nodes.back().outputs[0] = value;  // the value itself, with its name
    return value;
  }

  // Makes an output of the graph.
  void finish(ValueId output) {
    const ValueId value = in_layout(output, identity_layout(graph_[output].shape));
    if (value == output) return;
    if (aliases_.may_replace(output, value)) {
      aliases_.replace(output, value);
      return;
    }
    graph_.add_node({.op = TosaOp::IDENTITY,
                     .name = graph_[output].name,
                     .inputs = {value},
                     .outputs = {output},
                     .attributes = {},
                     .source = {}});
  }

  ir::Graph& graph_;
  ir::Emitter out_;
  Aliases aliases_;
  std::map<ValueId, Stored> stored_;
  std::map<std::pair<ValueId, Layout>, ValueId> others_;
};

}  // namespace

void apply_layouts(ir::Graph& graph, const std::vector<Layout>& layout_of_node) {
  Rebuilding(graph).run(layout_of_node);
}

}  // namespace carina::lower
