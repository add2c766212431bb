// Declares the IR graph: values, nodes, modules, and the analyses of uses.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "carina/tensor.h"
#include "ir/attribute.h"
#include "ir/op.h"
#include "tensor/quantization.h"

namespace carina::ir {

using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;

// A tensor (or TOSA shape, DType::kShape with shape [rank]) that flows between nodes.
struct Value {
  std::string name;               // unique in its graph
  DType dtype = DType::kUnknown;  // logical type: a quantized ATen value stays fp32 here
  Shape shape;
  // ATen stage: the value is represented by integers with these parameters (set by import or by the quantizer). A
  // constant with this set holds either those integers (constant->dtype == quantization->dtype) or still the floats.
  std::optional<Quantization> quantization;
  // A constant's data. TOSA's CONST and CONST_SHAPE are not nodes: a constant is a property of a value.
  std::optional<Tensor> constant;
};

// One operation on values.
struct Node {
  Op op;
  std::string name;  // name in the user's graph, for messages and reports
  // tensor operands in the row's order; list operands are flattened; an absent operand is an invalid id
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;  // every attribute of the row, defaults filled in
  std::string source;     // line of the user's model, "model.py:41"; may be empty
  // The node of the source graph from which this node was derived: the ATen node of a TOSA node, or the node of the
  // whole graph for a node of a subgraph. Not part of the text form.
  NodeId origin = {};
};

// A tensor that the model keeps from run to run, a mutable buffer. It is an input and an output of the graph: what a
// run gives as the output is the input of the next run. So no pass can fold it, merge it with an equal one, or drop it.
struct State {
  std::string name;  // of the model's buffer, "blocks.0.k_cache"
  Tensor initial;    // the input of the first run, with its type and shape
};

// A straight-line graph: nodes are in an order in which they can be evaluated. Values and nodes are addressed by index.
struct Graph {
  Graph();
  Graph(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(const Graph&);
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;  // a value may occur more than once
  // The last inputs and the last outputs, in the same order, are the state before and after a run.
  //   Example: inputs x, h and outputs y, h_next with states {h}: h_next is h in the next run
  std::vector<State> states;

  [[nodiscard]] size_t inputs_without_state() const { return inputs.size() - states.size(); }
  [[nodiscard]] size_t outputs_without_state() const { return outputs.size() - states.size(); }
  [[nodiscard]] ValueId state_input(size_t state) const { return inputs[inputs_without_state() + state]; }
  [[nodiscard]] ValueId state_output(size_t state) const { return outputs[outputs_without_state() + state]; }

  [[nodiscard]] Value& operator[](ValueId id) { return values[id.index()]; }
  [[nodiscard]] const Value& operator[](ValueId id) const { return values[id.index()]; }
  [[nodiscard]] Node& operator[](NodeId id) { return nodes[id.index()]; }
  [[nodiscard]] const Node& operator[](NodeId id) const { return nodes[id.index()]; }

  // Adds a value; its name is made unique if it exists.
  ValueId add_value(Value value);
  ValueId add_value(std::string_view name, DType dtype, const Shape& shape) {
    return add_value({.name = std::string(name), .dtype = dtype, .shape = shape, .quantization = {}, .constant = {}});
  }
  ValueId add_constant(std::string_view name, Tensor tensor) {
    const DType dtype = tensor.dtype;
    const Shape shape = tensor.shape;
    return add_value(
        {.name = std::string(name), .dtype = dtype, .shape = shape, .quantization = {}, .constant = std::move(tensor)});
  }
  NodeId add_node(Node node);
  [[nodiscard]] std::optional<ValueId> find_value(std::string_view name) const;
  // Renames a value; the name is made unique if it exists.
  void rename(ValueId id, std::string_view name);

 private:
  // The name that was asked for, or the first of name_1, name_2 ... that no value has.
  [[nodiscard]] std::string unique_name(std::string_view wanted);

  std::unordered_map<std::string, uint32_t> index_of_name_;
  // By name: values have all of name, name_1 ... up to this number. Thousands of values may ask for one name.
  std::unordered_map<std::string, int> taken_numbers_;
};

// Several graphs. Nodes of control flow refer to other graphs by name. The first is the main graph.
struct Module {
  std::vector<Graph> graphs;
  [[nodiscard]] Graph& main() { return graphs.front(); }
  [[nodiscard]] const Graph& main() const { return graphs.front(); }
  [[nodiscard]] const Graph* find(std::string_view name) const;
};

// Analyses are computed from a graph and are valid until it changes.

// Returns for each value the node that produces it (invalid id: graph input or constant).
std::vector<NodeId> producers(const Graph& graph);
// Returns for each value the nodes that read it, in order, once per read. Graph outputs are not counted.
std::vector<std::vector<NodeId>> users(const Graph& graph);
// Returns for each value whether it is a graph output.
std::vector<bool> is_output(const Graph& graph);

// Removes nodes whose results are unused, then values without any reference. Graph inputs stay.
void remove_dead(Graph& graph);

}  // namespace carina::ir
