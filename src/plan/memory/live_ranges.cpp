#include "plan/memory/live_ranges.h"

namespace carina::plan {

std::vector<LiveRange> tensor_live_ranges(const Schedule& schedule) {
  std::vector<LiveRange> ranges(schedule.tensors.size());
  const auto touch = [&](TensorId id, int64_t time) {
    if (schedule[id].kind != TensorKind::kConstant) ranges[id.index()].touch(time);
  };
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    if (schedule.order[i].kind != Command::Kind::kStripe) continue;
    const auto time = static_cast<int64_t>(i) + 1;
    const Step& step = schedule.step_of(schedule.order[i]);
    touch(step.ofm.tensor, time);
    touch(step.ifm.tensor, time);
    if (step.reads_second_map()) touch(step.ifm2.tensor, time);
  }
  for (const TensorId id : schedule.inputs) touch(id, 0);
  for (const TensorId id : schedule.outputs) touch(id, static_cast<int64_t>(schedule.order.size()) + 1);
  return ranges;
}

namespace {

// How much of each storage has been copied, part by part.
class Filling {
 public:
  explicit Filling(std::vector<LiveRange>& ranges) : ranges_(ranges), filled_(ranges.size(), 0) {}

  void copy(StorageId to, const Command& command, int64_t time) {
    std::vector<FillStep>& fill_steps = ranges_[to.index()].fill_steps;
    int64_t& filled = filled_[to.index()];
    if (filled != command.first_byte) {  // in another order
      fill_steps.clear();
      filled = kWhole;
      return;
    }
    if (filled > 0) fill_steps.push_back({.from_byte = filled, .first = time});
    filled += command.bytes;
  }
  void read(StorageId id) {
    if (id.valid()) filled_[id.index()] = kWhole;
  }

 private:
  static constexpr int64_t kWhole = -1;
  std::vector<LiveRange>& ranges_;
  std::vector<int64_t> filled_;
};

}  // namespace

MemoryRequest memory_request(const LiveRange& range, int64_t bytes) {
  return {.bytes = bytes, .first = range.first, .last = range.last, .fill_steps = range.fill_steps};
}

bool collide(const Storage& a, const LiveRange& range_a, const Storage& b, const LiveRange& range_b) {
  if (a.space != b.space || range_a.first > range_b.last || range_b.first > range_a.last) return false;
  const int64_t end_a = a.address + bytes_until(memory_request(range_a, a.bytes), range_b.last),
                end_b = b.address + bytes_until(memory_request(range_b, b.bytes), range_a.last);
  return a.address < end_b && b.address < end_a;
}

std::vector<LiveRange> live_ranges(const Schedule& schedule) {
  std::vector<LiveRange> ranges(schedule.storages.size());
  const auto touch = [&](StorageId id, const LiveRange& range) {
    if (!id.valid() || !range.used() || schedule[id].space == Space::kConstants) return;
    ranges[id.index()].touch(range.first);
    ranges[id.index()].touch(range.last);
  };
  const std::vector<LiveRange> tensors = tensor_live_ranges(schedule);
  for (size_t i = 0; i < tensors.size(); ++i) touch(schedule.tensors[i].storage, tensors[i]);
  Filling filling(ranges);
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    const Command& command = schedule.order[i];
    const auto time = static_cast<int64_t>(i) + 1;
    const LiveRange now{.first = time, .last = time};
    if (command.kind == Command::Kind::kLoadTable) {
      filling.read(schedule[command.stripe].staged_table);
    } else if (command.kind != Command::Kind::kStripe) {
      const StorageId to = copy_of(schedule, command).to;
      touch(to, now);
      if (to.valid()) filling.copy(to, command, time);
    } else {
      // Until the stripe, since its load may come at any time before it (order_with_copies).
      touch(schedule[command.stripe].staged_table, now);
      const WeightSlice* slice = schedule.slice_of(command);
      if (slice == nullptr) continue;
      for (const StorageId copy : {slice->staged, slice->staged_scales}) {
        touch(copy, now);
        filling.read(copy);
      }
    }
  }
  return ranges;
}

std::vector<int64_t> live_bytes(const Schedule& schedule, Space space) {
  std::vector<int64_t> change(schedule.order.size() + 3, 0);
  const std::vector<LiveRange> ranges = live_ranges(schedule);
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i].used() || schedule.storages[i].space != space) continue;
    change[static_cast<size_t>(ranges[i].first)] += schedule.storages[i].bytes;
    change[static_cast<size_t>(ranges[i].last) + 1] -= schedule.storages[i].bytes;
  }
  std::vector<int64_t> live;
  int64_t now = change[0];
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    now += change[i + 1];
    if (schedule.order[i].kind == Command::Kind::kStripe) live.push_back(now);
  }
  return live;
}

}  // namespace carina::plan
