#include "quantize/annotate/annotation.h"

#include <algorithm>

#include "facts/aten_traits.h"
#include "quantize/domains.h"
#include "quantize/left_float.h"
#include "quantize/sharing.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::ValueId;

AtenFamily family_of(const Node& node) {
  return traits_of(node.op.aten()).family;
}

// The weight's role in the user's graph, where convolutions have more forms than in a normalized graph.
std::optional<WeightRole> role_in_model(const Node& node) {
  if (const auto role = weight_role_of(node)) return role;
  if (family_of(node) != AtenFamily::kConvolution) return std::nullopt;
  return WeightRole{.axis = node.op.name().contains("transpose") ? 1 : 0};
}

// The axis with a scale per output channel. No value if the weights' axis counts the channels of one group only.
std::optional<int> channel_axis(const Node& node, const WeightRole& role) {
  const bool grouped = node.attributes.find("groups") != nullptr && node.attributes.get<int64_t>("groups") != 1;
  return role.axis != 0 && grouped ? std::nullopt : std::optional(role.axis);
}

class Annotator {
 public:
  Annotator(const ir::Graph& graph, const NodeSchemes& schemes)
      : graph_(graph), schemes_(schemes), producers_(ir::producers(graph)), users_(ir::users(graph)) {
    std::vector<bool> on_kernels(graph.nodes.size());
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const bool lowered = traits_of(graph.nodes[n].op.aten()).lowering.kind != AtenLowering::Kind::kNone;
      on_kernels[n] = !lowered || scheme_of(n) == kLeftFloat;
    }
    left_ = left_float(graph, on_kernels, schemes.quantized_ends ? Ends::kQuantized : Ends::kFloat);
    std::vector<bool> share_nothing = left_.nodes;
    for (size_t n = 0; n < graph.nodes.size(); ++n) share_nothing[n] = left_.nodes[n] || stays_apart(n);
    sharing_ = sharing_of(graph, share_nothing, Extrema::kApart);
  }

  Annotations run() {
    find_weights();
    Annotations found;
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      found.values.push_back(
          {.name = graph_.values[v].name, .quantized = is_quantized(v), .group = sharing_.group[v], .scheme = 0});
    }
    set_schemes(found.values);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!left_.nodes[n]) found.nodes.push_back(annotated(n));
    }
    return found;
  }

 private:
  [[nodiscard]] int scheme_of(size_t node) const {
    const auto own = schemes_.of_node.find(graph_.nodes[node].name);
    return own == schemes_.of_node.end() ? schemes_.general : own->second;
  }

  // Returns whether the node is an activation after a convolution whose result has no zero point. The two are not fused
  // then.
  [[nodiscard]] bool stays_apart(size_t index) const {
    const Node& node = graph_.nodes[index];
    if (traits_of(node.op.aten()).quantization != AtenQuantization::kActivation || node.inputs.empty()) return false;
    ir::NodeId producer = producers_[node.inputs.front().index()];
    if (producer.valid() && graph_[producer].op == ir::Op(AtenOp::batch_norm_default))
      producer = producers_[graph_[producer].inputs.front().index()];
    return producer.valid() && role_in_model(graph_[producer]) && schemes_.apart.contains(scheme_of(producer.index()));
  }

  void find_weights() {
    is_parameter_.assign(graph_.values.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const auto role = role_in_model(node);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const bool is_weight = role && (i == role->weight || i == role->bias);
        const bool is_statistic = family_of(node) == AtenFamily::kNormalization && i > 0;
        if ((is_weight || is_statistic) && node.inputs[i].valid() && graph_[node.inputs[i]].constant)
          is_parameter_[node.inputs[i].index()] = true;
      }
    }
  }

  // Returns whether the value's producer and reader are fused, so that no integers exist between them.
  [[nodiscard]] bool lies_within(size_t value) const {
    if (!sharing_.is_observed[value]) return true;
    if (users_[value].size() != 1 || !producers_[value].valid()) return false;
    return graph_[users_[value].front()].op == ir::Op(AtenOp::batch_norm_default) &&
           family_of(graph_[producers_[value]]) == AtenFamily::kConvolution;
  }

  [[nodiscard]] bool is_quantized(size_t value) const {
    return graph_.values[value].dtype == DType::kFp32 && left_.quantized[value] && !is_parameter_[value] &&
           !lies_within(value);
  }

  void set_schemes(std::vector<AnnotatedValue>& values) const {
    std::vector<int> of_group(graph_.values.size(), kLeftFloat);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const ValueId result : graph_.nodes[n].outputs) {
        if (result.valid()) widen(of_group[sharing_.group[result.index()]], scheme_of(n));
      }
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const ValueId operand : graph_.nodes[n].inputs) {
        if (operand.valid() && is_made_by_float(operand))
          widen(of_group[sharing_.group[operand.index()]], scheme_of(n));
      }
    }
    for (AnnotatedValue& value : values) {
      const int scheme = of_group[value.group];
      value.scheme = scheme == kLeftFloat ? std::max(schemes_.general, 0) : scheme;
    }
  }

  [[nodiscard]] bool is_made_by_float(ValueId value) const {
    const ir::NodeId producer = producers_[value.index()];
    return producer.valid() && left_.nodes[producer.index()];
  }

  static void widen(int& scheme, int more) { scheme = std::max(scheme, more); }

  [[nodiscard]] AnnotatedNode annotated(size_t index) const {
    const Node& node = graph_.nodes[index];
    AnnotatedNode found{.name = node.name, .scheme = scheme_of(index), .operands = {}, .results = {}};
    for (size_t i = 0; i < node.inputs.size(); ++i) add_operand(found, node, i);
    for (const ValueId result : node.outputs) {
      if (result.valid()) found.results.push_back(result.index());
    }
    return found;
  }

  void add_operand(AnnotatedNode& found, const Node& node, size_t i) const {
    const ValueId id = node.inputs[i];
    if (!id.valid() || graph_[id].dtype != DType::kFp32) return;
    const auto role = role_in_model(node);
    if (role && graph_[id].constant && (i == role->weight || i == role->bias)) {
      const bool is_bias = i == role->bias;
      std::optional<int> axis = channel_axis(node, *role);
      if (axis && is_bias) axis = 0;
      found.operands.push_back(
          {.value = id.index(), .role = is_bias ? OperandRole::kBias : OperandRole::kWeight, .axis = axis});
    } else if (is_quantized(id.index())) {
      found.operands.push_back({.value = id.index(),
                                .end_int8 = domain_end(node.op.aten(), DType::kInt8),
                                .end_int16 = domain_end(node.op.aten(), DType::kInt16)});
    }
  }

  const ir::Graph& graph_;
  const NodeSchemes& schemes_;
  std::vector<ir::NodeId> producers_;
  std::vector<std::vector<ir::NodeId>> users_;
  LeftFloat left_;
  Sharing sharing_;
  std::vector<bool> is_parameter_;
};

}  // namespace

Annotations annotate(const ir::Graph& graph, const NodeSchemes& schemes) {
  return Annotator(graph, schemes).run();
}

}  // namespace carina::quantize
