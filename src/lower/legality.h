#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ir/refusal.h"
#include "lower/target.h"

namespace carina::lower {

// Per node of a prepared graph, whose quantization has been spread (ir::propagate_quantization), the first rule that keeps
// it off the target: operator, types (integers, or quantized as a whole), static shapes, limits of the operator. None:
// the target runs it. What only a compiler for the target can know is not asked here.
std::vector<std::optional<ir::Refusal>> refusals_of(const ir::Graph& annotated, const Target& target);

}  // namespace carina::lower
