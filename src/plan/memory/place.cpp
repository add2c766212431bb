// What:   lets results take the place of operands that nobody needs afterwards, and gives every storage of the arena and of
//         fast scratch its address.
// Before: storage m0 space=arena bytes=1200              storage m1 space=arena bytes=1200
// After:  storage m0 space=arena bytes=1200 address=0    (the tensor of m1 stands in m0 too)
// Needs:  a whole order: every stripe and transfer.
// Gives:  storages that live at the same time apart from each other (rule 7).
// Legal:  only the result of an elementwise step takes an operand's place, element over element, and only where nothing
//         else touches either tensor while both are in use.
#include "plan/memory/place.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checked_math.h"
#include "base/place.h"
#include "facts/npu_targets.h"
#include "plan/memory/in_place.h"
#include "plan/memory/lives.h"
#include "plan/memory/shortage.h"
#include "plan/schedule/transformations.h"

namespace carina::plan {
namespace {

// By storage: which storage its tensor stands in.
class Sharing {
 public:
  explicit Sharing(const Schedule& schedule) : schedule_(schedule), lives_(lives_of(schedule)), owner_(lives_.size()) {
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
  [[nodiscard]] const std::vector<Life>& lives() const { return lives_; }

 private:
  bool share(TensorId from, TensorId to) {
    const PlanTensor &a = schedule_[from], &b = schedule_[to];
    if (from == to || a.kind == TensorKind::kConstant || b.kind == TensorKind::kConstant) return false;
    const size_t old_place = a.storage.index(), new_place = b.storage.index();
    if (owner_[new_place] != new_place) return false;
    const bool alike = stand_alike(a, b) && schedule_[a.storage].space == schedule_[b.storage].space &&
                       schedule_[a.storage].rolling_rows == 0 && schedule_[b.storage].rolling_rows == 0;
    Life& life_a = lives_[owner_[old_place]];
    Life& life_b = lives_[new_place];
    // Until the last reading of a, nothing but operations that read a where they write b may touch either.
    if (!alike || life_a.last > life_b.last || lives_[old_place].last != life_a.last) return false;
    for (int64_t time = life_b.first; time <= life_a.last; ++time) {
      if (!writes_in_place(schedule_, static_cast<size_t>(time - 1), from, to)) return false;
    }
    life_a.last = life_b.last;
    owner_[new_place] = owner_[old_place];
    return true;
  }

  const Schedule& schedule_;
  std::vector<Life> lives_;
  std::vector<size_t> owner_;
};

// Drops storages that stand in others.
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
  schedule.storages = std::move(kept);
}

struct Arena {
  std::vector<Interval> intervals = {};
  std::vector<StorageId> storages = {};
};

Arena arena_of(const Schedule& schedule, Space space) {
  Arena arena;
  const std::vector<Life> lives = lives_of(schedule);
  for (size_t i = 0; i < lives.size(); ++i) {
    const Storage& storage = schedule.storages[i];
    if (storage.space != space || !lives[i].used()) continue;
    arena.intervals.push_back(interval_of(lives[i], storage.bytes));
    arena.storages.emplace_back(i);
  }
  return arena;
}

Result<void> place_space(Schedule& schedule, Space space, int64_t limit_bytes, const Effort& effort) {
  const Arena arena = arena_of(schedule, space);
  const Placement placement = place(arena.intervals, npu::kBaseAlignmentBytes, Placing::kSearch, effort);
  if (placement.total_bytes > limit_bytes) return fail(shortage(schedule, space, placement.total_bytes, limit_bytes));
  for (size_t i = 0; i < arena.storages.size(); ++i)
    schedule.storages[arena.storages[i].index()].address = placement.offsets[i];
  return {};
}

}  // namespace

int64_t placed_bytes(Schedule schedule, Space space) {
  merge_storages(schedule, Sharing(schedule));
  return place(arena_of(schedule, space).intervals, npu::kBaseAlignmentBytes, Placing::kSearch).total_bytes;
}

int64_t bound_bytes(const Schedule& schedule, Space space) {
  return peak_live_bytes(arena_of(schedule, space).intervals, npu::kBaseAlignmentBytes);
}

namespace {

Result<Schedule> placed_within(Schedule schedule, int64_t working_limit_bytes, const Context& context,
                               const Effort& effort) {
  merge_storages(schedule, Sharing(schedule));
  CARINA_TRY(const Spaces spaces, context.family.spaces(context.target));
  const Space working = working_space(context.target, context.family);
  for (const Space space : {Space::kArena, Space::kFastScratch}) {
    const auto& place = spaces[static_cast<size_t>(space)];
    if (!place) continue;
    const bool works = space == working;
    CARINA_CHECKED(
        place_space(schedule, space, works ? working_limit_bytes : place->limit_bytes, works ? effort : Effort{}));
  }
  return schedule;
}

}  // namespace

Result<Schedule> place_storages(Schedule schedule, const Context& context) {
  return placed_within(std::move(schedule),
                       working_limit_bytes(context.target, context.family, context.options.arena_limit_bytes), context,
                       {});
}

Result<Schedule> place_in_any_size(Schedule schedule, const Context& context, const Effort& effort) {
  return placed_within(std::move(schedule), std::numeric_limits<int64_t>::max(), context, effort);
}

}  // namespace carina::plan
