#include "plan/memory/lives.h"

namespace carina::plan {

std::vector<Life> tensor_lives(const Schedule& schedule) {
  std::vector<Life> lives(schedule.tensors.size());
  const auto touch = [&](TensorId id, int64_t time) {
    if (schedule[id].kind != TensorKind::kConstant) lives[id.index()].touch(time);
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
  return lives;
}

namespace {

// How far each storage has been copied, part behind part.
class Filling {
 public:
  explicit Filling(std::vector<Life>& lives) : lives_(lives), filled_(lives.size(), 0) {}

  void copy(StorageId to, const Command& command, int64_t time) {
    std::vector<Rise>& rises = lives_[to.index()].rises;
    int64_t& filled = filled_[to.index()];
    if (filled != command.first_byte) {  // in another order
      rises.clear();
      filled = kWhole;
      return;
    }
    if (filled > 0) rises.push_back({.from_byte = filled, .first = time});
    filled += command.bytes;
  }
  void read(StorageId id) {
    if (id.valid()) filled_[id.index()] = kWhole;
  }

 private:
  static constexpr int64_t kWhole = -1;
  std::vector<Life>& lives_;
  std::vector<int64_t> filled_;
};

}  // namespace

Interval interval_of(const Life& life, int64_t bytes) {
  return {.bytes = bytes, .first = life.first, .last = life.last, .rises = life.rises};
}

bool collide(const Storage& a, const Life& life_a, const Storage& b, const Life& life_b) {
  if (a.space != b.space || life_a.first > life_b.last || life_b.first > life_a.last) return false;
  const int64_t end_a = a.address + bytes_until(interval_of(life_a, a.bytes), life_b.last),
                end_b = b.address + bytes_until(interval_of(life_b, b.bytes), life_a.last);
  return a.address < end_b && b.address < end_a;
}

std::vector<Life> lives_of(const Schedule& schedule) {
  std::vector<Life> lives(schedule.storages.size());
  const auto touch = [&](StorageId id, const Life& life) {
    if (!id.valid() || !life.used() || schedule[id].space == Space::kConstants) return;
    lives[id.index()].touch(life.first);
    lives[id.index()].touch(life.last);
  };
  const std::vector<Life> tensors = tensor_lives(schedule);
  for (size_t i = 0; i < tensors.size(); ++i) touch(schedule.tensors[i].storage, tensors[i]);
  Filling filling(lives);
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    const Command& command = schedule.order[i];
    if (command.kind == Command::Kind::kLoadTable) continue;
    const auto time = static_cast<int64_t>(i) + 1;
    const Life now{.first = time, .last = time};
    if (command.kind != Command::Kind::kStripe) {
      const StorageId to = copy_of(schedule, command).to;
      touch(to, now);
      if (to.valid()) filling.copy(to, command, time);
    } else if (const WeightSlice* slice = schedule.slice_of(command)) {
      for (const StorageId copy : {slice->staged, slice->staged_scales}) {
        touch(copy, now);
        filling.read(copy);
      }
    }
  }
  return lives;
}

std::vector<int64_t> live_bytes(const Schedule& schedule, Space space) {
  std::vector<int64_t> change(schedule.order.size() + 3, 0);
  const std::vector<Life> lives = lives_of(schedule);
  for (size_t i = 0; i < lives.size(); ++i) {
    if (!lives[i].used() || schedule.storages[i].space != space) continue;
    change[static_cast<size_t>(lives[i].first)] += schedule.storages[i].bytes;
    change[static_cast<size_t>(lives[i].last) + 1] -= schedule.storages[i].bytes;
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
