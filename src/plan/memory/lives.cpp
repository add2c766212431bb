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

std::vector<Life> lives_of(const Schedule& schedule) {
  std::vector<Life> lives(schedule.storages.size());
  const auto touch = [&](StorageId id, const Life& life) {
    if (!id.valid() || !life.used() || schedule[id].space == Space::kConstants) return;
    lives[id.index()].touch(life.first);
    lives[id.index()].touch(life.last);
  };
  const std::vector<Life> tensors = tensor_lives(schedule);
  for (size_t i = 0; i < tensors.size(); ++i) touch(schedule.tensors[i].storage, tensors[i]);
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    const Command& command = schedule.order[i];
    if (command.kind == Command::Kind::kLoadTable) continue;
    const auto time = static_cast<int64_t>(i) + 1;
    const Life now{.first = time, .last = time};
    if (command.kind != Command::Kind::kStripe) {
      touch(copy_of(schedule, command).to, now);
    } else if (const WeightSlice* slice = schedule.slice_of(command)) {
      touch(slice->staged, now);
      touch(slice->staged_scales, now);
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
