#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "facts/tosa_row.h"
#include "frontend/tosa/verify/verify_options.h"
#include "ir/graph.h"

namespace carina::tosa {

// A VARIABLE node, and the graph that it is in.
struct Declaration {
  const ir::Graph* graph;
  const ir::Node* node;
};

// Facts about the whole module that rules use, computed once.
struct ModuleIndex {
  explicit ModuleIndex(const ir::Module& module, int64_t max_nesting);

  std::unordered_map<std::string_view, const ir::Graph*> graphs;
  std::unordered_map<std::string_view, Declaration> variables;  // first declaration of each variable
  // The nesting depth of control flow below each graph. No value if there is a cycle, or if the depth exceeds the
  // limit.
  std::unordered_map<std::string_view, std::optional<int64_t>> depths;
  // Results of range_of_constant(), because many nodes may share one large constant.
  mutable std::unordered_map<const ir::Value*, IntegerRange> ranges;
};

// A node that is verified. The rules of an operator run after the general rules. So operands have the types and ranks
// of the row, and each size is at least 1.
struct RuleContext {
  const ModuleIndex& index;
  const ir::Graph& graph;
  const ir::Node& node;
  const TosaOpRow& row;
  const VerifyOptions& options;

  [[nodiscard]] const ir::Value& input(size_t index) const { return graph[node.inputs[index]]; }
  [[nodiscard]] const ir::Value& output(size_t index) const { return graph[node.outputs[index]]; }
  [[nodiscard]] const Shape& in_shape(size_t index) const { return input(index).shape; }
  [[nodiscard]] const Shape& out_shape(size_t index) const { return output(index).shape; }
  [[nodiscard]] const std::vector<int64_t>& ints(std::string_view name) const { return node.attributes.integers(name); }
  [[nodiscard]] int64_t integer(std::string_view name) const { return node.attributes.integer(name); }
  [[nodiscard]] bool flag(std::string_view name) const { return node.attributes.get<bool>(name); }
};

// The result of a rule: empty if it holds, otherwise what was found.
using Problem = std::optional<std::string>;

struct Rule {
  std::string_view id;    // "CONV2D.3"; stable: messages and tests quote it
  std::string_view must;  // the condition
  Problem (*broken)(const RuleContext& at);
};

// The rules of one operator, in the order of the specification's conditions.
struct OpRules {
  TosaOp op;
  std::span<const Rule> rules;
};

// The families of operators, with one file each in this folder.
std::span<const OpRules> convolution_rules();
std::span<const OpRules> pooling_rules();
std::span<const OpRules> matrix_rules();       // MATMUL, FFT2D, RFFT2D
std::span<const OpRules> elementwise_rules();  // CLAMP, broadcasting, MUL, TABLE, NEGATE
std::span<const OpRules> reduction_rules();    // ARGMAX, REDUCE_*
std::span<const OpRules> layout_rules();
std::span<const OpRules> resize_rules();
std::span<const OpRules> rescale_rules();
std::span<const OpRules> control_flow_rules();
std::span<const OpRules> variable_rules();
std::span<const OpRules> block_scaled_rules();  // EXT-MXFP

// Rules for all operators. They read the operator's row.
std::span<const Rule> general_rules();

// Conditions that several families need.

// The elements of an integer constant (int8 to int64, shape). No value if the value is not a constant.
std::optional<std::vector<int64_t>> constant_ints(const ir::Value& value);
// The smallest and the largest element of an integer constant. No value if it has no elements or is not a constant.
std::optional<IntegerRange> range_of_constant(const RuleContext& at, const ir::Value& value);
// Returns whether a zero point is a constant other than zero, of any type.
bool is_nonzero_constant(const ir::Value& value);
std::string to_string(std::span<const int64_t> numbers);
// The mismatch of a size as text, such as "8 <= 4". No value if the sizes agree.
Problem differs(std::string_view name, int64_t got, std::optional<int64_t> wanted);
// numerator / denominator. No value if there is a remainder.
std::optional<int64_t> exact_quotient(int64_t numerator, int64_t denominator);

}  // namespace carina::tosa
