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
};

// Whether the two operands and the result of maximum and minimum share parameters. Carina's quantization shares them,
// which saves two rescales on the NPU. Users of torchao get the behavior of the Arm backend's quantizer: each value has
// its own parameters.
enum class Extrema { kShare, kApart };

// Finds the groups of values that share parameters. Operators that move, compare or limit elements keep parameters, so
// their operands and results are one group. A value whose only reader is an activation function takes the parameters of
// the activation's result, but its range is not observed: numbers that the activation clips need not be represented.
// Nodes that stay float share nothing. Source: docs/facts/arm_backend.md 4.2, 4.3.
Sharing sharing_of(const ir::Graph& graph, const std::vector<bool>& left_float, Extrema extrema);

}  // namespace carina::quantize
