#pragma once

#include <span>
#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/tensor.h"
#include "ir/graph.h"

namespace carina::quantize {

// Checks a float model's inputs and outputs over all calibration samples, to find useless data: an input or output that
// never changes, or whose values are too small for a float.
class DataCheck {
 public:
  explicit DataCheck(const ir::Graph& graph) : graph_(graph), seen_(graph.inputs.size() + graph.outputs.size()) {}

  // One sample: tensors of the graph's inputs and outputs, in order.
  void see(std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  // Reports a warning for each such input and output, and a note if there was only one sample. `where` names the data.
  void report(const std::string& where, const Log& log) const;

 private:
  struct Extent {
    float min = 0;
    float max = 0;
    size_t elements = 0;
  };
  static void widen(Extent& extent, const Tensor& tensor);

  const ir::Graph& graph_;
  size_t samples_ = 0;
  std::vector<Extent> seen_;  // inputs, then outputs
};

}  // namespace carina::quantize
