#include "plan/verify/row_tracker_internal.h"

#include <fmt/format.h>

#include <algorithm>

namespace carina::plan {

RowTracker::RowTracker(const Schedule& schedule) : s_(schedule), users_(users_of(schedule)), slots_(s_.tensors.size()) {
  for (const Step& step : s_.steps) done_.emplace_back(static_cast<size_t>(step.ofm.height), 0);
}

std::string RowTracker::why_not(StepId reader, const FeatureMap& map) const {
  const PlanTensor& tensor = s_[map.tensor];
  const auto& writers = users_.writers[map.tensor.index()];
  const bool given = tensor.kind == TensorKind::kInput || tensor.kind == TensorKind::kConstant ||
                     std::ranges::find(s_.tensors, map.tensor, &PlanTensor::beside) != s_.tensors.end();
  if (!given && (writers.empty() || writers.front() >= reader))
    return fmt::format("t{}, which no step in front writes", map.tensor.index());
  const auto rows = tensor_rows(map, tensor);
  for (const StepId writer : writers) {
    if (writer < reader && !has_written(writer, rows))
      return fmt::format("t{} before s{} has written it", map.tensor.index(), writer.index());
  }
  return holds(map.tensor, rows) ? "" : fmt::format("rows of t{} that are overwritten", map.tensor.index());
}

void RowTracker::write(StepId step, const OfmBox& box, const FeatureMap& map) {
  for (int64_t y = std::max<int64_t>(box.y, 0); y < box.y + box.height; ++y) {
    if (y < static_cast<int64_t>(done_[step.index()].size()))
      done_[step.index()][static_cast<size_t>(y)] += box.width * box.depth;
  }
  const int64_t kept = rolling_rows(map.tensor);
  const auto rows = tensor_rows(map, s_[map.tensor]);
  if (kept == 0 || !rows) return;
  auto& slots = slots_[map.tensor.index()];
  slots.resize(static_cast<size_t>(kept), -1);
  for (int64_t row = rows->begin; row < rows->end; ++row) slots[static_cast<size_t>(row % kept)] = row;
}

int64_t RowTracker::rolling_rows(TensorId id) const {
  const StorageId storage = s_[id].storage;
  return storage.valid() ? s_[storage].rolling_rows : 0;
}

// Whether the rows of its tensor that are asked for (nothing: all) are done as far as the step writes them.
bool RowTracker::has_written(StepId writer, const std::optional<Rows>& asked) const {
  const FeatureMap& ofm = s_[writer].ofm;
  const auto own = tensor_rows(ofm, s_[ofm.tensor]);
  Rows rows{.begin = 0, .end = ofm.height};
  if (asked && own)
    rows = {.begin = std::max<int64_t>(asked->begin - own->begin, 0),
            .end = std::min(asked->end - own->begin, ofm.height)};
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    if (done_[writer.index()][static_cast<size_t>(y)] < ofm.width * ofm.depth) return false;
  }
  return true;
}

bool RowTracker::holds(TensorId id, const std::optional<Rows>& rows) const {
  const int64_t kept = rolling_rows(id);
  if (kept == 0 || !rows) return true;  // rule 8 asks for rows
  const auto& slots = slots_[id.index()];
  if (slots.empty()) return false;
  for (int64_t row = rows->begin; row < rows->end; ++row) {
    if (slots[static_cast<size_t>(row % kept)] != row) return false;
  }
  return true;
}

}  // namespace carina::plan
