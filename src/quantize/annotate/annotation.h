#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace carina::quantize {

// What a framework's own quantizer (torchao's PT2E) is to do with a float graph as it came from its reader: which values
// are integers, which share their parameters, and what weights and biases are. As ptq.h would do it, said about the
// user's nodes; ranges are the framework's to find.

// A tensor between nodes.
struct AnnotatedValue {
  std::string name;
  bool quantized = false;  // it is to be observed and to become integers
  size_t group = 0;        // values of a group share their parameters
  // Of the user's schemes that of the group: the highest that one of its makers has, or of its readers where floats made it.
  int scheme = 0;
};

enum class OperandRole { kActivation, kWeight, kBias };

struct AnnotatedOperand {
  size_t value = 0;  // index in `values`
  OperandRole role = OperandRole::kActivation;
  // The axis of weights and biases with a scale per channel; no value: one scale for all.
  std::optional<int> axis = {};
  // The function is defined in [-end, end] only. The integers represent this range, whatever values are observed.
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

// The user's schemes are numbered; what they are stays the caller's. kLeftFloat: the node computes with floats.
constexpr int kLeftFloat = -1;
struct NodeSchemes {
  int general = 0;
  std::map<std::string, int> of_node = {};  // of nodes that have another than the general one, by name
  // Schemes whose integers have no zero point: what stands before an activation is an integer of its own there.
  std::set<int> apart = {};
  bool quantized_ends = false;  // the graph's inputs and outputs are integers: what moves their data moves integers
};

// Nodes that no target computes with integers, and those that only move data between such, stay float.
Annotations annotate(const ir::Graph& graph, const NodeSchemes& schemes);

}  // namespace carina::quantize
