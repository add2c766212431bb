#include "base/place.h"

#include <algorithm>
#include <limits>
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
    const auto beside = [&](size_t i, size_t j) {
      return Neighbour{.other = j,
                       .bytes = round_up(bytes_until(intervals[i], intervals[j].last), alignment),
                       .others_bytes = round_up(bytes_until(intervals[j], intervals[i].last), alignment)};
    };
    for (const size_t i : by_start) {
      std::erase_if(alive, [&](size_t j) { return intervals[j].last < intervals[i].first; });
      for (const size_t j : alive) {
        neighbours_[i].push_back(beside(i, j));
        neighbours_[j].push_back(beside(j, i));
      }
      alive.push_back(i);
    }
  }

  // Each interval in turn into the lowest gap that is large enough; ends early where more than `limit_bytes` are taken.
  // The first `known` stand where `before` has them.
  Placement pack(std::span<const size_t> order, const Placement& before = {}, size_t known = 0,
                 int64_t limit_bytes = std::numeric_limits<int64_t>::max()) const {
    Placement result{.offsets = std::vector<int64_t>(intervals_.size(), -1)};
    for (const size_t i : order.first(known)) {
      result.offsets[i] = before.offsets[i];
      result.total_bytes = std::max(result.total_bytes, result.offsets[i] + sizes_[i]);
    }
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const size_t i : order.subspan(known)) {
      taken.clear();
      for (const Neighbour& n : neighbours_[i]) {
        const int64_t at = result.offsets[n.other];
        if (at >= 0) taken.emplace_back(at - n.bytes, at + n.others_bytes);
      }
      std::ranges::sort(taken);
      int64_t address = 0;
      for (const auto& [last_below, first_above] : taken) {
        if (address <= last_below) break;
        address = std::max(address, first_above);
      }
      result.offsets[i] = address;
      result.total_bytes = std::max(result.total_bytes, address + sizes_[i]);
      if (result.total_bytes > limit_bytes) break;
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
      for (const Neighbour& n : neighbours_[found[k]]) found.push_back(n.other);
    }
    return found;
  }

 private:
  // The bytes that two intervals need while both live are the first ones of each: all, of the one that ends first.
  struct Neighbour {
    size_t other;
    int64_t bytes;
    int64_t others_bytes;
  };
  std::span<const Interval> intervals_;
  std::vector<int64_t> sizes_;
  std::vector<std::vector<Neighbour>> neighbours_;
};

constexpr int kMaxRounds = 2000;
constexpr size_t kMoves =
    64;  // rounds in which what is in the way comes earlier: soon good; later what swaps is better

void improve(const Packer& packer, std::vector<size_t> order, Placement& best, const Effort& effort) {
  std::mt19937 random(1);
  const size_t rounds = std::min<size_t>(kMaxRounds, effort.most_work / (order.size() * order.size() + 1));
  for (size_t round = 0; round < rounds && best.total_bytes > effort.enough_bytes; ++round) {
    const std::vector<size_t> blocked = packer.bottleneck(best);
    std::vector<size_t> candidate = order;
    const size_t pick = blocked[random() % blocked.size()];
    const auto from = std::ranges::find(candidate, pick);
    const auto turn = static_cast<size_t>(from - candidate.begin());
    const size_t other = random() % (round < kMoves ? turn + 1 : candidate.size());
    const auto to = candidate.begin() + static_cast<std::ptrdiff_t>(other);
    if (round < kMoves) {
      std::rotate(to, from, from + 1);
    } else {
      std::iter_swap(from, to);
    }
    Placement tried = packer.pack(candidate, best, std::min(turn, other), best.total_bytes);
    if (tried.total_bytes > best.total_bytes) continue;
    best = std::move(tried);
    order = std::move(candidate);
  }
}

}  // namespace

int64_t bytes_until(const Interval& interval, int64_t time) {
  for (const Rise& rise : interval.rises) {
    if (rise.first > time) return rise.from_byte;
  }
  return interval.bytes;
}

int64_t peak_live_bytes(std::span<const Interval> intervals, int64_t alignment) {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const Interval& b : intervals) {
    int64_t from = 0;
    for (size_t i = 0; i <= b.rises.size(); ++i) {
      const int64_t end = round_up(i < b.rises.size() ? b.rises[i].from_byte : b.bytes, alignment);
      changes.emplace_back(i == 0 ? b.first : b.rises[i - 1].first, end - from);
      from = end;
    }
    changes.emplace_back(b.last + 1, -round_up(b.bytes, alignment));
  }
  std::ranges::sort(changes);
  int64_t live = 0, peak = 0;
  for (const auto& [time, change] : changes) peak = std::max(peak, live += change);
  return peak;
}

Placement place(std::span<const Interval> intervals, int64_t alignment, Placing how, const Effort& effort) {
  const Packer packer(intervals, alignment);
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (intervals[a].bytes != intervals[b].bytes) return intervals[a].bytes > intervals[b].bytes;
    if (how == Placing::kFirstFit) return false;
    return intervals[a].last - intervals[a].first > intervals[b].last - intervals[b].first;
  });
  Placement best = packer.pack(order);
  if (how == Placing::kSearch) {
    const int64_t enough_bytes = std::max(effort.enough_bytes, peak_live_bytes(intervals, alignment));
    improve(packer, order, best, {.enough_bytes = enough_bytes, .most_work = effort.most_work});
  }
  return best;
}

}  // namespace carina
