#include "plan/schedule/prefetch.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace carina::plan {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);
constexpr double kLeastGainCycles = 16;  // for which a command is worth its while

// A copy on its way from its readers back to its start.
struct Demand {
  size_t object = kNone;  // kNone: a fixed copy
  size_t fixed = kNone;
  std::vector<size_t> users = {};  // descending
  int64_t bytes = 0;
  double cycles = 0;
  double left = 0;  // cycles that are not placed yet
  double gain = 0;  // cycles that it saves
  size_t not_before = 0;
  struct Part {
    double cycles;
    size_t window;  // whose time it takes
    size_t before;
    size_t turn;  // parts that are placed earlier run later
  };
  std::vector<Part> parts = {};  // descending
  bool dropped = false;
  [[nodiscard]] size_t first_user() const { return users.back(); }
};

using Bans = std::set<std::pair<size_t, size_t>>;  // (kernel, object) that is read in place

class Sweep {
 public:
  Sweep(const PrefetchProblem& problem, const Bans& bans)
      : p_(problem), bans_(bans), staged_(p_.kernels.size(), 0), stalls_(p_.kernels.size() + 1, 0) {
    for (const PrefetchKernel& kernel : p_.kernels) free_.push_back(std::max<int64_t>(0, kernel.free_bytes));
    kept_.assign(p_.objects.size(), kNone);
    find_previous_users();
  }

  void run() {
    size_t fixed = p_.fixed.size();
    for (size_t k = p_.kernels.size(); k-- > 0;) {
      let_in(k);
      std::vector<size_t> fresh = read(k);
      serve(k);
      for (; fixed > 0 && p_.fixed[fixed - 1].kernel == k; --fixed) fresh.push_back(add_fixed(fixed - 1));
      for (const size_t d : fresh) {
        resident_ += demands_[d].bytes;
        left_ += demands_[d].left;
        queue_.push_back(d);
      }
    }
    while (!queue_.empty()) give_up(queue_.front(), 0);
  }

  [[nodiscard]] double cycles() const {
    double sum = 0;
    for (size_t k = 0; k < staged_.size(); ++k) sum += stalls_[k] + p_.kernels[k].variants[staged_[k]].cycles;
    return sum;
  }
  [[nodiscard]] const Bans& dropped() const { return dropped_; }
  [[nodiscard]] PrefetchPlan take() && {
    PrefetchPlan plan{.cycles = cycles()};
    std::vector<Turn> turns;
    for (auto demand = demands_.rbegin(); demand != demands_.rend(); ++demand) {
      if (demand->dropped) continue;
      if (demand->object == kNone) {
        const Demand::Part& first = demand->parts.back();
        turns.push_back({.turn = first.turn, .command = {.before = first.before, .fixed = demand->fixed}});
        continue;
      }
      add_parts(*demand, plan.copies.size(), turns);
      plan.copies.push_back({.object = demand->object,
                             .users = {demand->users.rbegin(), demand->users.rend()},
                             .ends_beside = demand->parts.front().window});
    }
    std::ranges::sort(turns, [](const Turn& a, const Turn& b) {
      return std::tuple(a.command.before, b.turn) < std::tuple(b.command.before, a.turn);
    });
    for (const Turn& turn : turns) plan.commands.push_back(turn.command);
    plan.staged = std::move(staged_);
    return plan;
  }

 private:
  void find_previous_users() {
    std::vector<size_t> last(p_.objects.size(), kNone);
    previous_.resize(p_.kernels.size());
    for (size_t k = 0; k < p_.kernels.size(); ++k) {
      for (size_t r = 0; r < p_.kernels[k].reads; ++r) {
        size_t& user = last[p_.kernels[k].objects[r]];
        previous_[k][r] = user;
        user = k;
      }
    }
  }

