#include "plan/optimize/cascade_search_internal.h"

#include <algorithm>
#include <limits>

#include "base/checked_math.h"
#include "facts/npu_targets.h"
#include "plan/cost/cost.h"
#include "plan/memory/in_place.h"

// Dynamic programming over the steps. best[n] is the fewest extra cycles with which steps 0 to n-1 keep to the limit.
// It is reached from best[n-1], if step n-1 fits as a whole, or from best[first] with a cascade of steps first to n-1.
//
//   Example: a limit of 100 KB, and four steps during which 60, 140, 120 and 50 KB are live. Steps 1 and 2 have to be
//   in cascades. best[1] = 0 (step 0 as a whole). best[3] is the smaller of best[1] + extra(1..2) and best[0] +
//   extra(0..2), for the ranges that take at most 100 KB as cascades. best[4] = best[3], or a cascade that ends with
//   step 3.
//
// Only ranges with a step above the limit are tried. A range is tried with up to ten heights of stripes, of which the
// walk of cascade_rows.cpp simulates the first few and assumes that the rest is alike. Time: steps x kLongestCascade x
// heights walks. fewest_bytes() asks for the smallest peak instead, with the same recursion over bytes; it halves the
// bytes above which steps may be in cascades until the answer does not get smaller. See docs/plan.md, "Cascades", and
// docs/adr/0025.
namespace carina::plan {
namespace {

constexpr int64_t kStripeRows[] = {1, 2, 4, 6, 8, 12, 16, 24, 32, 48};
// Stripes of the last step that are simulated. The others are assumed to be alike.
constexpr int64_t kStripesTried = 6;

bool counts(const PlanTensor& tensor, Space working) {
  if (!tensor.storage.valid() || tensor.kind == TensorKind::kConstant) return false;
  return working == Space::kArena || tensor.kind == TensorKind::kIntermediate;
}

double cycles_of(const Schedule& schedule, const Stripe& stripe, const Context& context) {
  const Step subop = subop_of(schedule, stripe);
  if (subop.kind == StepKind::kDma) return 0;
  return cost_of(subop, stripe.block, context.family, context.target).npu_cycles;
}

// Encoded weights take about one byte each, and scales ten bytes per channel.
int64_t weight_bytes_of(const Step& step, const Material& material) {
  if (!step.weights.valid()) return 0;
  const Weights& weights = material[step.weights];
  constexpr int64_t kScaleBytes = 10;
  return static_cast<int64_t>(weights.values.size()) + kScaleBytes * weights.out_channels;
}

}  // namespace

CascadeSearch::CascadeSearch(const Schedule& schedule, const Material& material, const Context& context)
    : schedule_(schedule),
      context_(context),
      users_(users_of(schedule)),
      tensors_(live_tensors()),
      fast_bytes_per_cycle_(
          speed_of(working_space(context.target, context.family), context.family, context.target).bytes_per_cycle) {
  count_live_bytes();
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    cycles_.push_back(cycles_of(schedule, schedule.stripes[i], context));
    weight_bytes_.push_back(context.target.constants_are_slow() ? weight_bytes_of(schedule.steps[i], material) : 0);
  }
}

std::vector<CascadeSearch::LiveTensor> CascadeSearch::live_tensors() const {
  const Space working = working_space(context_.target, context_.family);
  const size_t end = schedule_.steps.size();
  std::vector<LiveTensor> tensors;
  for (size_t i = 0; i < schedule_.tensors.size(); ++i) {
    const TensorId id(i);
    const PlanTensor& tensor = schedule_.tensors[i];
    if (!counts(tensor, working)) continue;
    LiveTensor live{.id = id, .bytes = round_up<int64_t>(tensor.bytes(), npu::kBaseAlignmentBytes), .first = end};
    for (const auto* steps : {&users_.writers[i], &users_.readers[i]}) {
      if (steps->empty()) continue;
      live.first = std::min(live.first, steps->front().index());
      live.last = std::max(live.last, steps->back().index());
    }
    if (std::ranges::find(schedule_.inputs, id) != schedule_.inputs.end()) live.first = 0;
    if (std::ranges::find(schedule_.outputs, id) != schedule_.outputs.end()) live.last = end;
    if (live.first < end) tensors.push_back(live);
  }
  std::ranges::stable_sort(tensors, {}, &LiveTensor::first);
  return tensors;
}

void CascadeSearch::count_live_bytes() {
  live_.assign(schedule_.steps.size(), 0);
  for (const LiveTensor& t : tensors_) {
    for (size_t i = t.first; i <= std::min(t.last, live_.size() - 1); ++i) live_[i] += t.bytes;
  }
  // A result that overwrites an operand.
  const auto last_use = [&](TensorId id) {
    const auto found = std::ranges::find(tensors_, id, &LiveTensor::id);
    return found == tensors_.end() ? live_.size() : found->last;
  };
  for (size_t i = 0; i < live_.size(); ++i) {
    const Step& step = schedule_.steps[i];
    if (step.kind != StepKind::kElementwise || users_.writers[step.ofm.tensor.index()].size() != 1) continue;
    const auto replaced = [&](const FeatureMap& map) {
      return last_use(map.tensor) == i && stand_alike(schedule_[map.tensor], schedule_[step.ofm.tensor]);
    };
    if (replaced(step.ifm) || (step.reads_second_map() && replaced(step.ifm2)))
      live_[i] -= round_up<int64_t>(schedule_[step.ofm.tensor].bytes(), npu::kBaseAlignmentBytes);
  }
}

int64_t CascadeSearch::whole_bytes() const {
  return live_.empty() ? 0 : std::ranges::max(live_);
}

