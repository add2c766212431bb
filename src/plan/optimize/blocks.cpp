// What:   chooses the block of each stripe: the fastest that the family allows, or (for tests) an arbitrary one. The
//         stripes of a step share slices of weights if their blocks allow it.
// Before: stripe block={}
// After:  stripe block={height=8 width=16 depth=16}
// Needs:  stripes.
// Gives:  blocks that the family allows (rule 6).
// Legal:  blocks change the order of work and how often operands are read, never results.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <random>
#include <unordered_map>

#include "base/checked_math.h"
#include "plan/cost/assumed_targets.h"
#include "plan/cost/kernel_cost.h"
#include "plan/optimize/blocks.h"
#include "plan/optimize/transformations.h"

namespace carina::plan {
namespace {

class CycleCost {
 public:
  CycleCost(const Schedule& schedule, const Step& subop, const Context& context, Space weights_from,
            const AssumedTarget& assumed)
      : subop_(subop),
        context_(context),
        cost_(schedule, context.family, assumed.target, assumed.detail),
        operation_(cost_, subop),
        weights_from_(weights_from),
        slow_(cost_.port_of(Space::kConstants)) {}
  CycleCost(const CycleCost&) = delete;
  CycleCost& operator=(const CycleCost&) = delete;

  // The cost of a block; infinite if it is certainly more than `max`. Among blocks of nearly equal speed, the one with
  // less port traffic costs less, and the one that multiplies in less time: zeros are decoded faster than this model
  // knows before weights are encoded.
  [[nodiscard]] double of(const BlockConfig& block, double max) {
    const KernelCycles cycles = operation_.of(block, feed_of(block), max);
    constexpr double kTrafficWeight = 0.01, kSlowTrafficWeight = 0.1, kMultiplyingWeight = 0.03;
    return cycles.total + kMultiplyingWeight * cycles.multiplying +
           kTrafficWeight * (cycles.port_busy[0] + cycles.port_busy[1]) + kSlowTrafficWeight * cycles.port_busy[slow_];
  }

 private:
  // Consecutive blocks mostly have the same order of weights.
  [[nodiscard]] const Feed& feed_of(const BlockConfig& block) {
    const BlockConfig order{.depth = block.depth,
                            .order = block.order,
                            .ublock = block.ublock,
                            .sparsity = block.sparsity,
                            .format = block.format};
    if (fed_order_ == order) return feed_;
    fed_order_ = order;
    feed_ = expected_feed(subop_, block, context_);
    feed_.weights_from = feed_.scales_from = weights_from_;
    return feed_;
  }

  const Step& subop_;
  const Context& context_;
  KernelCost cost_;
  OperationCost operation_;
  Space weights_from_;
  size_t slow_;
  std::optional<BlockConfig> fed_order_;  // the order of weights that `feed_` is for
  Feed feed_;
};

// The factor by which another weight order has to be faster. The family lists the order with fewer weight bytes first.
// For 1x1 kernels, the other order takes half as many bytes again, so with kSize its factor is large.
double worth_of_other_order(const Step& subop, Optimize optimize) {
  constexpr double kHardlyMoreBytes = 1.03, kMoreBytes = 3;
  const bool one_tap = subop.kernel.height == 1 && subop.kernel.width == 1;
  return optimize == Optimize::kSize && one_tap ? kMoreBytes : kHardlyMoreBytes;
}

// The costs of blocks. A block with another weight order than the family's first costs `other_order` times as much.
class BlockCosts {
 public:
  BlockCosts(const std::vector<BlockConfig>& blocks, double other_order)
      : first_order_(blocks.front().order), other_order_(other_order) {}

  [[nodiscard]] double factor(const BlockConfig& block) const { return block.order == first_order_ ? 1 : other_order_; }

  // The cost of each block, divided by the least. A ratio above `max` may be infinite. Families list the small blocks
  // first, which take the most cycles, so the last is computed first.
  [[nodiscard]] std::vector<double> ratios(const std::vector<BlockConfig>& blocks, CycleCost cost,
                                           double max = std::numeric_limits<double>::infinity()) const {
    constexpr double kRounding = 1.0001;
    double least = std::numeric_limits<double>::infinity();
    std::vector<double> costs(blocks.size());
    for (size_t i = blocks.size(); i-- > 0;) {
      const BlockConfig& block = blocks[i];
      costs[i] = cost.of(block, least * max * kRounding / factor(block)) * factor(block);
      least = std::min(least, costs[i]);
    }
    for (double& each : costs) each /= least;
    return costs;
  }

