#pragma once

#include <optional>
#include <span>
#include <vector>

#include "plan/family/context.h"

namespace carina::plan {

struct BlockQuestion {
  StripeId stripe = {};
  std::optional<BlockConfig> like = {};        // a block of its depth and order, if there is one that fits
  Space weights_from = Space::kConstants;      // where the weights will be read
  std::optional<npu::WeightOrder> order = {};  // the only one that is allowed
};

// For each question the block in which the stripe takes the fewest cycles; nothing when none fits. Equal questions are
// answered once.
std::vector<std::optional<BlockConfig>> best_blocks(const Schedule& schedule, std::span<const BlockQuestion> questions,
                                                    const Context& context, ThreadPool& threads);

}  // namespace carina::plan
