// The signatures of a file: entry points, each with a graph of its own or the same graph.
#pragma once

#include <string>
#include <vector>

#include "carina/result.h"
#include "frontend/tflite/model.h"

namespace carina::tflite {

// The keys of the signatures if they have several graphs, in the file's order; else none.
std::vector<std::string> separate_signatures(const Model& model);

// Makes the graph of a signature the main one. Error: there is no such signature.
Result<void> choose_signature(Model& model, const std::string& key, const std::string& where);

// The graphs of the other signatures, once one has been chosen: they share its resource variables.
std::vector<const Subgraph*> graphs_of_others(const Model& model);

}  // namespace carina::tflite
