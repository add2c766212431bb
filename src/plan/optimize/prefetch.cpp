#include "plan/optimize/prefetch_internal.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "plan/optimize/prefetch_sweep_internal.h"

namespace carina::plan {
namespace {

constexpr double kMinGainCycles = 16;  // the least gain that justifies a command
constexpr double kRounding = 1;        // of sums in another order, in cycles
constexpr size_t kGoingOn = 8;         // a continued search may do this fraction of the work

// The initial choice: copy everything that is faster from a copy, or nothing.
enum class Start : uint8_t { kAll, kNothing };

// Searches which reads use copies and which copies are kept between readers. It changes one decision at a time while
// that reduces the total cycles. The sweep tells which copies cause stalls.
class CopySearch {
 public:
  CopySearch(const PrefetchProblem& problem, const PreviousReaders& previous, Keeping keeping, Start start)
      : CopySearch(problem, previous, keeping, problem.max_work) {
    // A fixed copy runs beside kernels, so a copy for it brings nothing until the sweep has found a stall.
    constexpr auto kOfKernels = static_cast<uint8_t>(~(copy_bit(kFixedRead) | keep_bit(kFixedRead)));
    for (uint8_t& bits : choice_) bits = start == Start::kNothing ? 0 : bits & kOfKernels;
    begin();
  }
  // Continues from an earlier result, with a part of the work.
  CopySearch(const PrefetchProblem& problem, const PreviousReaders& previous, const PrefetchFinding& earlier)
      : CopySearch(problem, previous, earlier.keeping, problem.max_work / kGoingOn) {
    for (size_t k = 0; k < choice_.size(); ++k) choice_[k] = static_cast<uint8_t>(choice_[k] & earlier.choice[k]);
    begin();
  }
  void run() {
    for (bool better = true; better && !done();) {
      better = false;
      const std::vector<size_t> objects = waited_for();
      for (const size_t object : objects)
        better = (is_shared(object) ? try_all(object) : try_one(readers_[object].front())) || better;
      if (better) continue;
      for (const size_t object : objects) {
        if (!is_shared(object)) continue;
        for (const KernelRead& read : readers_[object]) better = try_one(read) || better;
      }
    }
  }
  [[nodiscard]] double cycles() const { return cycles_; }
  // Whether no kernel waits for a copy, or reads in place what is faster from a copy.
  [[nodiscard]] bool is_perfect() const { return cycles_ <= least_cycles_; }
  [[nodiscard]] PrefetchFinding finding() const {
    return {.choice = choice_, .keeping = keeping_, .ended_early = max_work_ > 0 && done()};
  }
  // The best sweep found.
  [[nodiscard]] const Sweep& best() {
    sweep();
    return sweep_;
  }

 private:
  using KernelRead = std::pair<size_t, size_t>;  // kernel, read
  // By kernel and read: the next kernel that reads the same object; the kernel itself if there is none.
  using NextReaders = PreviousReaders;

  // The object of a read.
  [[nodiscard]] size_t object_of(size_t k, size_t r) const {
    return r == kFixedRead ? *problem_.fixed[fixed_of_[k]].object : problem_.kernels[k].objects[r];
  }
  // By kernel: its fixed copy that reads an object, or nobody.
  [[nodiscard]] static std::vector<size_t> fixed_reads(const PrefetchProblem& problem) {
    std::vector<size_t> fixed(problem.kernels.size(), kNoIndex);
    for (size_t i = 0; i < problem.fixed.size(); ++i) {
      if (problem.fixed[i].object) fixed[problem.fixed[i].kernel] = i;
    }
    return fixed;
  }
  [[nodiscard]] NextReaders next_readers(const PreviousReaders& previous) const {
    NextReaders next(previous.size());
    for (size_t k = 0; k < next.size(); ++k) next[k].fill(k);
    for (size_t k = 0; k < next.size(); ++k) {
      for (size_t r = 0; r < kAllReads; ++r) {
        if (previous[k][r] != kNoIndex)
          next[previous[k][r]][read_of(problem_.kernels[previous[k][r]], object_of(k, r))] = k;
      }
    }
    return next;
  }

