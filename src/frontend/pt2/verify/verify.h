// Declares the verifier of ATen nodes: whether their operands, arguments and results fit together.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "carina/result.h"
#include "ir/graph.h"

namespace carina::aten {

// Checks a node of an ATen graph against its schema and against the shapes and types that its operator gives:
// - Required operands are there. Lists of arguments have their lengths, axes are within the rank, sizes and counts are
//   possible.
// - There are as many results as the operator gives, each of the shape and type that follow from the operands. What
//   depends on the data is not checked.
//   Example: aten.conv1d with an operand [1,3,9] and weights [4,3,3] gives [1,4,7]; another shape in the file is an
//   error.
// Passes rely on it: they index operands and axes without checks of their own. `where` is the node in messages.
// Source of the rules: torch 2.13, documentation and behavior of each operator.
Result<void> verify_node(const ir::Graph& graph, const ir::Node& node, const std::string& where);

struct ResultOf {
  DType dtype;
  Shape shape;
};
// The type and shape of a result of a node that verify_node() accepts. No value if it depends on the data.
std::optional<ResultOf> result_of(const ir::Graph& graph, const ir::Node& node, size_t result);

}  // namespace carina::aten
