// What:   decides which tensors live in fast scratch, where the arena lies in slow memory: all that fit, and of the
//         others those that would cost most cycles in the arena.
// Before: storage m1 bytes=4096
// After:  storage m1 space=fast_scratch bytes=4096
// Needs:  blocks, an order of stripes, storages of their own for all tensors.
// Gives:  storages in spaces that the target has (rule 7), those in fast scratch together within its size.
// Legal:  every operation may read and write either space; inputs and outputs stay in the arena, where the runtime is.
#include <algorithm>
#include <map>

#include "base/checked_math.h"
#include "base/memory/memory_planner.h"
#include "facts/npu_targets.h"
#include "plan/cost/cost.h"
#include "plan/cost/timeline.h"
#include "plan/memory/allocate.h"
#include "plan/memory/live_ranges.h"
#include "plan/optimize/transformations.h"

namespace carina::plan {
namespace {

// Storages that could be in fast scratch: one, or several of which each result overwrites its operand there.
struct Candidate {
  std::vector<StorageId> storages = {};
  MemoryRequest range = {};
  double gain_cycles = 0;  // compared with the arena
  bool chosen = true;
};

// The storages of tensors inside the network.
std::vector<StorageId> movable(const Schedule& schedule) {
  std::vector<char> may(schedule.storages.size(), 0);
  for (const bool outside : {false, true}) {
    for (const PlanTensor& tensor : schedule.tensors) {
      const bool inside = tensor.kind == TensorKind::kIntermediate;
      if (tensor.storage.valid() && inside != outside) may[tensor.storage.index()] = inside;
    }
  }
  std::vector<StorageId> storages;
  for (size_t i = 0; i < may.size(); ++i) {
    if (may[i]) storages.emplace_back(i);
  }
  return storages;
}

// By storage: the additional cycles of the stripes that access it if it alone were in slow memory.
std::vector<double> gains_of(const Schedule& schedule, const Context& context) {
  std::vector<double> gains(schedule.storages.size(), 0);
  const PortSpeed slow = speed_of(Space::kArena, context.family, context.target);
  for (const Stripe& stripe : schedule.stripes) {
    const Step subop = subop_of(schedule, stripe);
    if (subop.kind == StepKind::kDma) continue;
    const StripeCost cost = cost_of(subop, stripe.block, context.family, context.target);
    const auto add = [&](const FeatureMap& map, double bytes, double bytes_per_cycle) {
      // The value of traffic that overlaps the work. It is above zero, because other traffic may not overlap.
      constexpr double kHidden = 0.1;
      const double cycles = bytes / bytes_per_cycle;
      const StorageId storage = schedule[map.tensor].storage;
      if (storage.valid()) gains[storage.index()] += std::max(cycles - cost.npu_cycles, kHidden * cycles);
    };
    add(subop.ofm, cost.ofm_bytes, slow.bytes_per_cycle);
    add(subop.ifm, cost.ifm_bytes, slow.map_read_bytes_per_cycle);
    if (subop.reads_second_map()) add(subop.ifm2, cost.ifm2_bytes, slow.map_read_bytes_per_cycle);
  }
  return gains;
}

// A candidate for each of the storages.
std::vector<Candidate> single(const Schedule& schedule, std::span<const StorageId> storages,
                              const std::vector<double>& gains) {
  const std::vector<LiveRange> ranges = live_ranges(schedule);
  std::vector<Candidate> candidates;
  for (const StorageId id : storages) {
    const LiveRange& range = ranges[id.index()];
    const int64_t bytes = round_up<int64_t>(schedule[id].bytes, npu::kBaseAlignmentBytes);
    if (range.used())
      candidates.push_back({.storages = {id},
                            .range = {.bytes = bytes, .first = range.first, .last = range.last},
                            .gain_cycles = gains[id.index()]});
  }
  return candidates;
}

// Joins candidates whose storages would share their bytes in fast scratch.
std::vector<Candidate> joined(Schedule schedule, const std::vector<Candidate>& candidates) {
  for (const Candidate& c : candidates) schedule.storages[c.storages.front().index()].space = Space::kFastScratch;
  const std::vector<StorageId> owners = sharing_storages(schedule);
  std::map<size_t, Candidate> by_owner;
  for (const Candidate& c : candidates) {
    const auto [at, is_new] = by_owner.try_emplace(owners[c.storages.front().index()].index(), c);
    if (is_new) continue;
    Candidate& group = at->second;
    group.storages.push_back(c.storages.front());
    group.range.first = std::min(group.range.first, c.range.first);
    group.range.last = std::max(group.range.last, c.range.last);
    group.gain_cycles += c.gain_cycles;
  }
  std::vector<Candidate> groups;
  for (auto& [owner, group] : by_owner) groups.push_back(std::move(group));
  return groups;
}

class Chooser {
 public:
  Chooser(std::vector<Candidate> candidates, int64_t commands)
      : all_(std::move(candidates)), live_(static_cast<size_t>(commands) + 2, 0) {
    for (const Candidate& c : all_) change(c, c.range.bytes);
  }

