#pragma once

#include "ir/evaluator.h"

namespace carina::evaluate {

// Evaluates ATen graphs with the runtime's kernels. Each graph becomes a small program in memory, without delegates.
class KernelEvaluator final : public ir::Evaluator {
 public:
  [[nodiscard]] Result<std::unique_ptr<ir::Evaluation>> load(const ir::Graph& graph) const override;
};

}  // namespace carina::evaluate
