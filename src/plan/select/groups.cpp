#include <algorithm>
#include <optional>

#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"
#include "plan/select/estimate_internal.h"

// The maximum of many contiguous elements. A window over single channels uses one lane of the NPU. A window over groups
// of channels uses all lanes and leaves one group. A maximum of two halves uses all lanes too, and leaves one half.
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

// The channels of one group, or nothing where groups save nothing.
std::optional<int64_t> group_of(int64_t channels) {
  const int64_t group = best_group(channels);
  if (steps_of(channels, group) >= channels || channels / group > npu::kMaxPoolHeight) return {};
  return group;
}

// The cycles of ways to reduce `count` rows of elements. An operation takes some cycles whatever its size.
class Reductions {
 public:
  Reductions(const Selection& s, int64_t count, ElementType type) : s_(s), count_(count), type_(type) {}

  // A window over the channels, perhaps after one over groups.
  [[nodiscard]] double by_windows(int64_t channels) const {
    const std::optional<int64_t> group = group_of(channels);
    const int64_t left = group.value_or(channels);
    double cycles =
        window({.height = count_, .width = left, .type = type_}, {.height = count_, .type = type_}, {.width = left});
    if (group) {
      const int64_t groups = channels / *group;
      cycles += window({.height = groups, .width = count_, .depth = *group, .stride_x = channels, .type = type_},
                       map(*group), {.height = groups});
      if (groups * *group != channels) cycles += by_halves(2 * *group);
    }
    return cycles;
  }
  // One maximum of two halves.
  [[nodiscard]] double by_halves(int64_t channels) const {
    FeatureMap half = map((channels + 1) / 2);
    Step step{.kind = StepKind::kElementwise,
              .elementwise = npu::ElementwiseMode::MAX,
              .ofm = half,
              .second = SecondOperand::kFeatureMap,
              .activation = {.min = type_.min(), .max = type_.max()},
              .name = {}};
    half.stride_x = channels;
    step.ifm = step.ifm2 = half;
    return kCyclesOfStart + cycles_of(s_, step);
  }

 private:
  [[nodiscard]] FeatureMap map(int64_t channels) const {
    return {.width = count_, .depth = channels, .stride_x = channels, .type = type_};
  }
  [[nodiscard]] double window(const FeatureMap& ifm, const FeatureMap& ofm, const Kernel& kernel) const {
    return kCyclesOfStart + cycles_of(s_, {.kind = StepKind::kPool,
                                           .pool = npu::PoolingMode::MAX,
                                           .ofm = ofm,
                                           .ifm = ifm,
                                           .kernel = kernel,
                                           .activation = {.min = type_.min(), .max = type_.max()},
                                           .name = {}});
  }

  const Selection& s_;
  int64_t count_;
  ElementType type_;
};

}  // namespace

int64_t channels_after_halving(const Selection& s, int64_t count, int64_t channels, ElementType type) {
  const Reductions reductions(s, count, type);
  double spent = 0, best = channels > 1 ? reductions.by_windows(channels) : 0;
  int64_t left = channels;
  for (int64_t now = channels; now > 1;) {
    spent += reductions.by_halves(now);
    now = (now + 1) / 2;
    const double cycles = spent + (now > 1 ? reductions.by_windows(now) : 0);
    if (cycles < best) {
      best = cycles;
      left = now;
    }
  }
  return left;
}

void emit_halves(Selection& s, const View& dst, const Operand& rows, npu::ElementwiseMode mode) {
  const int64_t channels = rows.view.axes[1].size, half = (channels + 1) / 2;
  const auto part = [&](int64_t first) {
    return Operand{.view = sliced_axis(rows.view, 1, first, half), .type = rows.type};
  };
  // Of an odd number, the element in the middle is in both halves.
  emit_elementwise(s, dst, {.mode = mode, .a = part(0), .b = part(channels - half), .operands = {}},
                   store_only({}, rows.type));
}

Result<Operand> largest_of_groups(Selection& s, const Operand& rows) {
  const int64_t count = rows.view.axes[0].size, channels = rows.view.axes[1].size;
  const std::optional<int64_t> worth = group_of(channels);
  if (!worth || count > npu::kMaxAxis) return rows;
  const int64_t group = *worth, groups = channels / group;
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
