#pragma once

#include <string>
#include <vector>

#include "carina/result.h"
#include "ir/graph.h"

namespace carina::vgf {

// A tensor of the interface or of the constants' section, as the container describes it.
struct TensorResource {
  DType dtype;
  Shape shape;       // of rank 1 or more
  bool is_unsigned;  // RESCALE takes or gives it as unsigned
};

struct GraphCode {
  std::vector<uint32_t> words;
  std::vector<TensorResource> inputs;   // bindings 0, 1, ...
  std::vector<TensorResource> outputs;  // the bindings after them
  std::vector<size_t> output_of;        // for each output of the graph its place in `outputs`
  struct Constant {
    TensorResource resource;
    Buffer data;
  };
  std::vector<Constant> constants;  // by the graph's id of them
};

// The SPIR-V of a graph. Errors: as write_vgf().
Result<GraphCode> write_graph(const ir::Graph& graph, const std::string& where);

}  // namespace carina::vgf