 private:
  npu::WeightOrder first_order_;
  double other_order_;
};

// Whether block `a` is to be preferred to `b` if both cost nearly the same: if it alone leaves several blocks, because
// the next operation may then start before the last of them is done; otherwise if it is larger.
bool is_preferred(const BlockConfig& a, const BlockConfig& b, const FeatureMap& ofm) {
  const auto several = [&](const BlockConfig& c) {
    return c.height < ofm.height || c.width < ofm.width || c.depth < ofm.depth;
  };
  if (several(a) != several(b)) return several(a);
  return a.height * a.width * a.depth > b.height * b.width * b.depth;
}

// The factors by which a block costs hardly more than another one, and by which it may cost more under the nominal
// model.
constexpr double kHardlyMore = 1.003, kNominalLoss = 1.01;

// The preferred block of those with nearly the least score. A score that is not finite is not chosen.
std::optional<BlockConfig> preferred(const std::vector<BlockConfig>& blocks, const std::vector<double>& scores,
                                     const FeatureMap& ofm) {
  const double max = std::ranges::min(scores) * kHardlyMore;
  std::optional<BlockConfig> best;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (scores[i] > max) continue;
    if (!best || is_preferred(blocks[i], *best, ofm)) best = blocks[i];
  }
  return best;
}

// Chooses the block with the least nominal cost, where the cost with latencies that are twice as long counts a little:
// of blocks that are nearly as fast, some read weights and maps so often that they wait for each read if it takes
// longer. The nominal cost is at most `max_nominal` times the least, with or without the factor of other orders.
//   Example: a convolution of 3x3 with 64 channels. A block takes 37,540 cycles, and 68,780 with doubled latencies:
//   39,603. Another one takes 37,700 and 37,940: 38,838.
std::optional<BlockConfig> cheapest_with_latencies(const std::vector<BlockConfig>& blocks, CycleCost& nominal,
                                                   CycleCost& slow, double max_nominal, double other_order,
                                                   const FeatureMap& ofm) {
  constexpr double kWeight = 0.03, kRounding = 1.0001;
  const BlockCosts costs(blocks, other_order);
  double least = std::numeric_limits<double>::infinity(), least_scaled = least;
  const auto max_of = [&](const BlockConfig& block) {
    return max_nominal * std::max(least, least_scaled / costs.factor(block));
  };
  std::vector<double> scores(blocks.size());
  for (size_t i = blocks.size(); i-- > 0;) {
    scores[i] = nominal.of(blocks[i], max_of(blocks[i]) * kRounding);
    least = std::min(least, scores[i]);
    least_scaled = std::min(least_scaled, scores[i] * costs.factor(blocks[i]));
  }
  // The block with the least nominal cost comes first, so that few others may have a lower score.
  double least_score = std::numeric_limits<double>::infinity();
  const auto add_latencies = [&](size_t i) {
    const double factor = costs.factor(blocks[i]);
    const double max = (least_score * kHardlyMore / factor - scores[i]) / kWeight;
    const bool is_candidate = scores[i] <= max_of(blocks[i]) && scores[i] <= max;  // longer latencies never help
    scores[i] = is_candidate ? (scores[i] + kWeight * slow.of(blocks[i], max)) * factor
                             : std::numeric_limits<double>::infinity();
    least_score = std::min(least_score, scores[i]);
  };
  const auto fastest = static_cast<size_t>(std::ranges::min_element(scores) - scores.begin());
  add_latencies(fastest);
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i != fastest) add_latencies(i);
  }
  return preferred(blocks, scores, ofm);
}