  // Demands that kernel `k` makes, to be met before it starts.
  std::vector<size_t> read(size_t k) {
    std::vector<size_t> fresh;
    int64_t taken = 0;
    for (size_t r = 0; r < p_.kernels[k].reads; ++r) {
      const size_t object = p_.kernels[k].objects[r];
      const double gain = gain_of(k, r);
      size_t d = kept_[object];
      kept_[object] = kNone;
      if (d != kNone) {  // a later kernel's copy is there already
        demands_[d].users.push_back(k);
        demands_[d].gain += std::max(gain, 0.0);
        staged_[k] |= static_cast<uint8_t>(1 << r);
      } else {
        const int64_t bytes = p_.objects[object].bytes;
        if (gain < kLeastGainCycles || bans_.contains({k, object})) continue;
        if (!make_room(k, bytes + taken, p_.worth_of_gain * gain)) continue;
        d = demands_.size();
        demands_.push_back({.object = object,
                            .users = {k},
                            .bytes = bytes,
                            .cycles = p_.objects[object].cycles,
                            .left = p_.objects[object].cycles,
                            .gain = gain,
                            .not_before = p_.late.contains({k, object}) ? std::max<size_t>(k, 1) - 1 : 0});
        staged_[k] |= static_cast<uint8_t>(1 << r);
      }
      if (keep(d, previous_[k][r], k)) continue;
      taken += demands_[d].bytes;
      fresh.push_back(d);
    }
    return fresh;
  }

  [[nodiscard]] double gain_of(size_t k, size_t r) const {
    const auto& variants = p_.kernels[k].variants;
    const PrefetchKernel::Variant &without = variants[staged_[k]], &with = variants[staged_[k] | size_t{1} << r];
    const double shorter = without.cycles - with.cycles;
    // Reading in place may take more of the slow port than a copy, and others wait for it.
    const double freed = without.slow_port_cycles - shorter - with.slow_port_cycles;
    const double copy = p_.objects[p_.kernels[k].objects[r]].cycles;
    return shorter + std::max(0.0, std::min(freed, left_) - copy);
  }

  // Keeps a copy from its reader in front, if its bytes are free all the way: that one starts it then.
  bool keep(size_t d, size_t previous, size_t k) {
    Demand& demand = demands_[d];
    if (previous == kNone || demand.not_before > 0 || bans_.contains({previous, demand.object})) return false;
    const auto& objects = p_.kernels[previous].objects;
    const auto r = static_cast<size_t>(std::ranges::find(objects, demand.object) - objects.begin());
    if (gain_of(previous, r) < kLeastGainCycles) return false;
    for (size_t i = previous; i < k; ++i) {
      if (free_[i] - resident_ < demand.bytes) return false;
    }
    for (size_t i = previous; i < k; ++i) free_[i] -= demand.bytes;
    kept_[demand.object] = d;
    return true;
  }

  size_t add_fixed(size_t fixed) {
    const FixedCopy& copy = p_.fixed[fixed];
    demands_.push_back({.fixed = fixed,
                        .users = {copy.kernel},
                        .cycles = copy.cycles,
                        .left = copy.cycles,
                        .not_before = copy.not_before});
    return demands_.size() - 1;
  }

  // The time of kernel `k` in which transfers may run without slowing it.
  [[nodiscard]] double capacity(size_t k, const Demand& demand) const {
    const PrefetchKernel::Variant& v = p_.kernels[k].variants[staged_[k]];
    if (v.cycles <= 0) return 0;
    const double share = demand.object == kNone ? 1 : p_.objects[demand.object].port_share;
    const double rest = std::max(0.0, 1 - v.slow_port_cycles / v.cycles);
    return v.cycles * std::min(1.0, rest / share);
  }

  // Lets copies run beside kernel `k`, those that are read last at the end of it.
  void serve(size_t k) {
    double used = 0;
    while (!queue_.empty()) {
      Demand& demand = demands_[queue_.front()];
      const double room = capacity(k, demand) - used;
      if (room <= 1) break;
      const double part = std::min(room, demand.left);
      const bool whole_window = part >= room - 1;
      demand.parts.push_back({.cycles = part, .window = k, .before = whole_window ? k : k + 1, .turn = turn_++});
      demand.left -= part;
      left_ -= part;
      used += part;
      if (demand.left > 0) break;
      resident_ -= demand.bytes;
      queue_.pop_front();
    }
  }

