#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/output_accuracy.h"

namespace carina::results {
// A value that a node gives, as integers beside as floats.
struct LayerAccuracy {
  std::string node;
  std::string op;
  std::string source;  // "model.py:41"
  std::string type;    // of the integers; "float" where it is left so
  double sqnr_db = 0;
  double entered_db = 0;  // how much less than that of the worst value that the node reads: the error that it adds
};

// Another scheme, and what the outputs gain by it: measured.
struct Remedy {
  std::string what;     // "int16x8 for the 3 layers where most error enters"
  std::string options;  // of the command line
  double sqnr_db = 0;   // of all outputs
  double gain_db = 0;
};

// How near the integer graph is to the float model, layer by layer.
struct LayerAccuracyReport {
  std::string model;
  std::string scheme;
  int64_t samples = 0;
  double sqnr_db = 0;  // of all outputs
  std::vector<OutputAccuracy> outputs;
  std::vector<LayerAccuracy> layers;  // in the order of the nodes
  std::vector<Remedy> remedies;       // the best first
};

}  // namespace carina::results
