#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "carina/result.h"
#include "frontend/vgf/spirv_module_internal.h"
#include "frontend/vgf/spirv_values_internal.h"
#include "ir/graph.h"

namespace carina::vgf {

struct GraphConstantData {
  std::vector<int64_t> shape;  // of its resource
  Buffer data;
};

// A graph's variables: first its inputs, then its outputs.
struct Interface {
  uint32_t graph = 0;                                   // the id of OpGraphARM
  std::vector<std::pair<uint32_t, uint32_t>> bindings;  // descriptor set and binding of each
  size_t inputs = 0;
  std::vector<uint32_t> resources = {};                            // of each; the container's
  std::vector<ir::ValueId> values = {};                            // of the inputs
  std::unordered_map<uint32_t, GraphConstantData> constants = {};  // by the graph's id of them
};

// The interface of the graph of this entry point; resources, values and constants are the container's to fill in.
// Errors: no such entry point, variables without binding, too few or too many for the graph's type.
Result<Interface> interface_of(const SpirvModule& module, const std::string& entry_point, const std::string& where);

// Adds the graph's operators to `graph` and gives the values of its outputs. Errors: instructions that a graph of TOSA
// 1.0 does not have, operands of the wrong kind or type, constants without data.
Result<std::vector<ir::ValueId>> read_graph(ir::Graph& graph, const SpirvModule& module, const Interface& interface,
                                            const std::string& where);

}  // namespace carina::vgf
