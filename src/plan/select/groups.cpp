#include <algorithm>

#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"

// The maximum of many contiguous elements. A window over single channels uses one lane of the NPU. A window over groups
// of channels uses all lanes and leaves one group.
namespace carina::plan {
namespace {

constexpr int64_t kLanes = 8;

// Rows of a group as rows of a window: axes [1, groups, rows, channels], so that outputs form a row.
View as_window(const View& rows, int64_t first, int64_t groups, int64_t channels) {
  return {.tensor = rows.tensor,
          .offset = rows.offset + first,
          .axes = {{1, 0}, {groups, channels}, rows.axes[0], {channels, 1}}};
}

// Windows that are left: over the groups, and over the channels of one.
int64_t steps_of(int64_t channels, int64_t group) {
  const int64_t after = channels % group == 0 ? 0 : group;
  return (group + kLanes - 1) / kLanes * (channels / group) + group + after;
}

int64_t best_group(int64_t channels) {
  int64_t best = kLanes;
  for (int64_t group = kLanes / 2; group <= 4 * kLanes; ++group) {
    if (channels / group <= npu::kMaxPoolHeight && steps_of(channels, group) < steps_of(channels, best)) best = group;
  }
  return best;
}

}  // namespace

Result<Operand> largest_of_groups(Selection& s, const Operand& rows) {
  const int64_t count = rows.view.axes[0].size, channels = rows.view.axes[1].size;
  const int64_t group = best_group(channels), groups = channels / group;
  if (steps_of(channels, group) >= channels || groups > npu::kMaxPoolHeight || count > npu::kMaxAxis) return rows;
  const Epilogue store = store_only({}, rows.type);
  Operand largest = rows;
  largest.view = s.new_tensor("largest", {count, group}, rows.type);
  Operand ifm = rows;
  ifm.view = as_window(rows.view, 0, groups, group);
  CARINA_CHECKED(emit_window(s,
                             {.kind = StepKind::kPool,
                              .pool = npu::PoolingMode::MAX,
                              .ifm = ifm,
                              .ofm = as_window(largest.view, 0, 1, group),
                              .kernel = {.height = groups},
                              .padding = {}},
                             store));
  if (groups * group == channels) return largest;
  // What is after the last group, with as many of the elements before: the largest may be compared twice.
  Operand after = rows, both = largest;
  after.view = sliced_axis(rows.view, 1, channels - group, group);
  both.view = s.new_tensor("largest", {count, group}, rows.type);
  emit_elementwise(s, both.view, {.mode = npu::ElementwiseMode::MAX, .a = largest, .b = after, .operands = {}}, store);
  return both;
}

}  // namespace carina::plan
