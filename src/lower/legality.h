#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/rejection.h"
#include "lower/target.h"

namespace carina::lower {

// The rule of nodes that are rejected because a value is not quantized.
inline constexpr std::string_view kNotQuantized = "types.not-quantized";

// Returns for each node of a normalized graph, after ir::propagate_quantization, the first rule that keeps it off the
// target: operator, types (integers, or fully quantized), static shapes, limits of the operator. No value: the target
// runs the node. Conditions that only the target's compiler can check are not checked.
std::vector<std::optional<ir::Rejection>> rejections_of(const ir::Graph& annotated, const Target& target);

}  // namespace carina::lower
