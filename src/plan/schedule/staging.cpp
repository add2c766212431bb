// What:   copies weights that live in slow memory to the arena before they are read, where that makes the network faster.
// Before: stripe s3                    slice w1 stored=m7
// After:  load_weights s3              slice w1 stored=m7 staged=m9
//         ...                          storage m9 space=arena bytes=5120
//         stripe s3
// Needs:  slices, an order of stripes and table loads; storages of their own for all tensors.
// Gives:  slices that are loaded before they are read (rule 5).
// Legal:  the same bytes are read from another place; hazards and placement see the copy as a write.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "plan/memory/lives.h"
#include "plan/schedule/cost.h"
#include "plan/schedule/transformations.h"

namespace carina::plan {
namespace {

// Without a limit of the user's, staging may grow the arena to this; networks that need more for themselves are not
// grown.
constexpr int64_t kUnaskedArenaBytes = 512 * 1024;

int64_t budget_of(int64_t needed, const Context& context) {
  const int64_t limit = working_limit_bytes(context.target, context.family, context.options.arena_limit_bytes);
  return context.options.arena_limit_bytes > 0 ? limit : std::min(limit, std::max(needed, kUnaskedArenaBytes));
}

// Tries where each copy could start, and keeps what makes the network faster.
class Stager {
 public:
  // How many stripes ahead of its first user a copy may start.
  static constexpr size_t kAhead[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

  Stager(const Schedule& schedule, const Context& context)
      : live_(live_bytes(schedule, working_space(context.target, context.family))),
        timeline_(schedule, context.family, context.target) {
    budget_ = budget_of(live_.empty() ? 0 : std::ranges::max(live_), context);
  }

  // Copies that were not tried because the network is too long to try them all.
  size_t run() {
    best_ = timeline_.cycles();
    constexpr size_t kWork = 30'000'000;  // stripes visited: the search is quadratic
    size_t tries = kWork / (live_.size() + 1), untried = 0;
    const size_t copies = timeline_.copies().size();
    for (int round = 0; round < 3; ++round) {
      const double before = best_;
      for (size_t k = 0; k < copies; ++k) {
        if (tries <= std::size(kAhead)) {
          if (round == 0) untried = copies - k;
          return untried;
        }
        improve(k);
        tries -= std::size(kAhead);
      }
      if (best_ >= before) break;
    }
    return untried;
  }
  [[nodiscard]] const std::vector<Timeline::Copy>& copies() const { return timeline_.copies(); }

 private:
  void set(size_t k, std::optional<size_t> from) {
    const Timeline::Copy& copy = timeline_.copies()[k];
    if (copy.from) change_live(*copy.from, copy.last(), -copy.bytes);
    if (from) change_live(*from, copy.last(), copy.bytes);
    timeline_.start_copy(k, from);
  }
  void change_live(size_t from, size_t to, int64_t bytes) {
    for (size_t i = from; i <= to; ++i) live_[i] += bytes;
  }

  [[nodiscard]] bool fits(size_t from, size_t to, int64_t bytes) const {
    for (size_t i = from; i <= to; ++i) {
      if (live_[i] + bytes > budget_) return false;
    }
    return true;
  }

  void improve(size_t k) {
    const Timeline::Copy& copy = timeline_.copies()[k];
    const std::optional<size_t> before = copy.from;
    std::optional<size_t> choice = before;
    set(k, std::nullopt);
    const auto consider = [&](std::optional<size_t> from) {
      if (from) set(k, from);
      const double total = timeline_.cycles();
      if (from) set(k, std::nullopt);
      if (total < best_ || (total == best_ && !from && choice)) {
        best_ = total;
        choice = from;
      }
    };
    consider(std::nullopt);
    for (const size_t ahead : kAhead) {
      if (ahead > copy.first()) break;
      const size_t from = copy.first() - ahead;
      if (!fits(from, copy.last(), copy.bytes)) break;
      consider(from);
    }
    set(k, choice);
  }

  std::vector<int64_t> live_;  // bytes, per stripe in order
  Timeline timeline_;
  int64_t budget_ = 0;
  double best_ = 0;
};

void note_untried(const Log& log, size_t untried) {
  if (untried == 0) return;
  log.note({.where = "weights",
            .what = fmt::format(
                "{} weight streams stay in slow memory: the network has too many operations to try them", untried),
            .severity = Severity::kNote});
}

}  // namespace

Schedule stage_weights(Schedule schedule, const Context& context) {
  const auto& variation = context.options.variation;
  if (!context.target.constants_are_slow() || variation.staging == Variation::Staging::kNever) return schedule;
  Stager stager(schedule, context);
  note_untried(context.log, stager.run());
  std::vector<StripeId> stripes;  // in order
  for (const Command& command : schedule.order) {
    if (command.kind == Command::Kind::kStripe) stripes.push_back(command.stripe);
  }
  std::vector<std::vector<StripeId>> loads(stripes.size());  // by place in the order: first users of what is copied
  for (const Timeline::Copy& copy : stager.copies()) {
    if (!copy.from) continue;
    const StorageId staged =
        schedule.add({.space = working_space(context.target, context.family), .bytes = copy.bytes});
    for (const size_t user : copy.users) schedule.slices[schedule[stripes[user]].slice.index()].staged = staged;
    loads[*copy.from].push_back(stripes[copy.first()]);
  }
  std::vector<Command> order;
  size_t next = 0;
  for (const Command& command : schedule.order) {
    if (command.kind == Command::Kind::kStripe) {
      for (const StripeId user : loads[next++]) {
        const int64_t bytes = schedule[schedule.slices[schedule[user].slice.index()].stored].bytes;
        order.push_back({.kind = Command::Kind::kLoadWeights, .stripe = user, .bytes = bytes});
      }
    }
    order.push_back(command);
  }
  schedule.order = std::move(order);
  return schedule;
}

}  // namespace carina::plan
