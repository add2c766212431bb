#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace carina::quantize {

// The operands of a node that hold weights and bias, and the axis of the weights with one scale per output channel.
struct WeightRole {
  size_t weight = 1;
  size_t bias = 2;
  int axis = 0;
};
std::optional<WeightRole> weight_role_of(const ir::Node& node);

// Which float values of a graph share their quantization parameters.
struct Sharing {
  std::vector<size_t> group;      // per value: its group; values of a group have the same parameters
  std::vector<bool> is_observed;  // per value: its elements widen the group's range
  // per value: the first result of the layers with the same weights, and operands and results of the same groups, or
  // itself. These layers have one set of statistics.
  std::vector<size_t> layer_of;
};

// What maximum and minimum of two values do. Our own quantization shares their parameters, which saves the NPU two
// rescales; torchao's users get what the Arm backend's quantizer gives them: operands and result each have their own.
// The maximum or minimum of x and constants times x (a PReLU) shares always.
enum class Extrema { kShare, kApart };

// Ops that move, compare or limit elements keep parameters (their operands and results are one group). The value before
// an activation that is its only reader takes the activation's parameters, but not its range: what the activation cuts
// off need not be represented, also (in our own quantization) where nodes between them move elements, as the view after
// a conv1d does. So it is with the operands of a maximum that nothing else reads: where one is below all results, the
// result is the other. Nodes that are left float share nothing. Source: docs/facts/arm_backend.md 4.2, 4.3. Our own
// quantization shares the parameters of a recurrence's gates over its steps (recurrences.cpp).
Sharing sharing_of(const ir::Graph& graph, const std::vector<bool>& left_float, Extrema extrema);

}  // namespace carina::quantize