  // Copies everything that is faster from a copy.
  CopySearch(const PrefetchProblem& problem, const PreviousReaders& previous, Keeping keeping, size_t max_work)
      : problem_(problem),
        sweep_(problem, previous, keeping),
        keeping_(keeping),
        max_work_(max_work),
        choice_(problem.kernels.size(), 0),
        fixed_of_(fixed_reads(problem)),
        readers_(problem.objects.size()),
        next_(next_readers(previous)) {
    for (size_t k = 0; k < choice_.size(); ++k) {
      for (size_t r = 0; r < problem_.kernels[k].reads; ++r) allow(k, r);
      if (fixed_of_[k] != kNoIndex) allow(k, kFixedRead);
    }
  }

  void allow(size_t k, size_t r) {
    const size_t object = object_of(k, r);
    if (problem_.banned.contains({k, object}) || gain(k, r) < kMinGainCycles) return;
    readers_[object].emplace_back(k, r);
    choice_[k] = static_cast<uint8_t>(choice_[k] | keep_bit(r) | copy_bit(r));
  }

  void begin() {
    constexpr uint8_t kAny = (1 << PrefetchKernel::kReads) - 1;
    for (size_t k = 0; k < choice_.size(); ++k) {
      least_cycles_ += least_cycles(k, kAny);
      least_of_choice_ += least_cycles(k, choice_[k]);
    }
    work_ += choice_.size();
    sweep();
  }
  // Runs the pass with the choice, unless the last one was that.
  void sweep() {
    if (std::exchange(is_swept_, true)) return;
    sweep_.run(choice_);
    cycles_ = sweep_.cycles();
  }
  // The least cycles of kernel `k` with a choice, whatever fits in memory.
  [[nodiscard]] double least_cycles(size_t k, uint8_t choice) const {
    const auto& variants = problem_.kernels[k].variants;
    double least = variants.front().cycles;
    for (size_t mask = 1; mask < size_t{1} << problem_.kernels[k].reads; ++mask) {
      if ((mask & ~size_t{choice}) == 0) least = std::min(least, variants[mask].cycles);
    }
    return least;
  }
  // The kernels whose copies depend on `reads`: of a copy that is kept, also its later reader.
  [[nodiscard]] Sweep::Changed changed_by(std::span<const KernelRead> reads) const {
    Sweep::Changed changed{.first = reads.front().first, .last = 0};
    for (const auto& [k, r] : reads) {
      changed.first = std::min(changed.first, k);
      changed.last = std::max(changed.last, next_[k][r]);
    }
    return changed;
  }
  [[nodiscard]] bool is_shared(size_t object) const { return readers_[object].size() > 1; }
  [[nodiscard]] bool done() const { return work_ >= max_work_; }
  // The gain of a copy: a shorter kernel, or a port that is free for others.
  [[nodiscard]] double gain(size_t k, size_t r) const {
    if (r == kFixedRead) return problem_.fixed[fixed_of_[k]].cycles - problem_.fixed[fixed_of_[k]].cycles_from_copy;
    const auto& variants = problem_.kernels[k].variants;
    const size_t copied = choice_[k] & (copy_bit(PrefetchKernel::kReads) - 1);
    const PrefetchKernel::Variant &without = variants[copied & ~size_t{copy_bit(r)}],
                                  &with = variants[copied | copy_bit(r)];
    const double freed =
        without.slow_port_cycles - with.slow_port_cycles - problem_.objects[problem_.kernels[k].objects[r]].cycles;
    return std::max(without.cycles - with.cycles, freed);
  }

  // Keeps the `change` of the choice if the total becomes faster; otherwise reverts it.
  template <typename Change>
  bool is_better(std::span<const KernelRead> reads, const Change& change) {
    if (done()) return false;
    before_.clear();
    double least = least_of_choice_;
    for (const auto& [k, r] : reads) {
      before_.push_back(choice_[k]);
      choice_[k] = static_cast<uint8_t>(change(choice_[k], r));
      least += least_cycles(k, choice_[k]) - least_cycles(k, before_.back());
    }
    work_ += choice_.size();
    const bool may_gain = least + kMinGainCycles <= cycles_ + kRounding;
    if (may_gain) {
      is_swept_ = false;
      const Sweep::Changed changed = changed_by(reads);
      if (sweep_.cycles_with(choice_, changed, cycles_ - kMinGainCycles) + kMinGainCycles <= cycles_) {
        least_of_choice_ = least;
        cycles_ = sweep_.take(choice_, changed);
        return true;
      }
    }
    for (size_t i = reads.size(); i-- > 0;) choice_[reads[i].first] = before_[i];
    return false;
  }
  bool try_all(size_t object) {
    const std::vector<KernelRead>& all = readers_[object];
    const bool shared = is_better(all, [](uint8_t choice, size_t r) { return choice | copy_bit(r) | keep_bit(r); });
    const bool apart = is_better(all, [](uint8_t choice, size_t r) { return choice & ~keep_bit(r); });
    const bool in_place = is_better(all, [](uint8_t choice, size_t r) { return choice & ~copy_bit(r); });
    return shared || apart || in_place;
  }
  bool try_one(const KernelRead& read) {
    const std::span one(&read, 1);
    const bool copied = is_better(one, [](uint8_t choice, size_t r) { return choice ^ copy_bit(r); });
    if (!is_shared(object_of(read.first, read.second))) return copied;
    return is_better(one, [](uint8_t choice, size_t r) { return choice ^ keep_bit(r); }) || copied;
  }

