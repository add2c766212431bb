#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "interpret/kernel_internal.h"
#include "kernels/micro/microkernels.h"

namespace carina::interpret {

// fp32 elementwise operators that one kernel computes together. A block of elements passes through all of them before
// the next block starts, so intermediate values stay in the first-level cache. The result may overwrite an operand of
// the same shape.
struct ElementwiseF32 {
  // The input of a step: an operand of the kernel, or the result of an earlier step.
  struct Source {
    bool is_step;
    size_t index;
  };
  struct Step {
    std::variant<kernels::Combine, kernels::Function> op;
    Source a;
    Source b;  // of a Combine
  };
  static constexpr size_t kMaxOperands = 8;  // one more than steps: each has at most two sources

  Shape shape;                         // of every step
  std::vector<const Shape*> operands;  // broadcast to it
  std::vector<Step> steps;             // the last one is the result
};

// The step that computes a node, without its sources. Returns nothing for other operators and other types.
std::optional<ElementwiseF32::Step> elementwise_f32_step(const ir::Node& node, const ir::Graph& graph);
Kernel elementwise_f32_kernel(const ElementwiseF32& chain, int threads);

// A kernel of one node. It is used in a TypeRow, after the operator's checks.
Kernel elementwise_f32(const NodePlan& plan);

}  // namespace carina::interpret
