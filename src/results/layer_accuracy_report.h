#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/output_accuracy.h"

namespace carina::results {
// The result of one node: the integers compared with the floats.
struct LayerAccuracy {
  std::string node;
  std::string op;
  std::string source;  // "model.py:41"
  std::string type;    // type of the integers; "float" if it stays float
  double sqnr_db = 0;
  double entered_db = 0;  // the error that the node adds: how far the SQNR is below that of the worst operand
};

// Another scheme, and its measured gain for the outputs.
struct Remedy {
  std::string what;     // "int16x8 for the 3 layers where most error enters"
  std::string options;  // command-line options
  double sqnr_db = 0;   // over all outputs
  double gain_db = 0;
  int64_t cycles = 0;  // of an inference on NPU and CPU; 0: no target, or it cannot be compiled
};

// The similarity of the integer graph to the float model, layer by layer.
struct LayerAccuracyReport {
  std::string model;
  std::string scheme;
  int64_t samples = 0;
  double sqnr_db = 0;       // over all outputs
  std::string target = {};  // for which `cycles` are estimated; empty: none
  int64_t cycles = 0;       // of an inference with the scheme as asked, on NPU and CPU
  std::vector<OutputAccuracy> outputs;
  std::vector<LayerAccuracy> layers;  // in the order of the nodes
  std::vector<Remedy> remedies;       // the best one first
};

}  // namespace carina::results
