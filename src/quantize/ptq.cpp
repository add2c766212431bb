#include "quantize/ptq.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "quantize/calibrate_internal.h"
#include "quantize/known_bounds_internal.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::ValueId;

bool is_real(const ir::Graph& graph, ValueId id) {
  return id.valid() && graph[id].dtype == DType::kFp32;
}

// Weights and biases that several nodes read become one value each, of the same bytes: their parameters may differ.
void separate_weights(ir::Graph& graph) {
  std::vector<bool> taken(graph.values.size(), false);
  for (Node& node : graph.nodes) {
    const std::optional<WeightRole> role = weight_role_of(node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (!id.valid() || !graph[id].constant || graph[id].quantization) continue;
      const bool is_weight = role && (i == role->weight || i == role->bias);
      if (id.index() < taken.size() && taken[id.index()] && is_weight)
        node.inputs[i] = graph.add_value(ir::Value(graph[id]));
      if (id.index() < taken.size()) taken[id.index()] = true;
    }
  }
}

// Symmetric int8 parameters per index of `axis`, by the greatest magnitude.
Quantization weight_parameters(const Tensor& weight, int axis, double smallest_scale) {
  const auto values = weight.values<float>();
  const auto channels = static_cast<size_t>(weight.shape[static_cast<size_t>(axis)]);
  size_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < weight.shape.rank(); ++i)
    inner *= static_cast<size_t>(weight.shape[i]);
  std::vector<float> magnitudes(channels, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    float& magnitude = magnitudes[i / inner % channels];
    magnitude = std::max(magnitude, std::abs(values[i]));
  }
  Quantization q{.dtype = DType::kInt8,
                 .scales = {},
                 .zero_points = std::vector<int64_t>(channels, 0),
                 .axis = axis,
                 .qmin = -127,
                 .qmax = 127};
  for (const float magnitude : magnitudes) q.scales.push_back(symmetric_scale(magnitude, smallest_scale));
  return q;
}

// int32 of scale input * weight. Source: docs/facts/arm_backend.md 4.1.
Quantization bias_parameters(const Quantization& input, const Quantization& weight) {
  Quantization q{.dtype = DType::kInt32,
                 .scales = {},
                 .zero_points = weight.zero_points,
                 .axis = 0,
                 .qmin = -2147483647,
                 .qmax = 2147483647};
  for (const double scale : weight.scales) q.scales.push_back(scale * input.scale());
  return q;
}

bool is_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.values<float>(), [](float v) { return std::isfinite(v); });
}

class Quantizer {
 public:
  Quantizer(ir::Graph& graph, const PtqOptions& options) : graph_(graph), options_(options) {}

  Result<void> run(std::span<const std::vector<Tensor>> samples, const Log& log) {
    const CalibrationOptions calibration{.threads = options_.threads, .evaluator = options_.evaluator};
    CARINA_TRY(calibrated_, calibrate(graph_, samples, calibration, log));
    find_weights();
    CARINA_CHECKED(observe_constants());
    set_activations();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!calibrated_.left.nodes[n]) CARINA_CHECKED(set_weights(graph_.nodes[n]));
    }
    return {};
  }

 private:
  void find_weights() {
    is_weight_.assign(graph_.values.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const std::optional<WeightRole> role = weight_role_of(node);
      if (!role || calibrated_.left.nodes[n]) continue;
      for (const size_t i : {role->weight, role->bias}) {
        if (i < node.inputs.size() && is_real(graph_, node.inputs[i]) && graph_[node.inputs[i]].constant)
          is_weight_[node.inputs[i].index()] = true;
      }
    }
  }

  // Constants among the activations (a table that is concatenated, a factor) are known without running anything.
  Result<void> observe_constants() {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const ir::Value& value = graph_.values[v];
      if (!value.constant || !is_activation(v)) continue;
      if (!calibrated_.observers[calibrated_.sharing.group[v]].observe(value.constant->values<float>()))
        return fail({.where = value.name, .what = "a constant of the model is not a number (NaN)"});
    }
    return {};
  }

  [[nodiscard]] bool is_activation(size_t value) const {
    return calibrated_.left.quantized[value] && !is_weight_[value];
  }

  // A group without a node's result is constants only: all of their range counts.
  void set_activations() {
    const std::vector<size_t>& groups = calibrated_.sharing.group;
    std::vector<bool> is_computed(graph_.values.size(), false);
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (!graph_.values[v].constant) is_computed[groups[v]] = true;
    }
    const std::vector<std::optional<double>> bound_of_value = known_upper_bounds(graph_);
    std::vector<std::optional<double>> bounds(graph_.values.size());  // of groups
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (bound_of_value[v]) bounds[groups[v]] = bound_of_value[v];
    }
    std::vector<std::optional<Quantization>> parameters(graph_.values.size());
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (!is_activation(v)) continue;
      std::optional<Quantization>& q = parameters[groups[v]];
      if (!q) {
        const Range seen =
            calibrated_.observers[groups[v]].choose(is_computed[groups[v]] ? options_.ranges : RangeChoice::kMinMax);
        q = affine_parameters(with_headroom(seen, bounds[groups[v]]), options_.smallest_scale);
      }
      graph_.values[v].quantization = q;
    }
  }

  Result<void> set_weights(const Node& node) {
    const std::optional<WeightRole> role = weight_role_of(node);
    if (!role || !is_real(graph_, node.inputs.front())) return {};
    ir::Value& weight = graph_[node.inputs[role->weight]];
    if (!weight.constant || weight.dtype != DType::kFp32) return {};
    if (!is_finite(*weight.constant))
      return fail({.where = fmt::format("{} ({})", node.name, weight.name), .what = "the weights are not finite"});
    weight.quantization = weight_parameters(*weight.constant, role->axis, options_.smallest_scale);
    if (role->bias >= node.inputs.size() || !is_real(graph_, node.inputs[role->bias])) return {};
    ir::Value& bias = graph_[node.inputs[role->bias]];
    if (!bias.constant) return {};
    if (!is_finite(*bias.constant))
      return fail({.where = fmt::format("{} ({})", node.name, bias.name), .what = "the bias is not finite"});
    bias.quantization = bias_parameters(*graph_[node.inputs.front()].quantization, *weight.quantization);
    return {};
  }

  ir::Graph& graph_;
  const PtqOptions& options_;
  Calibrated calibrated_;
  std::vector<bool> is_weight_;
};

}  // namespace

Result<void> quantize(ir::Graph& aten, std::span<const std::vector<Tensor>> samples, const PtqOptions& options,
                      const Log& log) {
  separate_weights(aten);
  return Quantizer(aten, options).run(samples, log);
}

}  // namespace carina::quantize
