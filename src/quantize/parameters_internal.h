#pragma once

#include "carina/result.h"
#include "ir/graph.h"

// Parameters of the quantize and dequantize nodes in a graph.
namespace carina::quantize {

enum class Role { kNone, kQuantize, kDequantize };

// Whether a node is quantized_decomposed.quantize_per_* or dequantize_per_* with parameters that a Quantization can
// hold.
Role role_of(const ir::Node& node);

// Returns whether the parameters of such a node are constants (those of dynamic quantization are not).
bool has_constant_parameters(const ir::Graph& graph, const ir::Node& node);

// Returns the parameters of such a node. Errors: scales that are not positive numbers; zero points outside the range; a
// range that the type does not have; a number of scales that differs from the axis length.
Result<Quantization> parameters_of(const ir::Graph& graph, const ir::Node& node);

}  // namespace carina::quantize
