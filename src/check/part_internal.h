#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "carina/options.h"
#include "check/front_end.h"
#include "ir/graph.h"
#include "npu/compiled_network.h"

namespace carina::check {

// How much a check runs.
struct Extent {
  size_t nodes = 0;  // of the graph, from the first on
  int samples = 0;
};

// The part of a network that a check runs: all of it, or its first operators.
struct Part {
  Extent extent = {};
  size_t layers = 0;                         // of the network
  std::vector<npu::ValueNote> results = {};  // the outputs of first_nodes(); empty: all is run
  [[nodiscard]] bool is_whole(const ir::Graph& graph) const { return extent.nodes == graph.nodes.size(); }
};

// The part that a check runs. A quick check runs all nodes, with as many samples as take at most a fifth of the work of
// the compilation, front end included. If one sample takes more, it runs as many of the first nodes as that pays for.
// It follows from the graph and the number of samples, so it is the same on every machine.
Part part_of(const ir::Graph& graph, const npu::CompiledNetwork& network, options::Check check,
             const FrontEnd& front_end);

// What the check of a file with this graph runs: likewise, but nothing is planned for a file.
Extent extent_of_file_check(const ir::Graph& graph, options::Check check, const FrontEnd& front_end);

// The first nodes of a graph. Its outputs are the values that are outputs of the graph or that later nodes read.
ir::Graph first_nodes(const ir::Graph& graph, size_t nodes);

}  // namespace carina::check
