#include "plan/memory/lives.h"

namespace carina::plan {

std::vector<Life> lives_of(const Schedule& schedule) {
  std::vector<Life> lives(schedule.storages.size());
  const auto touch = [&](StorageId id, int64_t time) {
    if (id.valid() && schedule[id].space != Space::kConstants) lives[id.index()].touch(time);
  };
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    const auto time = static_cast<int64_t>(i) + 1;
    const Command& command = schedule.order[i];
    if (command.kind == Command::Kind::kLoadTable) continue;
    if (const WeightSlice* slice = schedule.slice_of(command)) touch(slice->staged, time);
    if (command.kind == Command::Kind::kLoadWeights) continue;
    const Step& step = schedule.step_of(command);
    touch(schedule[step.ofm.tensor].storage, time);
    touch(schedule[step.ifm.tensor].storage, time);
    if (step.reads_second_map()) touch(schedule[step.ifm2.tensor].storage, time);
  }
  for (const TensorId id : schedule.inputs) touch(schedule[id].storage, 0);
  const auto end = static_cast<int64_t>(schedule.order.size()) + 1;
  for (const TensorId id : schedule.outputs) touch(schedule[id].storage, end);
  return lives;
}

std::vector<int64_t> live_bytes(const Schedule& schedule) {
  std::vector<int64_t> change(schedule.order.size() + 3, 0);
  const std::vector<Life> lives = lives_of(schedule);
  for (size_t i = 0; i < lives.size(); ++i) {
    if (!lives[i].used()) continue;
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
