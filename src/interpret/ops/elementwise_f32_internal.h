#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "interpret/kernel_internal.h"
#include "simd/kernels.h"

namespace carina::interpret {

// Operators on elements of fp32 that one kernel computes together: a block of elements goes through all of them before
// the next one, so what stands between them stays in the first-level cache. The result may stand where an operand of
// its shape stands.
struct ElementwiseF32 {
  // What a step reads: an operand of the kernel, or what an earlier step gives.
  struct Source {
    bool is_step;
    size_t index;
  };
  struct Step {
    std::variant<simd::Combine, simd::Function> op;
    Source a;
    Source b;  // of a Combine
  };
  static constexpr size_t kMaxOperands = 8;  // one more than steps: each has at most two sources

  Shape shape;                         // of every step
  std::vector<const Shape*> operands;  // broadcast to it
  std::vector<Step> steps;             // the last one is the result
};

// The step that computes a node; sources are left open. Nothing: it is none of these operators, or not of fp32.
std::optional<ElementwiseF32::Step> elementwise_f32_step(const ir::Node& node, const ir::Graph& graph);
Kernel elementwise_f32_kernel(const ElementwiseF32& chain, int threads);

// A kernel of one node: a TypeRow's, after the operator's checks.
Kernel elementwise_f32(const NodePlan& plan);

}  // namespace carina::interpret
