// Declares schemes with 16 bits in all values but those that expensive nodes read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "quantize/scheme.h"

namespace carina::quantize {

struct WideValues {
  double share = 0;                 // of the cycles that may be paid
  std::vector<Override> wide;       // of a scheme with 8 bits
  std::vector<std::string> narrow;  // the nodes that read 8 bits
};

// Returns the cycles of each node on an NPU with 256 multipliers, by its multiplications and results alone. For a
// choice that must not depend on the target.
std::vector<int64_t> estimated_cycles(const ir::Graph& graph);

// Returns such schemes for shares of the cycles in steps of about two, each once. `cycles` are those of each node with
// 8 bits; a node takes about twice as many if it reads 16 bits, so the cheapest nodes read them, as many as the share
// of all cycles pays for. Inputs and outputs are values like others. Values that share their parameters have 8 bits if
// one of them has.
//   Example: 98 % of the cycles in convolutions, a share of 0.05: 8 bits are in what the convolutions read; the inputs
//   of all other nodes, and the outputs, have 16.
std::vector<WideValues> wide_but_expensive(const ir::Graph& graph, const std::vector<int64_t>& cycles);

// Returns overrides that give 16 bits to the inputs and to the results of all nodes.
std::vector<Override> all_values_wide(const ir::Graph& graph);

}  // namespace carina::quantize
