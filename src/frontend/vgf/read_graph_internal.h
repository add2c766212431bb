#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "carina/result.h"
#include "frontend/vgf/spirv_module_internal.h"
#include "frontend/vgf/spirv_values_internal.h"
#include "ir/graph.h"

// Reads the SPIR-V graph of a VGF file as a TOSA graph.
namespace carina::vgf {

struct GraphConstantData {
  std::vector<int64_t> shape;  // shape of its resource
  Buffer data;
};

// The variables of a graph: its inputs, then its outputs.
struct Interface {
  uint32_t graph = 0;                                   // id of OpGraphARM
  std::vector<std::pair<uint32_t, uint32_t>> bindings;  // descriptor set and binding of each variable
  size_t inputs = 0;
  std::vector<uint32_t> resources = {};                            // index of each variable's resource in the container
  std::vector<ir::ValueId> values = {};                            // values of the inputs
  std::unordered_map<uint32_t, GraphConstantData> constants = {};  // by graph constant id
};

// Finds the interface of the graph with this entry point. The container reader adds resources, values and constants.
// Errors: an unknown entry point; variables without a binding; a number of variables that does not match the graph's
// type.
Result<Interface> interface_of(const SpirvModule& module, const std::string& entry_point, const std::string& where);

// Adds the operators of the graph to `graph`. Returns the values of its outputs. Errors: instructions that a TOSA 1.0
// graph does not have; operands of the wrong kind or type; constants without data.
Result<std::vector<ir::ValueId>> read_graph(ir::Graph& graph, const SpirvModule& module, const Interface& interface,
                                            const std::string& where);

}  // namespace carina::vgf