  // Candidates for a change: first the objects of copies during stalls, and objects with several readers whose copies
  // delay others, ordered by cost relative to gain; then the objects that are read in place, those of fixed copies only
  // if a kernel waits for them.
  std::vector<size_t> waited_for() {
    sweep();
    std::vector<double> gains(readers_.size(), 0), costs(readers_.size(), 0);
    std::vector<bool> concerned(readers_.size(), false);
    for (const auto& [k, d] : sweep_.readers()) {
      const Demand& demand = sweep_.demands()[d];
      if (demand.waited_for) concerned[demand.object] = true;
      gains[demand.object] += gain(k, read_of(problem_.kernels[k], demand.object));
    }
    for (const Demand& demand : sweep_.demands()) {
      if (demand.object != kNoIndex) costs[demand.object] += demand.cycles;
      if (demand.fixed == kNoIndex || !demand.waited_for) continue;
      if (const auto& object = problem_.fixed[demand.fixed].object) concerned[*object] = true;
    }
    std::vector<size_t> objects;
    for (size_t i = readers_.size(); i-- > 0;) {
      if (readers_[i].empty()) continue;
      const bool is_idle = costs[i] == 0 && readers_[i].front().second == kFixedRead;
      if (concerned[i] || (!is_idle && (is_shared(i) || costs[i] == 0))) objects.push_back(i);
    }
    const auto price = [&](size_t i) {
      return costs[i] == 0 ? std::numeric_limits<double>::max() : gains[i] / costs[i];
    };
    std::ranges::stable_sort(objects, {}, price);
    return objects;
  }

  const PrefetchProblem& problem_;
  Sweep sweep_;
  Keeping keeping_;
  size_t max_work_;
  Choice choice_;
  std::vector<size_t> fixed_of_;                  // by kernel
  std::vector<std::vector<KernelRead>> readers_;  // by object: the readers that gain from a copy
  NextReaders next_;
  std::vector<uint8_t> before_;  // the choice of the reads that a try changes
  bool is_swept_ = false;        // whether the last pass was a run with `choice_`
  double cycles_ = 0;
  double least_cycles_ = 0;     // of all kernels with any choice, if none waits
  double least_of_choice_ = 0;  // with `choice_`
  size_t work_ = 0;
};

// Converts a sweep to a plan, in command order.
class Planner {
 public:
  Planner(const PrefetchProblem& problem, const Sweep& sweep)
      : problem_(problem),
        sweep_(sweep),
        copies_(sweep.demands().size(), kNoIndex),
        live_(problem.kernels.size() + 1, 0) {}

  PrefetchPlan plan() && {
    plan_.cycles = sweep_.cycles();
    plan_.staged = sweep_.staged();
    for (size_t d = copies_.size(); d-- > 0;) {
      const Demand& demand = sweep_.demands()[d];
      if (demand.object == kNoIndex) continue;
      copies_[d] = plan_.copies.size();
      plan_.copies.push_back({.object = demand.object});
    }
    for (auto reader = sweep_.readers().rbegin(); reader != sweep_.readers().rend(); ++reader)
      plan_.copies[copies_[reader->second]].users.push_back(reader->first);
    allocated_cycles_.assign(copies_.size(), 0);
    done_bytes_.assign(copies_.size(), 0);
    for (auto part = sweep_.parts().rbegin(); part != sweep_.parts().rend(); ++part) add(*part);
    join_short();
    return std::move(plan_);
  }

