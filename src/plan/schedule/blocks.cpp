// What:   chooses the blocks in which each stripe is computed: of those that the family allows the one that fetches least
//         for an output element, or (for tests) an arbitrary one.
// Before: stripe block={}
// After:  stripe block={height=8 width=16 depth=16}
// Needs:  stripes.
// Gives:  blocks that the family allows (rule 6).
// Legal:  blocks change the order of work and how often operands are read, never results.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>

#include "base/checked_math.h"
#include "plan/schedule/transformations.h"

namespace carina::plan {
namespace {

// Elements fetched per output element, roughly: what Vela's search (architecture_allocator.py) ranks blocks by. Not
// cycles: plan/schedule/cost.h has those.
class FetchCost {
 public:
  FetchCost(const Step& piece, const Context& context)
      : op_(piece),
        context_(context),
        ofm_elements_(static_cast<double>(piece.ofm.height * piece.ofm.width * piece.ofm.depth)) {}

  [[nodiscard]] double of(const BlockConfig& b) const {
    const FeatureMap& ofm = op_.ofm;
    if (op_.kind == StepKind::kElementwise) return ofm_elements_ / static_cast<double>(b.height * b.width * b.depth);
    const npu::Block3 ifm = context_.family.input_block(op_, b, context_.target);
    const int64_t ifm_area = int64_t{ifm.height} * ifm.width;
    const double blocks_deep = op_.sums_over_depth() ? static_cast<double>(ceil_div(ofm.depth, b.depth)) : 1;
    const double area_blocks = ratio(ofm.height, b.height) * ratio(ofm.width, b.width);
    double fetched = static_cast<double>(ifm_area * op_.ifm.depth * sub_kernels()) * area_blocks * blocks_deep;
    if (op_.is_convolution()) fetched += weights(b);
    double cost = fetched / ofm_elements_;
    if (op_.ifm.height * op_.ifm.width * op_.ifm.depth <= 2 * ifm_area * ifm.depth) cost /= 2;
    return cost;
  }

 private:
  static double ratio(int64_t whole, int64_t part) {
    return std::max(1.0, static_cast<double>(whole) / static_cast<double>(part));
  }
  [[nodiscard]] int64_t sub_kernels() const {
    const Kernel& k = op_.kernel;
    return ceil_div<int64_t>(k.height, npu::kSubkernelSize) * ceil_div<int64_t>(k.width, npu::kSubkernelSize);
  }
  [[nodiscard]] double weights(const BlockConfig& b) const {
    const FeatureMap& ofm = op_.ofm;
    const int64_t refetches = ceil_div(ofm.height, b.height) * ceil_div(ofm.width, b.width);
    return static_cast<double>(op_.kernel.taps() * op_.ifm.depth * refetches) *
           (op_.kind == StepKind::kDepthwise ? 1.0 : static_cast<double>(ofm.depth));
  }

  const Step& op_;
  const Context& context_;
  double ofm_elements_;
};

std::optional<BlockConfig> cheapest(const std::vector<BlockConfig>& blocks, const FetchCost& model) {
  std::optional<BlockConfig> best;
  double best_cost = std::numeric_limits<double>::infinity();
  for (const BlockConfig& b : blocks) {
    const double cost = model.of(b);
    // Equal costs: the larger block, which needs fewer commands.
    const bool larger = best && b.height * b.width * b.depth > best->height * best->width * best->depth;
    if (cost < best_cost || (cost == best_cost && larger)) {
      best = b;
      best_cost = cost;
    }
  }
  return best;
}

// Of those whose weights stand in the same order as `like` wants them, if there are any.
void keep_alike(std::vector<BlockConfig>& blocks, const BlockConfig& like) {
  const auto other = [&](const BlockConfig& b) { return b.depth != like.depth || b.order != like.order; };
  if (!std::ranges::all_of(blocks, other)) std::erase_if(blocks, other);
}

std::optional<BlockConfig> choose_block(const Step& piece, const std::optional<BlockConfig>& like,
                                        const Context& context) {
  std::vector<BlockConfig> blocks = context.family.legal_blocks(piece, context.target);
  if (piece.reads_written_weights())
    std::erase_if(blocks, [&](const BlockConfig& b) { return b.depth != piece.stream_block_depth; });
  const Variation& variation = context.options.variation;
  if (like && piece.weights.valid()) keep_alike(blocks, *like);
  if (variation.blocks == Variation::Blocks::kCheapest) return cheapest(blocks, FetchCost(piece, context));
  if (blocks.empty()) return std::nullopt;
  std::mt19937 random(variation.seed + static_cast<uint32_t>(piece.node.index()));
  return blocks[random() % blocks.size()];
}

// The stripes of each step, that which computes most in front.
std::vector<std::vector<size_t>> stripes_by_step(const Schedule& schedule) {
  std::vector<std::vector<size_t>> stripes(schedule.steps.size());
  const auto elements = [&](size_t i) {
    const OfmBox& box = schedule.stripes[i].ofm;
    return box.height * box.width * box.depth;
  };
  for (size_t i = 0; i < schedule.stripes.size(); ++i) {
    auto& list = stripes[schedule.stripes[i].step.index()];
    list.push_back(i);
    if (elements(i) > elements(list.front())) std::swap(list.front(), list.back());
  }
  return stripes;
}

// Chooses for the stripes of one step, which share slices of weights where their blocks allow it. Stripes of one size
// and padding have the same blocks. Whether there are any.
bool choose_for(Schedule& schedule, const std::vector<size_t>& stripes, const Context& context) {
  std::vector<std::pair<Step, BlockConfig>> known;
  for (const size_t i : stripes) {
    const Step piece = piece_of(schedule, schedule.stripes[i]);
    if (piece.kind == StepKind::kDma) continue;
    const auto same = std::ranges::find_if(known, [&](const auto& entry) {
      const Step& other = entry.first;
      return other.ofm.height == piece.ofm.height && other.ofm.width == piece.ofm.width &&
             other.ofm.depth == piece.ofm.depth && other.ifm.height == piece.ifm.height &&
             other.ifm.width == piece.ifm.width && other.padding == piece.padding;
    });
    if (same == known.end()) {
      const auto block =
          choose_block(piece, known.empty() ? std::nullopt : std::optional(known.front().second), context);
      if (!block) return false;
      known.emplace_back(piece, *block);
      schedule.stripes[i].block = *block;
    } else {
      schedule.stripes[i].block = same->second;
    }
  }
  return true;
}

}  // namespace

Result<Schedule> choose_blocks(Schedule schedule, const Context& context, ThreadPool& threads) {
  const std::vector<std::vector<size_t>> stripes = stripes_by_step(schedule);
  std::vector<char> fits(stripes.size(), 1);
  threads.parallel_for(stripes.size(), [&](size_t i) { fits[i] = choose_for(schedule, stripes[i], context); });
  for (size_t i = 0; i < fits.size(); ++i) {
    if (fits[i]) continue;
    const Step& step = schedule.steps[i];
    return fail({.where = step.name,
                 .what = "no block of this operation fits the NPU's shared buffer",
                 .node = step.node.valid() ? std::optional(step.node.index()) : std::nullopt});
  }
  return schedule;
}

}  // namespace carina::plan
