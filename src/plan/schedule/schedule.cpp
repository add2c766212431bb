#include "plan/schedule/schedule.h"

#include <algorithm>

#include "base/checked_math.h"
#include "facts/npu_targets.h"

namespace carina::plan {

const WeightSlice* Schedule::slice_of(const Command& command) const {
  const SliceId slice = (*this)[command.stripe].slice;
  return slice.valid() ? &(*this)[slice] : nullptr;
}

StreamRange scales_of(const Schedule& schedule, const WeightSlice& slice, size_t core) {
  const bool own = slice.scales != slice.stored;
  const StorageId staged = own ? slice.staged_scales : slice.staged;
  const Storage& storage = schedule[staged.valid() ? staged : slice.scales];
  const CoreStream& stream = slice.cores[core];
  return {.space = storage.space, .address = storage.address + stream.scale_offset, .bytes = stream.scale_bytes};
}

StreamRange weights_of(const Schedule& schedule, const WeightSlice& slice, size_t core) {
  const Storage& storage = schedule[slice.staged.valid() ? slice.staged : slice.stored];
  const CoreStream& stream = slice.cores[core];
  return {.space = storage.space, .address = storage.address + stream.weight_offset, .bytes = stream.weight_bytes};
}

StorageId table_source(const Schedule& schedule, const Stripe& stripe) {
  if (stripe.staged_table.valid()) return stripe.staged_table;
  return schedule[schedule[stripe.step].activation.table].storage;
}

Copy copy_of(const Schedule& schedule, const Command& command) {
  if (command.kind == Command::Kind::kStageTable) {
    const Stripe& stripe = schedule[command.stripe];
    CARINA_CHECK(schedule[stripe.step].uses_table(), "a copy of a table for a stripe without one");
    return {.from = schedule[schedule[stripe.step].activation.table].storage, .to = stripe.staged_table};
  }
  const WeightSlice* slice = schedule.slice_of(command);
  CARINA_CHECK(slice != nullptr, "a load for a stripe without weights");
  if (command.kind == Command::Kind::kLoadScales) return {.from = slice->scales, .to = slice->staged_scales};
  return {.from = slice->stored, .to = slice->staged};
}

namespace {

std::vector<bool> used_tensors(const Schedule& schedule) {
  std::vector<bool> used(schedule.tensors.size(), false);
  for (const Step& step : schedule.steps) {
    used[step.ofm.tensor.index()] = true;
    used[step.ifm.tensor.index()] = true;
    if (step.reads_second_map()) used[step.ifm2.tensor.index()] = true;
  }
  for (const TensorId id : schedule.inputs) used[id.index()] = true;
  for (const TensorId id : schedule.outputs) used[id.index()] = true;
  return used;
}

}  // namespace

Schedule first_schedule(Network& network) {
  Schedule schedule{.tensors = std::move(network.tensors),
                    .inputs = std::move(network.inputs),
                    .outputs = std::move(network.outputs),
                    .steps = SharedList(std::move(network.steps))};
  const std::vector<bool> used = used_tensors(schedule);
  for (size_t i = 0; i < used.size(); ++i) {
    PlanTensor& tensor = schedule.tensors[i];
    const bool has_own = used[i] && tensor.kind != TensorKind::kConstant && !tensor.beside.valid();
    if (has_own) tensor.storage = schedule.add({});
  }
  for (PlanTensor& tensor : schedule.tensors) {
    if (tensor.beside.valid()) tensor.storage = schedule[tensor.beside].storage;
  }
  fit_storages(schedule);
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const FeatureMap& ofm = schedule.steps[i].ofm;
    schedule.stripes.push_back(
        {.step = StepId(i), .ofm = {.height = ofm.height, .width = ofm.width, .depth = ofm.depth}});
    schedule.order.push_back({.stripe = StripeId(i)});
  }
  return schedule;
}

void fit_storages(Schedule& schedule) {
  const auto bytes_of = [&](const PlanTensor& tensor) -> int64_t& {
    return schedule.storages[tensor.storage.index()].bytes;
  };
  for (const PlanTensor& tensor : schedule.tensors) {
    if (tensor.storage.valid()) bytes_of(tensor) = 0;
  }
  for (const PlanTensor& tensor : schedule.tensors) {
    if (tensor.storage.valid()) bytes_of(tensor) = std::max(bytes_of(tensor), tensor.place_bytes + tensor.bytes());
  }
}