 private:
  void add(const CopyPart& part) {
    const Demand& demand = sweep_.demands()[part.demand];
    PrefetchCommand command{.during = part.window, .user = demand.first_user};
    double& cycles = allocated_cycles_[part.demand];
    const bool first = cycles == 0;
    cycles += part.cycles;
    if (demand.object == kNoIndex) {
      command.fixed = demand.fixed;
      if (first) plan_.commands.push_back(command);
      return;
    }
    int64_t& done = done_bytes_[part.demand];
    const bool last = cycles >= demand.cycles - 0.5;
    const auto share = static_cast<int64_t>(static_cast<double>(demand.bytes) * cycles / demand.cycles);
    command.copy = copies_[part.demand];
    command.first_byte = done;
    done = last ? demand.bytes : share / kPartUnitBytes * kPartUnitBytes;
    command.bytes = done - command.first_byte;
    PrefetchCopy& copy = plan_.copies[*command.copy];
    if (last) copy.last_kernel = part.window;
    if (command.bytes <= 0) return;
    plan_.commands.push_back(command);
    for (size_t k = part.window; k <= copy.users.back(); ++k) live_[k] += command.bytes;
  }

  // Joins short parts. One command per kernel beside which a copy runs takes the least memory, but a short command is
  // mostly overhead. It is joined with the earlier command if memory allows it; otherwise, if the earlier command is
  // shorter than its overhead, that command is delayed and joined with the later one.
  void join_short() {
    std::vector<PrefetchCommand> joined;
    for (const PrefetchCommand& command : plan_.commands) {
      PrefetchCommand* last = joined.empty() ? nullptr : &joined.back();
      if (last == nullptr || !command.copy || last->copy != command.copy) {
        joined.push_back(command);
      } else if (std::min(cycles_of(command), cycles_of(*last)) < kShort * problem_.command_cycles &&
                 fits(command.bytes, last->during, command.during)) {
        for (size_t k = last->during; k < command.during; ++k) live_[k] += command.bytes;
        last->bytes += command.bytes;
      } else if (cycles_of(*last) < problem_.command_cycles) {
        for (size_t k = last->during; k < command.during; ++k) live_[k] -= last->bytes;
        last->during = command.during;
        last->bytes += command.bytes;
      } else {
        joined.push_back(command);
      }
    }
    plan_.commands = std::move(joined);
  }
  [[nodiscard]] double cycles_of(const PrefetchCommand& command) const {
    const PrefetchObject& object = problem_.objects[plan_.copies[*command.copy].object];
    return object.cycles * static_cast<double>(command.bytes) / static_cast<double>(object.bytes);
  }
  [[nodiscard]] bool fits(int64_t bytes, size_t first, size_t end) const {
    for (size_t k = first; k < end; ++k) {
      if (live_[k] + bytes > problem_.kernels[k].free_bytes) return false;
    }
    return true;
  }

  static constexpr double kShort = 8;
  const PrefetchProblem& problem_;
  const Sweep& sweep_;
  std::vector<size_t> copies_;  // by demand
  std::vector<double> allocated_cycles_;
  std::vector<int64_t> done_bytes_;
  std::vector<int64_t> live_;  // by kernel: of all copies
  PrefetchPlan plan_;
};

PrefetchPlan plan_of(const PrefetchProblem& problem, CopySearch& search) {
  PrefetchPlan plan = Planner(problem, search.best()).plan();
  plan.finding = search.finding();
  return plan;
}

}  // namespace

PrefetchPlan plan_prefetch(const PrefetchProblem& problem) {
  const PreviousReaders previous = previous_readers(problem);
  std::vector<CopySearch> searches;
  searches.reserve(3);
  searches.emplace_back(problem, previous, Keeping::kBold, Start::kAll);
  const bool kept = std::ranges::any_of(previous, [](const auto& readers) {
    return std::ranges::any_of(readers, [](size_t k) { return k != kNoIndex; });
  });
  if (kept) searches.emplace_back(problem, previous, Keeping::kCautious, Start::kAll);
  // A cautious search that begins with the cycles of the bold one keeps the same copies, so it mostly ends there, too.
  if (kept && searches[1].cycles() == searches[0].cycles()) searches.pop_back();
  searches.front().run();
  if (kept && !searches.front().is_perfect()) {
    if (searches.size() > 1) searches.back().run();
    searches.emplace_back(problem, previous, Keeping::kBold, Start::kNothing).run();
  }
  return plan_of(problem, *std::ranges::min_element(searches, {}, &CopySearch::cycles));
}

PrefetchPlan plan_prefetch(const PrefetchProblem& problem, const PrefetchFinding& earlier) {
  const PreviousReaders previous = previous_readers(problem);
  CopySearch search(problem, previous, earlier);
  search.run();
  return plan_of(problem, search);
}

}  // namespace carina::plan
