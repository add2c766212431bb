#pragma once

#include <string>
#include <string_view>

#include "carina/result.h"
#include "frontend/pt2/json_view_internal.h"
#include "frontend/pt2/scope_internal.h"
#include "frontend/pt2/verify/schema.h"
#include "ir/graph.h"

namespace carina::pt2 {

// Fills node.inputs and node.attributes from the JSON list of NamedArguments, by the schema of node.op: tensors in the
// schema's order, all else under the schema's names with defaults filled in. A Python number in a tensor's place
// becomes a constant of shape [] whose type follows PyTorch's promotion (`result_dtype` is the node's own). Errors
// (`where` is the node): missing, unknown or ill-typed arguments; sizes that depend on data; complex numbers.
Result<void> read_arguments(JsonView arguments, ir::Graph& graph, const Scope& scope, Symbols& symbols,
                            DType result_dtype, const std::string& where, ir::Node& node);

}  // namespace carina::pt2
