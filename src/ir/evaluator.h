#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/diagnostic.h"
#include "ir/graph.h"
#include "tensor/tensor.h"

namespace carina::ir {

// A graph that is ready to run, as often as wanted.
class Evaluation {
 public:
  virtual ~Evaluation() = default;
  // One tensor per graph input, in order, of its type and shape; gives the graph's outputs in order.
  virtual Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) = 0;
};

// Whoever computes float ATen graphs exactly as a program's CPU kernels do. Libraries that must not know the runtime get it
// from the driver.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Errors: nodes for which there is no kernel, all of them in one go.
  [[nodiscard]] virtual Result<std::unique_ptr<Evaluation>> load(const Graph& graph) const = 0;
};

}  // namespace carina::ir