// Chooses the block for a subop by the costs under `models` models, the first of which is the nominal one. With one
// model, it takes the preferred block of those with nearly the least cost. With several, it takes the block whose worst
// ratio to the best is the smallest, of those that cost at most 1 % more under the nominal model; again the preferred
// one of those with nearly the same ratio.
//   Example: costs (nominal, latencies doubled) of A are 100 and 140, of B 100.5 and 120. A's worst ratio is 1.17 and
//   B's is 1.005, so B is chosen.
template <typename CostUnder>
std::optional<BlockConfig> cheapest(const std::vector<BlockConfig>& blocks, size_t models, const CostUnder& cost_under,
                                    double other_order, const FeatureMap& ofm) {
  const double max_nominal = models > 1 ? kNominalLoss : kHardlyMore;
  const BlockCosts costs(blocks, other_order);
  const std::vector<double> nominal = costs.ratios(blocks, cost_under(0), max_nominal);
  std::vector<BlockConfig> candidates;
  std::vector<double> worst;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (nominal[i] > max_nominal) continue;
    candidates.push_back(blocks[i]);
    worst.push_back(nominal[i]);
  }
  for (size_t model = 1; model < models && candidates.size() > 1; ++model) {
    const std::vector<double> ratios = costs.ratios(candidates, cost_under(model));
    for (size_t i = 0; i < worst.size(); ++i) worst[i] = std::max(worst[i], ratios[i]);
  }
  return preferred(candidates, worst, ofm);
}

// Of the sizes that divide an axis into the same number of blocks, keeps only the smallest of each ublock.
void keep_balanced(std::vector<BlockConfig>& blocks, const Step& subop) {
  const auto is_smallest = [](int64_t whole, int64_t size, int64_t step) {
    return size <= step || ceil_div(whole, size) != ceil_div(whole, size - step);
  };
  struct Steps {
    int64_t height = INT64_MAX;
    int64_t width = INT64_MAX;
  };
  constexpr size_t kMicroblocks = 8;
  std::array<Steps, kMicroblocks> steps;
  const auto of = [&](const BlockConfig& b) -> Steps& { return steps[static_cast<size_t>(b.ublock)]; };
  for (const BlockConfig& b : blocks) {
    Steps& step = of(b);
    step = {.height = std::min(step.height, b.height), .width = std::min(step.width, b.width)};
  }
  std::erase_if(blocks, [&](const BlockConfig& b) {
    const Steps& step = of(b);
    return !is_smallest(subop.ofm.height, b.height, step.height) || !is_smallest(subop.ofm.width, b.width, step.width);
  });
}

// Keeps the blocks with the same weight order as `like`, if there are any.
void keep_alike(std::vector<BlockConfig>& blocks, const BlockConfig& like) {
  const auto other = [&](const BlockConfig& b) {
    return b.depth != like.depth || b.order != like.order || b.ublock != like.ublock || b.sparsity != like.sparsity;
  };
  if (!std::ranges::all_of(blocks, other)) std::erase_if(blocks, other);
}

std::optional<BlockConfig> best_block(const Schedule& schedule, const BlockQuestion& question, const Context& context,
                                      const std::vector<AssumedTarget>& models, const AssumedTarget& slow) {
  const Step subop = subop_of(schedule, schedule[question.stripe]);
  std::vector<BlockConfig> blocks = context.family.legal_blocks(subop, context.target);
  if (subop.reads_written_weights())
    std::erase_if(blocks, [&](const BlockConfig& b) { return b.depth != subop.stream_block_depth; });
  if (question.order) std::erase_if(blocks, [&](const BlockConfig& b) { return b.order != *question.order; });
  const Variation& variation = context.options.variation;
  if (question.like && subop.weights.valid()) keep_alike(blocks, *question.like);
  if (blocks.empty()) return std::nullopt;
  if (variation.blocks == Variation::Blocks::kSeeded) {
    std::mt19937 random(variation.seed + static_cast<uint32_t>(subop.node.index()));
    BlockConfig block = blocks[random() % blocks.size()];
    if (has_fast_format(subop, context) && random() % 2 == 0) block.format = npu::WeightFormat::FWD;
    return block;
  }
  if (context.options.optimize != Optimize::kSearch) keep_balanced(blocks, subop);
  const auto cost_under = [&](const AssumedTarget& model) {
    return CycleCost(schedule, subop, context, question.weights_from, model);
  };
  const double other_order = worth_of_other_order(subop, context.options.optimize);
  if (context.block_choice != BlockChoice::kWorstRatio && context.options.optimize != Optimize::kSize) {
    constexpr double kAnyLoss = 1.03;  // more does not pay: doubled latencies take at most twice the cycles
    const double max = context.block_choice == BlockChoice::kLatencies ? kAnyLoss : kNominalLoss;
    CycleCost nominal = cost_under(models.front()), slow_cost = cost_under(slow);
    return cheapest_with_latencies(blocks, nominal, slow_cost, max, other_order, subop.ofm);
  }
  return cheapest(
      blocks, models.size(), [&](size_t model) { return cost_under(models[model]); }, other_order, subop.ofm);
}

