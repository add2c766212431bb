#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "quantize/prune_internal.h"

namespace carina::quantize {

namespace {

constexpr size_t kGroup = 4, kKept = 2;

struct Pruned {
  size_t layers = 0, weights = 0, zeros = 0;
  double squares = 0, squares_of_zeros = 0;
};

bool is_prunable(const ir::Graph& graph, const ir::Node& node) {
  if (node.op == ir::Op(AtenOp::conv2d_default) || node.op == ir::Op(AtenOp::conv1d_default)) {
    if (node.attributes.integer("groups") != 1) return false;
  } else if (node.op != ir::Op(AtenOp::linear_default)) {
    return false;
  }
  const ir::Value& weight = graph[node.inputs[1]];
  return weight.constant && weight.dtype == DType::kFp32 && !weight.quantization && weight.shape.rank() >= 2 &&
         weight.shape[1] >= static_cast<int64_t>(kGroup) && weight.shape.elements() > 0;
}

// Of weights [output channels, input channels, taps], keeps the two largest of each four input channels.
void prune_two_of_four(std::span<float> weights, size_t inputs, size_t taps) {
  for (size_t output = 0; output < weights.size(); output += inputs * taps) {
    for (size_t first = 0; first < inputs; first += kGroup) {
      const size_t channels = std::min(kGroup, inputs - first);
      for (size_t tap = 0; tap < taps; ++tap) {
        const auto weight = [&](size_t channel) -> float& { return weights[output + (first + channel) * taps + tap]; };
        std::array<size_t, kGroup> order{0, 1, 2, 3};
        std::stable_sort(order.begin(), order.begin() + channels,
                         [&](size_t a, size_t b) { return std::abs(weight(a)) > std::abs(weight(b)); });
        for (size_t i = kKept; i < channels; ++i) weight(order[i]) = 0;
      }
    }
  }
}

// Sets `percent` of the weights to zero, rounded down: those of the smallest magnitudes, the first ones among equal
// ones.
void prune_smallest(std::span<float> weights, int percent) {
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return std::abs(weights[i]); });
  order.resize(weights.size() * static_cast<size_t>(percent) / 100);
  for (const size_t i : order) weights[i] = 0;
}

void count(std::span<const float> before, std::span<const float> after, Pruned& counts) {
  for (size_t i = 0; i < before.size(); ++i) {
    const double square = double{before[i]} * before[i];
    counts.squares += square;
    if (after[i] != 0 || before[i] == 0) continue;
    counts.squares_of_zeros += square;
    ++counts.zeros;
  }
  counts.weights += before.size();
  ++counts.layers;
}

}  // namespace

void prune_weights(ir::Graph& graph, const SchemeOf& schemes, const Log& log) {
  Pruned counts;
  bool is_asked = false;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const std::optional<NodeScheme>& scheme = schemes.node(n).scheme;
    if (!scheme || scheme->weights.pruning == Pruning::kNone) continue;
    is_asked = true;
    if (!is_prunable(graph, graph.nodes[n])) continue;
    ir::Value& value = graph[graph.nodes[n].inputs[1]];
    const auto floats = value.constant->values<float>();
    std::vector<float> weights(floats.begin(), floats.end());
    if (scheme->weights.pruning == Pruning::kSmallest) {
      prune_smallest(weights, scheme->weights.pruned_percent);
    } else {
      const auto inputs = static_cast<size_t>(value.shape[1]);
      prune_two_of_four(weights, inputs, weights.size() / (static_cast<size_t>(value.shape[0]) * inputs));
    }
    count(floats, weights, counts);
    value.constant = Tensor::of<float>(DType::kFp32, value.shape, weights);
  }
  if (!is_asked) return;
  log.note({.where = "pruned weights",
            .what = fmt::format("{} of {} weights in {} layers became zero, with {:.1f} % of the sum of squares",
                                counts.zeros, counts.weights, counts.layers,
                                counts.squares == 0 ? 0 : 100 * counts.squares_of_zeros / counts.squares),
            .hint = "`carina accuracy` compares with the model as it was; training with masks of zeros loses less",
            .severity = Severity::kNote});
}

}  // namespace carina::quantize