// The extra cycles of a plan's stripes compared with whole steps. The plan may end early; the remaining rows are
// assumed to be alike.
double CascadeSearch::extra_cycles(const CascadePlan& plan, size_t first, size_t last) const {
  const int64_t unit = context_.target.accelerator.ofm_ublocks[0].block.height;
  std::vector<double> cycles(last - first + 1, 0), rows(last - first + 1, 0);
  for (const CascadeMove& move : plan.moves) {
    const size_t i = move.step.index();
    const double share = static_cast<double>(round_up(move.rows.count(), unit)) /
                         static_cast<double>(round_up(schedule_.steps[i].ofm.height, unit));
    rows[i - first] += static_cast<double>(move.rows.count());
    cycles[i - first] +=
        std::max(cycles_[i] * share, static_cast<double>(weight_bytes_[i]) / fast_bytes_per_cycle_) + kStripeCycles;
  }
  double extra = 0;
  for (size_t i = first; i <= last; ++i) {
    if (rows[i - first] == 0) continue;
    extra += cycles[i - first] * static_cast<double>(schedule_.steps[i].ofm.height) / rows[i - first] - cycles_[i];
  }
  return extra;
}

std::optional<CascadeSearch::Range> CascadeSearch::range(const Cascade& cascade) const {
  const auto plan = begin_cascade(schedule_, users_, cascade, kStripesTried);
  if (!plan) return std::nullopt;
  Range range;
  const size_t first = cascade.first.index(), last = cascade.last.index();
  for (const LiveTensor& t : tensors_) {
    if (t.first <= last && t.last >= first) range.bytes += t.bytes;
  }
  for (const RollingTensor& rolling : plan->rolling) {
    const PlanTensor& tensor = schedule_[rolling.tensor];
    const int64_t kept = tensor.bytes() / tensor.extent.height * rolling.rows;
    range.bytes -=
        round_up<int64_t>(tensor.bytes(), npu::kBaseAlignmentBytes) - round_up<int64_t>(kept, npu::kBaseAlignmentBytes);
  }
  for (size_t i = first; i <= last; ++i) range.bytes += weight_bytes_[i];
  range.extra_cycles = extra_cycles(*plan, first, last);
  return range;
}

// Of the stripes that fit, takes the highest.
std::optional<std::pair<Cascade, CascadeSearch::Range>> CascadeSearch::fastest(size_t first, size_t last,
                                                                               int64_t limit) const {
  std::optional<std::pair<Cascade, Range>> best;
  for (const int64_t rows : kStripeRows) {
    const Cascade cascade{.first = StepId(first), .last = StepId(last), .stripe_rows = rows};
    const auto found = range(cascade);
    if (!found || found->bytes > limit) break;
    if (!best || found->extra_cycles < best->second.extra_cycles) best = {cascade, *found};
  }
  return best;
}

std::optional<CascadeChoice> CascadeSearch::within(int64_t limit) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  struct Best {
    double extra = kNever;
    size_t from = 0;
    std::optional<Cascade> cascade = {};
    int64_t bytes = 0;
  };
  const size_t steps = live_.size();
  std::vector<Best> best(steps + 1);
  best[0].extra = 0;
  for (size_t first = 0; first < steps; ++first) {
    if (best[first].extra == kNever) continue;
    if (live_[first] <= limit && best[first].extra < best[first + 1].extra)
      best[first + 1] = {.extra = best[first].extra, .from = first, .bytes = std::max(best[first].bytes, live_[first])};
    bool needed = live_[first] > limit;
    for (size_t last = first + 1; last < std::min(steps, first + kLongestCascade); ++last) {
      needed = needed || live_[last] > limit;
      if (!is_computed_by_rows(schedule_.steps[last])) break;
      if (!needed) continue;
      const auto found = fastest(first, last, limit);
      if (!found) continue;
      const double extra = best[first].extra + found->second.extra_cycles;
      if (extra < best[last + 1].extra)
        best[last + 1] = {.extra = extra,
                          .from = first,
                          .cascade = found->first,
                          .bytes = std::max(best[first].bytes, found->second.bytes)};
    }
  }
  if (best[steps].extra == kNever) return std::nullopt;
  CascadeChoice choice{.bytes = best[steps].bytes, .extra_cycles = best[steps].extra};
  for (size_t at = steps; at > 0; at = best[at].from) {
    if (best[at].cascade) choice.cascades.push_back(*best[at].cascade);
  }
  std::ranges::reverse(choice.cascades);
  return choice;
}

// The smallest peak in bytes if steps with at most `threshold` live bytes are not in cascades.
int64_t CascadeSearch::fewest_with(int64_t threshold) const {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  const size_t steps = live_.size();
  std::vector<int64_t> best(steps + 1, kNever);
  best[0] = 0;
  for (size_t first = 0; first < steps; ++first) {
    best[first + 1] = std::min(best[first + 1], std::max(best[first], live_[first]));
    bool needed = live_[first] > threshold;
    for (size_t last = first + 1; last < std::min(steps, first + kLongestCascade); ++last) {
      needed = needed || live_[last] > threshold;
      if (!is_computed_by_rows(schedule_.steps[last])) break;
      if (!needed || best[last + 1] <= best[first]) continue;
      const auto found = range({.first = StepId(first), .last = StepId(last), .stripe_rows = kStripeRows[0]});
      if (found) best[last + 1] = std::min(best[last + 1], std::max(best[first], found->bytes));
    }
  }
  return best[steps];
}

int64_t CascadeSearch::fewest_bytes() const {
  int64_t fewest = whole_bytes();
  for (int64_t threshold = fewest / 2;; threshold = fewest / 2) {
    const int64_t found = fewest_with(threshold);
    if (found >= fewest) return fewest;
    fewest = found;
    if (fewest > threshold) return fewest;
  }
}

}  // namespace carina::plan
