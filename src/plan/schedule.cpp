#include "plan/schedule.h"

#include <algorithm>
#include <array>
#include <optional>

namespace carina::plan {
namespace {

constexpr int kSlots = npu::kLutBytes / npu::kLutSlotBytes;

// Which tables the lookup memory holds; the one used longest ago makes room.
class TableCache {
 public:
  explicit TableCache(bool kept_by_others) : kept_by_others_(kept_by_others) {}

  // The slot of a table, and whether it has to be loaded.
  struct Place {
    int slot;
    bool load;
  };
  Place place(TensorId table, int slots) {
    ++now_;
    for (int slot = 0; slot < kSlots; ++slot) {
      if (slots_[static_cast<size_t>(slot)].table == table && slot % slots == 0) {
        touch(slot, slots, table);
        return {slot, false};
      }
    }
    int oldest = 0;
    for (int slot = 0; slot < kSlots; slot += slots) {
      if (last_use(slot, slots) < last_use(oldest, slots)) oldest = slot;
    }
    touch(oldest, slots, table);
    return {oldest, true};
  }
  // An operation without a table: where no banks are reserved, its accumulators may overwrite the tables.
  void other_operation() {
    if (!kept_by_others_) slots_ = {};
  }

 private:
  struct Slot {
    TensorId table = {};
    int64_t used = -1;
  };
  [[nodiscard]] int64_t last_use(int first, int count) const {
    int64_t latest = -1;
    for (int i = first; i < first + count; ++i) latest = std::max(latest, slots_[static_cast<size_t>(i)].used);
    return latest;
  }
  void touch(int first, int count, TensorId table) {
    for (int i = first; i < first + count; ++i)
      slots_[static_cast<size_t>(i)] = {.table = i == first ? table : TensorId(), .used = now_};
  }
  bool kept_by_others_;
  int64_t now_ = 0;
  std::array<Slot, kSlots> slots_{};
};

int slots_of(const PlanTensor& table) {
  return std::max(1, static_cast<int>(table.data.size()) / npu::kLutSlotBytes);
}

}  // namespace

void schedule(Program& program, const Target& target) {
  TableCache tables(target.accelerator.shram.reserved_end_banks > 0);
  const auto& operations = program.network.operations;
  for (size_t i = 0; i < operations.size(); ++i) {
    int slot = 0;
    if (operations[i].uses_table()) {
      const TensorId table = operations[i].activation.table;
      const auto place = tables.place(table, slots_of(program.network[table]));
      slot = place.slot;
      if (place.load) program.commands.push_back({.kind = Command::Kind::kLoadTable, .operation = i, .slot = slot});
    } else if (operations[i].kind != OperationKind::kDma) {
      tables.other_operation();
    }
    for (const size_t user : program.loads[i])
      program.commands.push_back({.kind = Command::Kind::kLoadWeights, .operation = user});
    program.commands.push_back({.kind = Command::Kind::kOperation, .operation = i, .slot = slot});
  }
}

}  // namespace carina::plan