  // Removes candidates until the rest fits `limit` at every time.
  void fit(int64_t limit) {
    for (auto fullest = std::ranges::max_element(live_); *fullest > limit; fullest = std::ranges::max_element(live_))
      drop(worst_at(fullest - live_.begin(), *fullest - limit));
    bring_back(limit);
  }

  [[nodiscard]] const std::vector<Candidate>& all() const { return all_; }

 private:
  void change(const Candidate& c, int64_t bytes) {
    for (int64_t time = c.range.first; time <= c.range.last; ++time) live_[static_cast<size_t>(time)] += bytes;
  }
  void drop(Candidate& c) {
    c.chosen = false;
    change(c, -c.range.bytes);
  }

  // The candidate with the least gain per excess byte.
  Candidate& worst_at(int64_t time, int64_t too_many) {
    Candidate* worst = nullptr;
    const auto worth = [&](const Candidate& c) {
      return c.gain_cycles / static_cast<double>(std::min(c.range.bytes, too_many));
    };
    for (Candidate& c : all_) {
      if (!c.chosen || c.range.bytes == 0 || time < c.range.first || time > c.range.last) continue;
      if (worst == nullptr || worth(c) < worth(*worst)) worst = &c;
    }
    return *worst;
  }

  void bring_back(int64_t limit) {
    std::vector<Candidate*> dropped;
    for (Candidate& c : all_) {
      if (!c.chosen) dropped.push_back(&c);
    }
    std::ranges::stable_sort(dropped, std::greater<>(), &Candidate::gain_cycles);
    for (Candidate* c : dropped) {
      const auto begin = live_.begin() + c->range.first, end = live_.begin() + c->range.last + 1;
      if (*std::max_element(begin, end) + c->range.bytes > limit) continue;
      c->chosen = true;
      change(*c, c->range.bytes);
    }
  }

  std::vector<Candidate> all_;
  std::vector<int64_t> live_;  // bytes of the chosen storages, by time
};

Schedule with_spaces(Schedule schedule, std::vector<Candidate> candidates, int64_t limit) {
  Chooser chooser(std::move(candidates), static_cast<int64_t>(schedule.order.size()));
  // Allocation adds gaps between storages, also those of results that overwrite operands. So the limit is lowered until
  // the choice can be allocated.
  for (int64_t aim = limit;;) {
    chooser.fit(aim);
    for (const Candidate& c : chooser.all()) {
      for (const StorageId id : c.storages)
        schedule.storages[id.index()].space = c.chosen ? Space::kFastScratch : Space::kArena;
    }
    const int64_t taken = allocated_bytes(schedule, Space::kFastScratch, limit);
    if (taken <= limit) return schedule;
    aim = std::max<int64_t>(0, aim - (taken - limit));
  }
}

}  // namespace

Schedule choose_spaces(Schedule schedule, const Context& context) {
  if (working_space(context.target, context.family) == Space::kArena) return schedule;
  const int64_t limit = working_limit_bytes(context.target, context.family, context.options.arena_budget_bytes);
  const std::vector<Candidate> alone = single(schedule, movable(schedule), gains_of(schedule, context));
  const std::vector<Candidate> groups = joined(schedule, alone);
  Schedule best = with_spaces(schedule, alone, limit);
  if (groups.size() == alone.size()) return best;
  // A result and the operand that it overwrites take the bytes of one, but have to be in the same space.
  const auto cycles = [&](const Schedule& made) { return cost_of(made, context.family, context.target); };
  Schedule other = with_spaces(std::move(schedule), groups, limit);
  return cycles(other) < cycles(best) ? other : best;
}

}  // namespace carina::plan