// The inputs of the choice.
struct Key {
  Step subop = {};  // without names, addresses and values
  std::array<Format, 3> formats = {};
  std::array<Space, 3> spaces = {};
  WeightFacts weights = {};
  std::optional<BlockConfig> like = {};
  Space weights_from = {};
  std::optional<npu::WeightOrder> order = {};
  Optimize optimize = {};
  BlockChoice choice = {};
  bool operator==(const Key&) const = default;
  [[nodiscard]] uint64_t hash() const {
    uint64_t hash = static_cast<uint64_t>(subop.kind);
    const auto add = [&](auto value) {
      hash = (hash ^ (hash >> 29)) * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(value);
    };
    const BlockConfig block = like.value_or(BlockConfig{});
    for (const int64_t value :
         {subop.ofm.height, subop.ofm.width, subop.ofm.depth, subop.ifm.height, subop.ifm.width, subop.ifm.depth,
          subop.ofm.stride_x, subop.ifm.stride_x, subop.ifm.stride_y, subop.kernel.height, subop.kernel.width,
          subop.padding.top, block.height, block.width, block.depth, subop.activation.min, subop.activation.max})
      add(value);
    for (size_t i = 0; i < formats.size(); ++i)
      add(static_cast<size_t>(formats[i]) * kSpaces + static_cast<size_t>(spaces[i]));
    for (const double value : {weights.zero_rate, weights.bits_per_weight}) add(std::bit_cast<uint64_t>(value));
    add(weights_from);
    add(choice);
    add(order ? static_cast<size_t>(*order) + 1 : 0);
    add(block.order);
    return hash;
  }
};

Key key_of(const Schedule& schedule, const BlockQuestion& question, const Context& context) {
  Key q{.subop = subop_of(schedule, schedule[question.stripe]),
        .like = question.like,
        .weights_from = question.weights_from,
        .order = question.order,
        .optimize = context.options.optimize,
        .choice = context.block_choice};
  std::array<FeatureMap*, 3> maps{&q.subop.ofm, &q.subop.ifm, &q.subop.ifm2};
  const bool second = q.subop.reads_second_map();
  for (size_t i = 0; i < maps.size(); ++i) {
    if (i == 2 && !second) continue;
    const PlanTensor& tensor = schedule[maps[i]->tensor];
    q.formats[i] = tensor.format;
    q.spaces[i] = tensor.storage.valid() ? schedule[tensor.storage].space : Space::kConstants;
    maps[i]->tensor = {};
    maps[i]->offset = maps[i]->zero_point = 0;
  }
  if (q.subop.weights.valid() && q.subop.weights.index() < context.weights.size())
    q.weights = context.weights[q.subop.weights.index()];
  q.subop.weights = q.subop.weights.valid() ? WeightsId(0) : WeightsId();
  q.subop.activation.table = q.subop.uses_table() ? TensorId(0) : TensorId();
  q.subop.first_channel = q.subop.scalar = 0;
  q.subop.scaling = {};
  q.subop.operands = {};
  // Arbitrary blocks differ between nodes.
  if (context.options.variation.blocks != Variation::Blocks::kSeeded) q.subop.node = {};
  return q;
}

}  // namespace

bool has_fast_format(const Step& step, const Context& context) {
  // The fast decoder reads the streams of all decoders in turns. Vela uses it for convolutions with two streams.
  // With four streams, the standard decoders are as fast.
  const int max_decoders = step.kind == StepKind::kDepthwise ? 1 : 2;
  return context.target.accelerator.weight_decoders <= max_decoders && context.family.abilities.fast_weights &&
         step.is_convolution() && step.weights.valid() && !step.reads_written_weights() && !step.multiplies_second &&
         step.weights.index() < context.weights.size() && context.weights[step.weights.index()].fast_bits != 0;
}

