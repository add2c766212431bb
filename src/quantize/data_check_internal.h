#pragma once

#include <span>
#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/tensor.h"
#include "ir/graph.h"

namespace carina::quantize {

// Watches a float model's inputs and outputs over all calibration samples, for data that say nothing: an input or an
// output that never changes, or that is too small for a float to hold it.
class DataCheck {
 public:
  explicit DataCheck(const ir::Graph& graph) : graph_(graph), seen_(graph.inputs.size() + graph.outputs.size()) {}

  // One sample: tensors of the graph's inputs and outputs, in order.
  void see(std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  // A warning for each input and output that said nothing, and a note where there was one sample. `where` names the data.
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
