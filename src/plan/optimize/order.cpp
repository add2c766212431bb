// What:   loads each lookup table before the stripes that use it, unless the NPU still holds it.
// Before: stripe s4
// After:  load_table s4 slot=0
//         stripe s4 slot=0
// Needs:  an order of stripes; storages of the tables.
// Gives:  stripes that find their table in their slot (rule 5).
// Legal:  tables are constants; a slot is only taken from a table that is loaded again before its next use.
#include <algorithm>

#include "facts/npu_targets.h"
#include "plan/optimize/transformations.h"

namespace carina::plan {
namespace {

// The tables in the lookup memory. The least recently used one is replaced.
class TableCache {
 public:
  explicit TableCache(const TableMemory& memory)
      : overwritten_by_others_(memory.shared_with_accumulators), slots_(static_cast<size_t>(memory.slots)) {}

  // The slot of a table, and whether it has to be loaded.
  struct TableSlot {
    int slot;
    bool load;
  };
  TableSlot slot_of(StorageId table, int slots) {
    ++now_;
    for (int slot = 0; slot < count(); ++slot) {
      if (slots_[static_cast<size_t>(slot)].table == table && slot % slots == 0) {
        touch(slot, slots, table);
        return {slot, false};
      }
    }
    int oldest = 0;
    for (int slot = 0; slot < count(); slot += slots) {
      if (last_use(slot, slots) < last_use(oldest, slots)) oldest = slot;
    }
    touch(oldest, slots, table);
    return {oldest, true};
  }
  // An operation without a table. If no banks are reserved, its accumulators may overwrite the tables.
  void other_operation() {
    if (overwritten_by_others_) slots_.assign(slots_.size(), {});
  }

 private:
  [[nodiscard]] int count() const { return static_cast<int>(slots_.size()); }
  struct Slot {
    StorageId table = {};  // by storage, since equal tables share one
    int64_t used = -1;
  };
  [[nodiscard]] int64_t last_use(int first, int count) const {
    int64_t latest = -1;
    for (int i = first; i < first + count; ++i) latest = std::max(latest, slots_[static_cast<size_t>(i)].used);
    return latest;
  }
  void touch(int first, int count, StorageId table) {
    for (int i = first; i < first + count; ++i)
      slots_[static_cast<size_t>(i)] = {.table = i == first ? table : StorageId(), .used = now_};
  }
  bool overwritten_by_others_;
  int64_t now_ = 0;
  std::vector<Slot> slots_;
};

int slots_of(const PlanTensor& table) {
  return std::max(1, static_cast<int>(table.bytes()) / npu::kLutSlotBytes);
}

}  // namespace

Schedule load_tables(Schedule schedule, const Context& context) {
  TableCache tables(context.family.tables(context.target));
  std::vector<Command> order;
  for (Command command : schedule.order) {
    const Step& step = schedule.step_of(command);
    if (step.uses_table()) {
      const TensorId table = step.activation.table;
      const auto slot = tables.slot_of(schedule[table].storage, slots_of(schedule[table]));
      command.slot = slot.slot;
      if (slot.load) order.push_back({.kind = Command::Kind::kLoadTable, .stripe = command.stripe, .slot = slot.slot});
    } else if (step.kind != StepKind::kDma) {
      tables.other_operation();
    }
    order.push_back(command);
  }
  schedule.order = std::move(order);
  return schedule;
}

}  // namespace carina::plan
