#include "base/place.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/checked_math.h"

namespace carina {
namespace {

class Packer {
 public:
  Packer(std::span<const Interval> intervals, int64_t alignment)
      : intervals_(intervals), neighbours_(intervals.size()) {
    std::vector<size_t> by_start(intervals.size()), alive;
    std::iota(by_start.begin(), by_start.end(), size_t{0});
    std::ranges::stable_sort(by_start, {}, [&](size_t i) { return intervals[i].first; });
    for (const Interval& b : intervals) sizes_.push_back(round_up(b.bytes, alignment));
    for (const size_t i : by_start) {
      std::erase_if(alive, [&](size_t j) { return intervals[j].last < intervals[i].first; });
      for (const size_t j : alive) {
        neighbours_[i].push_back(j);
        neighbours_[j].push_back(i);
      }
      alive.push_back(i);
    }
  }

  // Each interval in turn into the lowest gap that is large enough.
  Placement pack(std::span<const size_t> order) {
    Placement result{.offsets = std::vector<int64_t>(intervals_.size(), -1)};
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const size_t i : order) {
      taken.clear();
      for (const size_t j : neighbours_[i]) {
        if (result.offsets[j] >= 0) taken.emplace_back(result.offsets[j], result.offsets[j] + sizes_[j]);
      }
      std::ranges::sort(taken);
      int64_t address = 0;
      for (const auto& [begin, end] : taken) {
        if (begin - address >= sizes_[i]) break;
        address = std::max(address, end);
      }
      result.offsets[i] = address;
      result.total_bytes = std::max(result.total_bytes, address + sizes_[i]);
    }
    return result;
  }

  // Those that reach the top, and those below that keep them there.
  [[nodiscard]] std::vector<size_t> bottleneck(const Placement& a) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < intervals_.size(); ++i) {
      if (a.offsets[i] + sizes_[i] == a.total_bytes) found.push_back(i);
    }
    const size_t tops = found.size();
    for (size_t k = 0; k < tops; ++k) {
      const auto& below = neighbours_[found[k]];
      found.insert(found.end(), below.begin(), below.end());
    }
    return found;
  }

 private:
  std::span<const Interval> intervals_;
  std::vector<int64_t> sizes_;
  std::vector<std::vector<size_t>> neighbours_;
};

constexpr int kMaxRounds = 2000;
constexpr size_t kMaxWork = 4'000'000;  // intervals placed over all rounds

void improve(Packer& packer, std::vector<size_t> order, Placement& best, int64_t lower_bound) {
  std::mt19937 random(1);
  const size_t rounds = std::min<size_t>(kMaxRounds, kMaxWork / (order.size() * order.size() + 1));
  for (size_t round = 0; round < rounds && best.total_bytes > lower_bound; ++round) {
    const std::vector<size_t> blocked = packer.bottleneck(best);
    std::vector<size_t> candidate = order;
    const size_t pick = blocked[random() % blocked.size()];
    const auto from = std::ranges::find(candidate, pick);
    const auto to = candidate.begin() + static_cast<std::ptrdiff_t>(random() % candidate.size());
    std::iter_swap(from, to);
    Placement tried = packer.pack(candidate);
    if (tried.total_bytes > best.total_bytes) continue;
    best = std::move(tried);
    order = std::move(candidate);
  }
}

}  // namespace

int64_t peak_live_bytes(std::span<const Interval> intervals, int64_t alignment) {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const Interval& b : intervals) {
    changes.emplace_back(b.first, round_up(b.bytes, alignment));
    changes.emplace_back(b.last + 1, -round_up(b.bytes, alignment));
  }
  std::ranges::sort(changes);
  int64_t live = 0, peak = 0;
  for (const auto& [time, change] : changes) peak = std::max(peak, live += change);
  return peak;
}

Placement place(std::span<const Interval> intervals, int64_t alignment, Placing how) {
  Packer packer(intervals, alignment);
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (intervals[a].bytes != intervals[b].bytes) return intervals[a].bytes > intervals[b].bytes;
    if (how == Placing::kFirstFit) return false;
    return intervals[a].last - intervals[a].first > intervals[b].last - intervals[b].first;
  });
  Placement best = packer.pack(order);
  if (how == Placing::kSearch) improve(packer, order, best, peak_live_bytes(intervals, alignment));
  return best;
}

}  // namespace carina
