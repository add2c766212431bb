// Declares the interface of a component that evaluates ATen graphs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "carina/result.h"
#include "carina/tensor.h"
#include "ir/graph.h"

namespace carina::ir {

// A graph that can be run any number of times.
class Evaluation {
 public:
  virtual ~Evaluation() = default;
  // Takes one tensor per graph input, in order, with the input's type and shape. Returns the graph's outputs in order.
  virtual Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) = 0;
};

// Evaluates float ATen graphs with the same results as a program's CPU kernels. The driver passes it to libraries that
// must not depend on the runtime.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Errors: all nodes without a kernel.
  [[nodiscard]] virtual Result<std::unique_ptr<Evaluation>> load(const Graph& graph) const = 0;
};

}  // namespace carina::ir
