#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "quantize/similarity.h"

namespace carina::quantize {

// The error that a node of the float graph adds to the error of its operands.
struct LayerError {
  ir::NodeId node;
  double before_db = 0;   // SQNR of the worst operand; 300: no error
  double after_db = 0;    // SQNR of the result
  double entered_db = 0;  // the SQNR that the result would gain if the node added no error
};

// Returns the error of each node whose result is compared, in node order. `values` is the result of
// similarity_of_values(); if it has inputs of the graph too, their error does not count as that of the nodes that read
// them. Values that are fused with the activation that reads them are skipped: they have the range of
// the activation, so they differ from the float model by design.
std::vector<LayerError> layer_errors(const ir::Graph& reference, const std::map<std::string, Similarity>& values);

// Returns the names of the at most `count` nodes that add most error, in descending order.
std::vector<std::string> worst_layers(const ir::Graph& reference, const std::vector<LayerError>& errors, size_t count);

}  // namespace carina::quantize
