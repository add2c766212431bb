#pragma once

#include <string>
#include <vector>

#include "carina/result.h"
#include "ir/graph.h"

namespace carina::vgf {

// A tensor of the interface or of the constants section, in the container's form.
struct TensorResource {
  DType dtype;
  Shape shape;       // of rank 1 or more
  bool is_unsigned;  // RESCALE reads or writes it as unsigned
};

struct GraphCode {
  std::vector<uint32_t> words;
  std::vector<TensorResource> inputs;   // bindings 0, 1, ...
  std::vector<TensorResource> outputs;  // the bindings after them
  std::vector<size_t> output_of;        // index in `outputs` for each output of the graph
  struct Constant {
    TensorResource resource;
    Buffer data;
  };
  std::vector<Constant> constants;  // by graph constant id
};

// Writes the SPIR-V of a graph. Errors: as write_vgf().
Result<GraphCode> write_graph(const ir::Graph& graph, const std::string& where);

}  // namespace carina::vgf
