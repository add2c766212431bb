#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "quantize/similarity.h"

namespace carina::quantize {

// What a node of the float graph adds to the error of its operands.
struct LayerError {
  ir::NodeId node;
  double before_db = 0;   // SQNR of the worst operand; 300: exact
  double after_db = 0;    // of the result
  double entered_db = 0;  // how much nearer the result would be if the node added no error
};

// Of each node whose result is compared, in the order of the nodes. `values`: of similarity_of_values(). A value that an
// activation fuses with has the activation's range and is not what the float model computes there: it is left out.
std::vector<LayerError> layer_errors(const ir::Graph& reference, const std::map<std::string, Similarity>& values);

// The names of at most `count` nodes where most error enters, the worst first.
std::vector<std::string> worst_layers(const ir::Graph& reference, const std::vector<LayerError>& errors, size_t count);

}  // namespace carina::quantize
