// What:   lets results overwrite operands that are not needed afterwards, and gives every storage of the arena and of
//         fast scratch its address.
// Before: storage m0 space=arena bytes=1200              storage m1 space=arena bytes=1200
// After:  storage m0 space=arena bytes=1200 address=0    (the tensor of m1 is in m0 too)
// Needs:  a complete order: every stripe and transfer.
// Gives:  storages that do not overlap while they live at the same time (rule 7).
// Legal:  only the result of an elementwise step overwrites an operand, element by element, and only if no other step
//         touches either tensor while both are live.
#include "plan/memory/allocate.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checked_math.h"
#include "base/memory/memory_planner.h"
#include "facts/npu_targets.h"
#include "plan/family/context.h"
#include "plan/memory/in_place.h"
#include "plan/memory/live_ranges.h"
#include "plan/memory/shortage.h"

namespace carina::plan {
namespace {

// By storage: the storage that its tensor shares.
class Sharing {
 public:
  explicit Sharing(const Schedule& schedule)
      : schedule_(schedule), ranges_(live_ranges(schedule)), owner_(ranges_.size()) {
    std::iota(owner_.begin(), owner_.end(), size_t{0});
    for (const Command& command : schedule.order) {
      if (command.kind != Command::Kind::kStripe) continue;
      const Step& step = schedule.step_of(command);
      if (step.kind != StepKind::kElementwise) continue;
      if (share(step.ifm.tensor, step.ofm.tensor)) continue;
      if (step.reads_second_map()) share(step.ifm2.tensor, step.ofm.tensor);
    }
  }
  [[nodiscard]] size_t owner(size_t storage) const { return owner_[storage]; }
  [[nodiscard]] const std::vector<LiveRange>& ranges() const { return ranges_; }

 private:
  bool share(TensorId from, TensorId to) {
    const PlanTensor &a = schedule_[from], &b = schedule_[to];
    if (from == to || a.kind == TensorKind::kConstant || b.kind == TensorKind::kConstant) return false;
    const size_t old_storage = a.storage.index(), new_storage = b.storage.index();
    if (owner_[new_storage] != new_storage) return false;
    const bool alike = stand_alike(a, b) && schedule_[a.storage].space == schedule_[b.storage].space &&
                       schedule_[a.storage].rolling_rows == 0 && schedule_[b.storage].rolling_rows == 0;
    LiveRange& range_a = ranges_[owner_[old_storage]];
    LiveRange& range_b = ranges_[new_storage];
    // Until the last read of a, only operations that read a where they write b may touch either.
    if (!alike || range_a.last > range_b.last || ranges_[old_storage].last != range_a.last) return false;
    for (int64_t time = range_b.first; time <= range_a.last; ++time) {
      if (!writes_in_place(schedule_, static_cast<size_t>(time - 1), from, to)) return false;
    }
    range_a.last = range_b.last;
    owner_[new_storage] = owner_[old_storage];
    return true;
  }

  const Schedule& schedule_;
  std::vector<LiveRange> ranges_;
  std::vector<size_t> owner_;
};

// Drops storages that share another one.
void merge_storages(Schedule& schedule, const Sharing& sharing) {
  std::vector<Storage> kept;
  std::vector<StorageId> renamed(schedule.storages.size());
  for (size_t i = 0; i < renamed.size(); ++i) {
    if (sharing.owner(i) != i) continue;
    renamed[i] = StorageId(kept.size());
    kept.push_back(schedule.storages[i]);
  }
  const auto rename = [&](StorageId& id) {
    if (id.valid()) id = renamed[sharing.owner(id.index())];
  };
  for (PlanTensor& tensor : schedule.tensors) rename(tensor.storage);
  for (WeightSlice& slice : schedule.slices) {
    for (StorageId* id : {&slice.stored, &slice.scales, &slice.staged, &slice.staged_scales}) rename(*id);
  }
  for (Stripe& stripe : schedule.stripes) rename(stripe.staged_table);
  schedule.storages = std::move(kept);
}

struct Arena {
  std::vector<MemoryRequest> requests = {};
  std::vector<StorageId> storages = {};
};

Arena arena_of(const Schedule& schedule, Space space) {
  Arena arena;
  const std::vector<LiveRange> ranges = live_ranges(schedule);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const Storage& storage = schedule.storages[i];
    if (storage.space != space || !ranges[i].used()) continue;
    arena.requests.push_back(memory_request(ranges[i], storage.bytes));
    arena.storages.emplace_back(i);
  }
  return arena;
}

Result<void> allocate_space(Schedule& schedule, Space space, int64_t limit_bytes, const SearchBudget& budget) {
  const Arena arena = arena_of(schedule, space);
  const MemoryPlan plan = plan_memory(arena.requests, npu::kBaseAlignmentBytes, PlanStrategy::kSearch, budget);
  if (plan.total_bytes > limit_bytes) return fail(shortage(schedule, space, plan.total_bytes, limit_bytes));
  for (size_t i = 0; i < arena.storages.size(); ++i)
    schedule.storages[arena.storages[i].index()].address = plan.offsets[i];
  return {};
}

}  // namespace

std::vector<StorageId> sharing_storages(const Schedule& schedule) {
  const Sharing sharing(schedule);
  std::vector<StorageId> owners;
  for (size_t i = 0; i < schedule.storages.size(); ++i) owners.emplace_back(sharing.owner(i));
  return owners;
}

int64_t allocated_bytes(Schedule schedule, Space space, int64_t enough_bytes) {
  merge_storages(schedule, Sharing(schedule));
  return plan_memory(arena_of(schedule, space).requests, npu::kBaseAlignmentBytes, PlanStrategy::kSearch,
                     {.enough_bytes = enough_bytes})
      .total_bytes;
}

int64_t lower_bound_bytes(const Schedule& schedule, Space space) {
  return peak_live_bytes(arena_of(schedule, space).requests, npu::kBaseAlignmentBytes);
}

namespace {

Result<Schedule> allocated_within(Schedule schedule, int64_t working_limit_bytes, const Context& context,
                                  const SearchBudget& budget) {
  merge_storages(schedule, Sharing(schedule));
  CARINA_TRY(const Spaces spaces, context.family.spaces(context.target));
  const Space working = working_space(context.target, context.family);
  for (const Space space : {Space::kArena, Space::kFastScratch}) {
    const auto& found = spaces[static_cast<size_t>(space)];
    if (!found) continue;
    const bool works = space == working;
    CARINA_CHECKED(allocate_space(schedule, space, works ? working_limit_bytes : found->limit_bytes,
                                  works ? budget : SearchBudget{}));
  }
  return schedule;
}

}  // namespace

Result<Schedule> allocate_storages(Schedule schedule, const Context& context) {
  return allocated_within(std::move(schedule),
                          working_limit_bytes(context.target, context.family, context.options.arena_budget_bytes),
                          context, {});
}

Result<Schedule> allocate_without_limit(Schedule schedule, const Context& context, const SearchBudget& budget) {
  return allocated_within(std::move(schedule), std::numeric_limits<int64_t>::max(), context, budget);
}

}  // namespace carina::plan