class BlockCache::Answers {
 public:
  // The index of a key; a new one is not answered yet.
  size_t index_of(Key key) {
    const uint64_t hash = key.hash();
    const auto [begin, end] = by_hash_.equal_range(hash);
    const auto same = std::find_if(begin, end, [&](const auto& entry) { return keys_[entry.second] == key; });
    if (same != end) return same->second;
    by_hash_.emplace(hash, keys_.size());
    keys_.push_back(std::move(key));
    blocks_.emplace_back();
    return keys_.size() - 1;
  }
  [[nodiscard]] size_t count() const { return keys_.size(); }
  [[nodiscard]] std::optional<BlockConfig>& operator[](size_t key) { return blocks_[key]; }

 private:
  std::vector<Key> keys_;
  std::vector<std::optional<BlockConfig>> blocks_;  // by key
  std::unordered_multimap<uint64_t, size_t> by_hash_;
};

BlockCache::BlockCache() : answers_(std::make_unique<Answers>()) {}
BlockCache::~BlockCache() = default;

std::vector<std::optional<BlockConfig>> best_blocks(const Schedule& schedule, std::span<const BlockQuestion> questions,
                                                    const Context& context, ThreadPool& threads) {
  BlockCache own;
  BlockCache::Answers& answers = (context.blocks != nullptr ? *context.blocks : own).answers();
  const size_t known = answers.count();
  std::vector<size_t> first;  // by new key: the first question with that key
  std::vector<size_t> key_of_question;
  for (size_t i = 0; i < questions.size(); ++i) {
    key_of_question.push_back(answers.index_of(key_of(schedule, questions[i], context)));
    if (key_of_question.back() == known + first.size()) first.push_back(i);
  }
  std::vector<AssumedTarget> models = assumed_targets(context.target);
  if (context.block_choice != BlockChoice::kWorstRatio) models.resize(1);
  const AssumedTarget slow{.target = with_twice_the_latencies(context.target), .detail = npu::kTimeLineCost};
  threads.parallel_for(first.size(), [&](size_t i) {
    answers[known + i] = best_block(schedule, questions[first[i]], context, models, slow);
  });
  std::vector<std::optional<BlockConfig>> blocks;
  for (const size_t key : key_of_question) blocks.push_back(answers[key]);
  return blocks;
}

namespace {

// The stripes of each step, the largest first.
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

Result<void> choose_for(Schedule& schedule, std::span<const BlockQuestion> questions, const Context& context,
                        ThreadPool& threads) {
  const auto blocks = best_blocks(schedule, questions, context, threads);
  for (size_t i = 0; i < questions.size(); ++i) {
    Stripe& stripe = schedule.stripes[questions[i].stripe.index()];
    if (!blocks[i]) {
      const Step& step = schedule[stripe.step];
      return fail({.where = step.name,
                   .what = "no block of this operation fits the NPU's shared buffer",
                   .node = step.node.valid() ? std::optional(step.node.index()) : std::nullopt});
    }
    stripe.block = *blocks[i];
  }
  return {};
}

}  // namespace

Result<Schedule> choose_blocks(Schedule schedule, const Context& context, ThreadPool& threads) {
  const std::vector<std::vector<size_t>> stripes = stripes_by_step(schedule);
  std::vector<BlockQuestion> leaders, others;
  const auto is_computed = [&](const std::vector<size_t>& list) {
    return !list.empty() && schedule[schedule.stripes[list.front()].step].kind != StepKind::kDma;
  };
  for (const std::vector<size_t>& list : stripes) {
    if (is_computed(list)) leaders.push_back({.stripe = StripeId(list.front())});
  }
  CARINA_CHECKED(choose_for(schedule, leaders, context, threads));
  for (const std::vector<size_t>& list : stripes) {
    if (!is_computed(list)) continue;
    for (size_t i = 1; i < list.size(); ++i)
      others.push_back({.stripe = StripeId(list[i]), .like = schedule.stripes[list.front()].block});
  }
  CARINA_CHECKED(choose_for(schedule, others, context, threads));
  return schedule;
}

}  // namespace carina::plan