  // What has not been copied yet when time goes on to kernel `k`, has to lie there beside it.
  void let_in(size_t k) {
    for (size_t i = 0; i < queue_.size(); ++i) {
      if (demands_[queue_[i]].not_before > k) {
        resident_ -= demands_[queue_[i]].bytes;
        left_ -= demands_[queue_[i]].left;
        wait_for(queue_[i], k + 1);
        queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i--));
      }
    }
    const bool done = make_room(k, 0, std::numeric_limits<double>::infinity());
    CARINA_CHECK(done, "nothing to give up for {} bytes", resident_);
  }

  // Gives up what is under way for so many bytes beside kernel `k`, if that costs less than `worth` cycles.
  bool make_room(size_t k, int64_t bytes, double worth) {
    if (bytes > free_[k]) return false;
    std::vector<size_t> given_up;
    int64_t missing = resident_ + bytes - free_[k];
    const auto loss = [&](size_t d) { return std::min(demands_[d].left, demands_[d].gain); };
    while (missing > 0) {
      size_t least = kNone;
      for (const size_t d : queue_) {
        if (demands_[d].bytes == 0 || std::ranges::find(given_up, d) != given_up.end()) continue;
        // Those that free no more than is missing, by what a byte of theirs costs.
        const auto price = [&](size_t i) {
          return loss(i) / static_cast<double>(std::min(demands_[i].bytes, missing));
        };
        if (least == kNone || price(d) < price(least)) least = d;
      }
      if (least == kNone) return false;
      worth -= loss(least);
      if (worth < 0) return false;
      missing -= demands_[least].bytes;
      given_up.push_back(least);
    }
    for (const size_t d : given_up) give_up(d, k + 1);
    return true;
  }

  // Waits for what is left of a copy at the start of kernel `k`, or reads in place, which is cheaper.
  void give_up(size_t d, size_t k) {
    Demand& demand = demands_[d];
    queue_.erase(std::ranges::find(queue_, d));
    resident_ -= demand.bytes;
    left_ -= demand.left;
    if (demand.object == kNone || demand.left < demand.gain) return wait_for(d, k);
    demand.dropped = true;
    for (const size_t user : demand.users) {
      dropped_.emplace(user, demand.object);
      for (size_t r = 0; r < p_.kernels[user].reads; ++r) {
        if (p_.kernels[user].objects[r] == demand.object) staged_[user] &= static_cast<uint8_t>(~(1u << r));
      }
    }
  }
  void wait_for(size_t d, size_t k) {
    Demand& demand = demands_[d];
    const size_t at = std::min(k, demand.first_user());
    stalls_[at] += demand.left;
    demand.parts.push_back({.cycles = demand.left, .window = at, .before = at, .turn = turn_++});
    demand.left = 0;
  }

  struct Turn {
    size_t turn;
    PrefetchCommand command;
  };
  // The parts of a copy as commands; those that follow each other without a break are one.
  static void add_parts(const Demand& demand, size_t copy, std::vector<Turn>& turns) {
    constexpr int64_t kUnit = 16;
    double done = 0;
    int64_t at = 0;
    const Demand::Part* previous = nullptr;
    for (auto part = demand.parts.rbegin(); part != demand.parts.rend(); previous = &*part++) {
      done += part->cycles;
      const bool last = std::next(part) == demand.parts.rend();
      const auto share = static_cast<int64_t>(static_cast<double>(demand.bytes) * done / demand.cycles);
      const int64_t end = last ? demand.bytes : share / kUnit * kUnit;
      if (end <= at) continue;
      if (at > 0 && previous->window + 1 == part->window && part->before == part->window) {
        turns.back().command.bytes += end - at;
      } else {
        turns.push_back({.turn = part->turn,
                         .command = {.before = part->before, .copy = copy, .first_byte = at, .bytes = end - at}});
      }
      at = end;
    }
  }

  const PrefetchProblem& p_;
  const Bans& bans_;
  std::vector<int64_t> free_;
  std::vector<std::array<size_t, PrefetchKernel::kReads>> previous_;
  std::vector<size_t> kept_;  // by object: the demand that is kept back to its user in front
  std::vector<Demand> demands_;
  std::deque<size_t> queue_;  // demands under way, those that are read last in front
  int64_t resident_ = 0;      // bytes of these
  double left_ = 0;           // cycles of theirs that are not placed yet
  std::vector<uint8_t> staged_;
  std::vector<double> stalls_;  // by kernel: what it waits for copies
  size_t turn_ = 0;
  Bans dropped_;
};

}  // namespace

PrefetchPlan plan_prefetch(const PrefetchProblem& problem) {
  std::optional<PrefetchPlan> best;
  // What was given up on the way took time of others: without it from the start, they may fit.
  constexpr int kRounds = 4;
  Bans bans = problem.banned;
  for (int round = 0; round < kRounds; ++round) {
    Sweep sweep(problem, bans);
    sweep.run();
    const Bans dropped = sweep.dropped();
    if (!best || sweep.cycles() < best->cycles) best = std::move(sweep).take();
    if (dropped.empty()) break;
    bans.insert(dropped.begin(), dropped.end());
  }
  return *std::move(best);
}

}  // namespace carina::plan
