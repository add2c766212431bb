#include "plan/optimize/prefetch_sweep_internal.h"

#include <algorithm>
#include <limits>
#include <span>

// Backward list scheduling of copies. The pass visits the kernels from the last to the first. A read that the choice
// copies becomes a demand when its kernel is visited. Each kernel before it then copies as much of the demand as fits
// in its time, at the share of the slow port that the kernel leaves free. Bytes that are not copied yet take no memory,
// so a demand takes memory from the kernel on that copies it. What is left when memory is full, or at the first kernel,
// is a stall.
//
//   Example: kernels A (200 cycles), B (600) and C (400). C reads weights whose copy takes 900 cycles, and the port is
//   free. The pass visits C, which adds the demand, then B, which copies 600 cycles of it, then A, which copies 200.
//   The remaining 100 cycles are a stall before A. The network takes 200 + 600 + 400 + 100 cycles.
//
// A copy may also be kept for an earlier kernel that reads the same bytes: it is then copied before that one. A fixed
// copy (a table that is loaded) may read such a copy too. Its demand stands after the fixed copy's in the queue, and
// parts are scheduled from the last to the first, so it is complete before the fixed copy starts. Time: one
// visit per kernel and one step per part of a copy. The search (prefetch.cpp) runs the pass for thousands of choices
// that differ in one kernel, so cycles_with() and take() begin at that kernel, with the copies that are pending then,
// and end where no copy is.
// Tried before: copies whose memory is taken from their first byte on, which dropped copies that fit (docs/adr/0035).
namespace carina::plan {

PreviousReaders previous_readers(const PrefetchProblem& problem) {
  std::vector<size_t> last(problem.objects.size(), kNoIndex);
  PreviousReaders previous(problem.kernels.size(), {kNoIndex, kNoIndex, kNoIndex});
  for (size_t k = 0; k < problem.kernels.size(); ++k) {
    for (size_t r = 0; r < problem.kernels[k].reads; ++r)
      previous[k][r] = std::exchange(last[problem.kernels[k].objects[r]], k);
  }
  for (const FixedCopy& fixed : problem.fixed) {
    if (fixed.object) previous[fixed.kernel][kFixedRead] = std::exchange(last[*fixed.object], fixed.kernel);
  }
  return previous;
}

size_t read_of(const PrefetchKernel& kernel, size_t object) {
  for (size_t r = 0; r < kernel.reads; ++r) {
    if (kernel.objects[r] == object) return r;
  }
  return kFixedRead;
}

Sweep::Sweep(const PrefetchProblem& problem, const PreviousReaders& previous, Keeping keeping)
    : problem_(problem),
      previous_(previous),
      keeping_(keeping),
      stalls_(problem.kernels.size() + 1),
      before_(problem.kernels.size() + 1) {
  double sum = 0;
  for (const PrefetchKernel& kernel : problem.kernels) {
    min_cycles_before_.push_back(sum);
    const auto variants = std::span(kernel.variants).first(size_t{1} << kernel.reads);
    sum += std::ranges::min(variants, {}, &PrefetchKernel::Variant::cycles).cycles;
    all_free_.push_back(std::max<int64_t>(0, kernel.free_bytes));
    auto& rest = port_rest_.emplace_back();
    for (size_t i = 0; i < rest.size(); ++i) {
      const PrefetchKernel::Variant& v = kernel.variants[i];
      rest[i] = v.cycles <= 0 ? 0 : std::max(0.0, 1 - v.slow_port_cycles / v.cycles);
    }
  }
}

void Sweep::run(const Choice& choice) {
  start(choice);
  for (size_t k = problem_.kernels.size(); k-- > 0;) {
    remember(k + 1);
    visit(k);
  }
  remember(0);
  while (front_ < queue_.size()) wait_for_bytes(std::numeric_limits<int64_t>::max(), 0);
  spent_by_run_ = spent_;
  copies_of_run_ = copies_before_.size();
  forget_kept(0, problem_.kernels.size());
}

void Sweep::forget_kept(size_t first, size_t end) {
  const auto at = [](size_t k) { return static_cast<std::ptrdiff_t>(k); };
  std::copy(all_free_.begin() + at(first), all_free_.begin() + at(end), free_.begin() + at(first));
  for (const size_t object : kept_objects_) kept_[object] = kNoIndex;
  kept_objects_.clear();
}

void Sweep::remember(size_t k) {
  constexpr size_t kMaxCopies = 64;  // more are not remembered, so that the pass takes linear time
  const size_t pending = queue_.size() - front_;
  Before& before = before_[k] = {.spent = spent_, .fixed = fixed_, .is_independent = is_independent()};
  before.is_known = pending + kept_objects_.size() <= kMaxCopies;
  if (!before.is_known) return;
  before.copies = copies_before_.size();
  before.pending = pending;
  before.kept = kept_objects_.size();
  for (size_t i = front_; i < queue_.size(); ++i) copies_before_.push_back({.demand = demands_[queue_[i]]});
  for (const size_t object : kept_objects_)
    copies_before_.push_back({.demand = demands_[kept_[object]], .kept_from = kept_from_[object]});
}

double Sweep::cycles_with(const Choice& choice, const Changed& changed, double max_cycles) {
  return pass(choice, changed, max_cycles, Remember::kNo);
}

double Sweep::take(const Choice& choice, const Changed& changed) {
  // What is remembered of kernels that are visited again stays in memory until the next run.
  if (copies_before_.size() > 2 * copies_of_run_) {
    run(choice);
    return spent_by_run_;
  }
  return spent_by_run_ = pass(choice, changed, std::numeric_limits<double>::infinity(), Remember::kYes);
}

double Sweep::pass(const Choice& choice, const Changed& changed, double max_cycles, Remember remembers) {
  constexpr double kRounding = 1;  // of sums in another order, in cycles
  choice_ = &choice;
  size_t top = changed.last + 1;
  while (!before_[top].is_known) ++top;
  start_at(top);
  take_copies(before_[top], top);
  double cycles = std::numeric_limits<double>::infinity();
  size_t k = top;
  for (;;) {
    visit(--k);
    if (spent_ + min_cycles_before_[k] > max_cycles + kRounding) break;
    if (k == 0) {
      if (remembers == Remember::kYes) remember(0);
      while (front_ < queue_.size()) wait_for_bytes(std::numeric_limits<int64_t>::max(), 0);
      cycles = spent_;
      break;
    }
    if (k <= changed.first && before_[k].is_independent && is_independent()) {
      cycles = spent_ + (spent_by_run_ - before_[k].spent);
      if (remembers == Remember::kNo) break;
      const double longer = spent_ - before_[k].spent;
      for (size_t i = 0; i <= k; ++i) before_[i].spent += longer;
      break;
    }
    if (remembers == Remember::kYes) remember(k);
  }
  forget_kept(std::min(k, lowest_kept_), top);
  return cycles;
}

void Sweep::visit(size_t k) {
  staged_[k] = 0;
  reserve_for_starts(k);
  fresh_.clear();
  if (problem_.kernels[k].reads > 0 || front_ < queue_.size()) read(k);
  serve(k);
  spent_ += problem_.kernels[k].variants[staged_[k]].cycles;
  for (; fixed_ > 0 && problem_.fixed[fixed_ - 1].kernel == k; --fixed_) add_fixed(fixed_ - 1);
  for (const size_t d : fresh_) {
    resident_ += demands_[d].bytes;
    add_start(demands_[d]);
    queue_.push_back(d);
  }
}

double Sweep::cycles() const {
  double sum = 0;
  for (size_t k = 0; k < staged_.size(); ++k) sum += stalls_[k] + problem_.kernels[k].variants[staged_[k]].cycles;
  return sum;
}

void Sweep::start(const Choice& choice) {
  choice_ = &choice;
  staged_.assign(problem_.kernels.size(), 0);
  std::ranges::fill(stalls_, 0.0);
  free_ = all_free_;
  kept_.assign(problem_.objects.size(), kNoIndex);
  kept_from_.resize(problem_.objects.size());
  copies_before_.clear();
  before_.back() = {.fixed = problem_.fixed.size()};
  start_at(problem_.kernels.size());
}

// Starts before kernel `k` is visited, where kernels `k` and later do not matter.
void Sweep::start_at(size_t k) {
  kept_objects_.clear();
  lowest_kept_ = k;
  demands_.clear();
  parts_.clear();
  readers_.clear();
  queue_.clear();
  front_ = 0;
  waiting_ = 0;
  late_ = 0;
  latest_start_ = 0;
  fixed_ = before_[k].fixed;
  resident_ = 0;
  spent_ = before_[k].spent;
}

void Sweep::take_copies(const Before& before, size_t k) {
  const auto copies = std::span(copies_before_).subspan(before.copies, before.pending + before.kept);
  for (const auto& [demand, kept_from] : copies) demands_.push_back(demand);
  for (size_t d = 0; d < before.pending; ++d) {
    queue_.push_back(d);
    resident_ += demands_[d].bytes_left();
    add_start(demands_[d]);
  }
  for (size_t d = before.pending; d < copies.size(); ++d) {
    const size_t object = demands_[d].object, from = copies[d].kept_from;
    for (size_t i = from; i < k; ++i) free_[i] -= demands_[d].bytes;
    kept_[object] = d;
    kept_from_[object] = from;
    kept_objects_.push_back(object);
    lowest_kept_ = std::min(lowest_kept_, from);
  }
}

void Sweep::read(size_t k) {
  const PrefetchKernel& kernel = problem_.kernels[k];
  int64_t own = 0;
  for (size_t r = 0; r < kernel.reads; ++r) {
    const size_t d = copy_for(k, r, kernel.objects[r], own);
    if (d == kNoIndex) continue;
    staged_[k] |= copy_bit(r);
    own += demands_[d].bytes;
  }
  if (own + resident_ > free_[k]) {
    for (const size_t d : fresh_) demands_[d].waited_for = true;
  }
  while (own + resident_ > free_[k] && front_ < queue_.size()) wait_for_bytes(own + resident_ - free_[k], k + 1);
}

size_t Sweep::copy_for(size_t k, size_t r, size_t object, int64_t own) {
  size_t d = std::exchange(kept_[object], kNoIndex);
  if (d != kNoIndex) {  // the copy is already kept for a later kernel
    kept_objects_.erase(std::ranges::find(kept_objects_, object));
    demands_[d].first_user = k;
  } else {
    if (!may_copy(k, r) || own + problem_.objects[object].bytes > free_[k]) return kNoIndex;
    d = demand(k, object);
  }
  readers_.emplace_back(k, d);
  if (!may_keep(k, r) || !keep(d, previous_[k][r], k)) fresh_.push_back(d);
  return d;
}

size_t Sweep::demand(size_t k, size_t object) {
  const bool late = !problem_.late.empty() && problem_.late.contains({k, object});
  demands_.push_back({.object = object,
                      .bytes = problem_.objects[object].bytes,
                      .cycles = problem_.objects[object].cycles,
                      .left = problem_.objects[object].cycles,
                      .not_before = late ? std::max<size_t>(k, 1) - 1 : 0,
                      .first_user = k});
  return demands_.size() - 1;
}

bool Sweep::keep(size_t d, size_t previous, size_t k) {
  const Demand& demand = demands_[d];
  if (previous == kNoIndex || demand.not_before > 0) return false;
  const size_t read = read_of(problem_.kernels[previous], demand.object);
  if (!may_copy(previous, read)) return false;
  const int64_t needed = demand.bytes + (keeping_ == Keeping::kCautious ? resident_ : 0);
  for (size_t i = previous; i < k; ++i) {
    if (free_[i] < needed) return false;
  }
  // The previous reader counts the copies that it reads itself. A fixed copy reads before its kernel.
  const size_t from = previous + (read == kFixedRead ? 0 : 1);
  for (size_t i = from; i < k; ++i) free_[i] -= demand.bytes;
  kept_[demand.object] = d;
  kept_from_[demand.object] = from;
  kept_objects_.push_back(demand.object);
  lowest_kept_ = std::min(lowest_kept_, from);
  return true;
}

void Sweep::add_fixed(size_t fixed) {
  const FixedCopy& copy = problem_.fixed[fixed];
  const size_t d = demands_.size();
  demands_.push_back({.fixed = fixed,
                      .cycles = copy.cycles,
                      .left = copy.cycles,
                      .not_before = copy.not_before,
                      .first_user = copy.kernel});
  fresh_.push_back(d);
  if (!copy.object) return;
  const size_t source = copy_for(copy.kernel, kFixedRead, *copy.object, 0);
  if (source == kNoIndex) return;
  demands_[d].from_copy = true;
  demands_[d].cycles = demands_[d].left = copy.cycles_from_copy;
  // A copy that may not begin earlier is made between two kernels. It must not come after its reader.
  demands_[d].not_before = std::max(demands_[d].not_before, demands_[source].not_before);
}

double Sweep::capacity(size_t k, const Demand& demand) const {
  const PrefetchKernel::Variant& v = problem_.kernels[k].variants[staged_[k]];
  if (v.cycles <= 0) return 0;
  if (demand.from_copy) return v.cycles;
  const double share = demand.object == kNoIndex ? 1 : problem_.objects[demand.object].port_share;
  return v.cycles * std::min(1.0, port_rest_[k][staged_[k]] / share);
}

void Sweep::serve(size_t k) {
  double used = 0;
  while (front_ < queue_.size()) {
    const Demand& demand = demands_[queue_[front_]];
    const double available = capacity(k, demand) - used;
    if (available <= 1) break;
    const double part = std::min(available, demand.left);
    used += part;
    copy_front(part, k);
  }
}

void Sweep::copy_front(double cycles, size_t window) {
  Demand& demand = demands_[queue_[front_]];
  parts_.push_back({.demand = queue_[front_], .cycles = cycles, .window = window});
  resident_ -= demand.bytes_left();
  demand.left -= cycles;
  if (demand.left > 0) {
    resident_ += demand.bytes_left();
  } else {
    late_ -= demand.not_before > 0 ? 1 : 0;
    ++front_;
  }
}

void Sweep::add_start(const Demand& demand) {
  late_ += demand.not_before > 0 ? 1 : 0;
  latest_start_ = std::max(latest_start_, demand.not_before);
}

void Sweep::reserve_for_starts(size_t k) {
  if (late_ == 0 || latest_start_ <= k) return;
  latest_start_ = 0;
  for (size_t i = front_; late_ > 0 && i < queue_.size(); ++i) {
    Demand& demand = demands_[queue_[i]];
    if (demand.not_before <= k) {
      latest_start_ = std::max(latest_start_, demand.not_before);
      continue;
    }
    resident_ -= demand.bytes_left();
    const size_t at = std::min(k + 1, demand.first_user);
    parts_.push_back({.demand = queue_[i], .cycles = demand.left, .window = at});
    wait(demand.left, at);
    demand.left = 0;
    --late_;
    --waiting_;  // wait() has marked the whole queue
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i--));
  }
}

void Sweep::wait_for_bytes(int64_t bytes, size_t k) {
  const Demand& demand = demands_[queue_[front_]];
  double cycles = demand.left;
  if (demand.bytes > 0 && bytes < demand.bytes_left()) {
    const auto wanted = static_cast<double>(bytes + kPartUnitBytes);
    cycles = std::min(cycles, demand.cycles * wanted / static_cast<double>(demand.bytes));
  }
  const size_t at = std::min(k, demand.first_user);
  wait(cycles, at);
  copy_front(cycles, at);
}

void Sweep::wait(double cycles, size_t kernel) {
  stalls_[kernel] += cycles;
  spent_ += cycles;
  for (size_t i = std::max(front_, waiting_); i < queue_.size(); ++i) demands_[queue_[i]].waited_for = true;
  waiting_ = queue_.size();
}

}  // namespace carina::plan
