#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace carina::quantize {

// The annotations that a framework's own quantizer (torchao's PT2E) applies to a float graph as it was read: which
// values become integers, which values share their parameters, and which operands are weights and biases. They
// correspond to what ptq.h does, but refer to the user's nodes. The framework determines the ranges.

// A tensor between nodes.
struct AnnotatedValue {
  std::string name;
  bool quantized = false;  // it is observed and becomes integers
  size_t group = 0;        // values of a group share their parameters
  // The index of the scheme of the value's group. If the nodes that produce or, for values of float nodes, read the
  // group's values have different schemes, the highest index is used.
  int scheme = 0;
};

enum class OperandRole { kActivation, kWeight, kBias };

struct AnnotatedOperand {
  size_t value = 0;  // index in `values`
  OperandRole role = OperandRole::kActivation;
  // The axis of weights and biases with a scale per channel; no value: one scale for all.
  std::optional<int> axis = {};
  // The end of the function's domain [-end, end], if it is limited. The integers represent this range, whatever values
  // are observed.
  std::optional<double> end_int8 = {};
  std::optional<double> end_int16 = {};
};

struct AnnotatedNode {
  std::string name;
  int scheme = 0;
  std::vector<AnnotatedOperand> operands;  // those that become integers
  std::vector<size_t> results;             // indices in `values`
};

struct Annotations {
  std::vector<AnnotatedValue> values;
  std::vector<AnnotatedNode> nodes;
};

// Schemes are numbered by the caller. kLeftFloat: the node computes in float.
constexpr int kLeftFloat = -1;
struct NodeSchemes {
  int general = 0;
  std::map<std::string, int> of_node = {};  // scheme by node name, for nodes that differ from `general`
  // The schemes without zero points. With these, the input and the output of an activation function do not share
  // parameters.
  std::set<int> apart = {};
  bool quantized_ends = false;  // the graph's inputs and outputs are quantized, so nodes that move their data move
                                // integers
};

// Annotates a graph. Nodes that no target computes with integers, and nodes that only move data between these, stay
// float.
Annotations annotate(const ir::Graph& graph, const NodeSchemes& schemes);

}  // namespace carina::quantize
