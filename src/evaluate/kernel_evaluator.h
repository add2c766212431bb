#pragma once

#include "ir/evaluator.h"

namespace carina::evaluate {

// Computes ATen graphs with the runtime's kernels: each graph becomes a small program without delegates, in memory.
class KernelEvaluator final : public ir::Evaluator {
 public:
  [[nodiscard]] Result<std::unique_ptr<ir::Evaluation>> load(const ir::Graph& graph) const override;
};

}  // namespace carina::evaluate
