#include "plan/emit/value_notes.h"

#include <algorithm>
#include <optional>

namespace carina::plan {
namespace {

// Elements [begin, end) of a tensor.
struct ElementRange {
  int64_t begin = 0;
  int64_t end = 0;
  [[nodiscard]] bool overlaps(const ElementRange& other) const { return begin < other.end && other.begin < end; }
};

void extend(ElementRange& range, int64_t size, int64_t stride) {
  (stride < 0 ? range.begin : range.end) += (size - 1) * stride;
}

ElementRange range_of(const View& view) {
  ElementRange range{.begin = view.offset, .end = view.offset + 1};
  for (const Axis& axis : view.axes) extend(range, axis.size, axis.stride);
  return range;
}

// What a step writes, and the last of its commands.
struct Write {
  ElementRange range;
  size_t command = 0;
};

ElementRange written_by(const Schedule& schedule, const Step& step) {
  const FeatureMap& map = step.ofm;
  if (step.kind == StepKind::kDma)  // bytes, whose shape a transfer does not know
    return {.begin = 0, .end = std::max<int64_t>(1, schedule[map.tensor].shape.elements())};
  ElementRange range{.begin = map.offset, .end = map.offset + 1};
  extend(range, map.height, map.stride_y);
  extend(range, map.width, map.stride_x);
  extend(range, map.depth, map.stride_c);
  return range;
}

std::vector<std::vector<Write>> writes_by_tensor(const Schedule& schedule) {
  std::vector<std::optional<size_t>> last(schedule.steps.size());
  for (size_t c = 0; c < schedule.order.size(); ++c) {
    const Command& command = schedule.order[c];
    if (command.kind == Command::Kind::kStripe) last[schedule[command.stripe].step.index()] = c;
  }
  std::vector<std::vector<Write>> writes(schedule.tensors.size());
  for (size_t s = 0; s < last.size(); ++s) {
    const Step& step = schedule.steps[s];
    if (last[s]) writes[step.ofm.tensor.index()].push_back({.range = written_by(schedule, step), .command = *last[s]});
  }
  return writes;
}

std::optional<size_t> last_write(const std::vector<Write>& writes, const ElementRange& range) {
  std::optional<size_t> last;
  for (const Write& write : writes) {
    if (write.range.overlaps(range) && (!last || *last < write.command)) last = write.command;
  }
  return last;
}

}  // namespace

std::vector<npu::ValueNote> value_notes(const Schedule& schedule, const Material& material, const Spaces& spaces) {
  const std::vector<std::vector<Write>> writes = writes_by_tensor(schedule);
  std::vector<npu::ValueNote> notes;
  for (size_t v = 0; v < material.values.size(); ++v) {
    if (!material.values[v]) continue;
    const View& view = *material.values[v];
    const PlanTensor& tensor = schedule[view.tensor];
    const bool is_kept = tensor.storage.valid() && schedule[tensor.storage].rolling_rows == 0 &&
                         schedule.space_of(view.tensor) != Space::kChaining;
    if (!is_kept) continue;
    const auto& location = spaces[static_cast<size_t>(schedule.space_of(view.tensor))];
    const auto layer = last_write(writes[view.tensor.index()], range_of(view));
    if (!location || !layer) continue;
    npu::ValueNote note{.value = v,
                        .layer = *layer,
                        .region = location->region,
                        .address = schedule.address_of(view.tensor),
                        .element_bytes = tensor.element_bytes,
                        .offset = view.offset};
    for (const Axis& axis : view.axes) note.axes.push_back({.size = axis.size, .stride = axis.stride});
    if (tensor.format == Format::kNhcwb16) {
      note.brick_width = tensor.extent.width;
      note.brick_depth = tensor.extent.depth;
    }
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace carina::plan
