#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plan/family/context.h"

// The search for the fastest block of a stripe.
namespace carina::plan {

struct BlockQuestion {
  StripeId stripe = {};
  std::optional<BlockConfig> like = {};        // requires this depth and order, if such a block fits
  Space weights_from = Space::kConstants;      // the space that the weights are read from
  std::optional<npu::WeightOrder> order = {};  // the only weight order that is allowed
};

// Remembers the answers of best_blocks() for one network and target, whatever the schedule, so that the plans of a
// network share them. Not for several threads.
class BlockCache {
 public:
  BlockCache();
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  class Answers;
  [[nodiscard]] Answers& answers() { return *answers_; }

 private:
  std::unique_ptr<Answers> answers_;
};

// Returns whether the weights of a step can be stored in the fast format.
bool has_fast_format(const Step& step, const Context& context);

// For each query, the block with the fewest cycles for that stripe; nothing if no block fits. Equal queries are
// answered once.
std::vector<std::optional<BlockConfig>> best_blocks(const Schedule& schedule, std::span<const BlockQuestion> questions,
                                                    const Context& context, ThreadPool& threads);

}  // namespace carina::plan