WindowReach reach_of(int64_t start, int64_t size, const WindowAxis& axis) {
  const int64_t first = start * axis.stride - axis.before;
  const int64_t end = first + (size - 1) * axis.stride + axis.extent;
  const int64_t from = std::clamp<int64_t>(first, 0, axis.inputs - 1), to = std::clamp(end, from + 1, axis.inputs);
  return {.first = from, .size = to - from, .before = from - first, .after = std::max<int64_t>(end - to, 0)};
}

namespace {

FeatureMap part_of(FeatureMap map, const OfmBox& box) {
  map.offset += box.y * map.stride_y + box.x * map.stride_x + box.c * map.stride_c;
  map.height = box.height;
  map.width = box.width;
  map.depth = box.depth;
  return map;
}

FeatureMap operand_part_of(const FeatureMap& map, const Broadcast& broadcast, OfmBox box) {
  if (broadcast.height) box.y = 0, box.height = map.height;
  if (broadcast.width) box.x = 0, box.width = map.width;
  if (broadcast.depth) box.c = 0, box.depth = map.depth;
  return part_of(map, box);
}

bool is_whole(const OfmBox& box, const FeatureMap& ofm) {
  return box == OfmBox{.height = ofm.height, .width = ofm.width, .depth = ofm.depth};
}

void take_window(Step& subop, const OfmBox& box) {
  const Kernel& k = subop.kernel;
  const Padding& p = subop.padding;
  const int64_t up = subop.upscale;
  WindowReach y =
      reach_of(box.y, box.height,
               {.stride = k.stride_y, .extent = k.extent_h(), .before = p.top, .inputs = subop.ifm.height * up});
  WindowReach x =
      reach_of(box.x, box.width,
               {.stride = k.stride_x, .extent = k.extent_w(), .before = p.left, .inputs = subop.ifm.width * up});
  for (WindowReach* reach : {&y, &x}) {
    CARINA_CHECK(reach->first % up == 0, "a part of an upscaled map begins at an odd element");
    *reach = {
        .first = reach->first / up, .size = ceil_div(reach->size, up), .before = reach->before, .after = reach->after};
  }
  const bool all_channels = subop.sums_over_depth();
  subop.padding = {.top = y.before, .bottom = y.after, .left = x.before, .right = x.after};
  subop.ifm = part_of(subop.ifm, {.y = y.first,
                                  .x = x.first,
                                  .c = all_channels ? 0 : box.c,
                                  .height = y.size,
                                  .width = x.size,
                                  .depth = all_channels ? subop.ifm.depth : box.depth});
  if (!subop.reads_second_map()) return;
  // A matrix has a pixel per output channel; what sums start with lies as the result does.
  const OfmBox pixels{.x = box.c, .height = subop.ifm2.height, .width = box.depth, .depth = subop.ifm2.depth};
  subop.ifm2 = part_of(subop.ifm2, subop.multiplies_second ? pixels : box);
}

}  // namespace

Step subop_of(const Schedule& schedule, const Stripe& stripe) {
  Step subop = schedule[stripe.step];
  subop.name = {};
  const OfmBox& box = stripe.ofm;
  if (is_whole(box, subop.ofm)) return subop;
  if (subop.kind == StepKind::kElementwise) {
    subop.ifm = operand_part_of(subop.ifm, subop.first_broadcast, box);
    if (subop.reads_second_map()) subop.ifm2 = operand_part_of(subop.ifm2, subop.broadcast, box);
  } else {
    take_window(subop, box);
  }
  subop.ofm = part_of(subop.ofm, box);
  subop.first_channel += box.c;
  return subop;
}

const Step& subop_in(const Schedule& schedule, const Stripe& stripe, std::optional<Step>& part) {
  const Step& step = schedule[stripe.step];
  return is_whole(stripe.ofm, step.ofm) ? step : part.emplace(subop_of(schedule, stripe));
}

int64_t space_bytes(const Schedule& schedule, Space space) {
  int64_t bytes = 0;
  for (const Storage& storage : schedule.storages) {
    if (storage.space == space && storage.address >= 0)
      bytes = std::max(bytes, storage.address + round_up<int64_t>(storage.bytes, npu::kBaseAlignmentBytes));
  }
  return bytes;
}

}  // namespace carina::plan
