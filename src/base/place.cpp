#include "base/place.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/checked_math.h"

namespace carina {
namespace {

// Places in an order whose intervals have changed: one has come to the front of the others between them, or both have
// taken each other's place.
struct Moved {
  size_t first;
  size_t last;
};

// Where an interval cannot start: behind `last_below`, in front of `first_above`.
struct Taken {
  int64_t last_below;
  int64_t first_above;
};
using Gaps = std::vector<Taken>;

// What one more order gives, and what is needed to find it.
struct Trial {
  Placement placed;
  Gaps gaps;
  std::vector<uint8_t> beside_moved;
  std::vector<uint8_t> is_new;
};

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

  // Each interval in turn into the lowest gap that is large enough.
  [[nodiscard]] Placement pack(std::span<const size_t> order) const {
    Placement result{.offsets = std::vector<int64_t>(intervals_.size(), -1)};
    Gaps gaps;
    for (const size_t i : order) put(i, lowest_gap(i, result, gaps), result);
    return result;
  }

  // The same as pack(order), where that takes no more bytes than `before`; else anything that takes more. `before`: of an
  // order that differs in the places of two, of `moved` in front of or behind the others between them. What has the same
  // neighbours in front of it, where they were, stays where it was.
  // `trial`: gets the result; kept for its memory.
  void pack_again(std::span<const size_t> order, const Placement& before, const Moved& moved, Trial& trial) const {
    Placement& result = trial.placed;
    result.offsets.assign(intervals_.size(), -1);
    result.total_bytes = 0;
    trial.beside_moved.assign(intervals_.size(), 0);
    trial.is_new.assign(intervals_.size(), 0);
    for (const size_t i : {order[moved.first], order[moved.last]}) {
      trial.is_new[i] = 1;
      for (const Neighbour& n : neighbours_[i]) trial.beside_moved[n.other] = 1;
    }
    for (size_t turn = 0; turn < order.size() && result.total_bytes <= before.total_bytes; ++turn) {
      const size_t i = order[turn];
      const bool between = turn >= moved.first && turn <= moved.last;
      if (trial.is_new[i] == 0 && !(between && trial.beside_moved[i] != 0)) {
        put(i, before.offsets[i], result);
        continue;
      }
      put(i, lowest_gap(i, result, trial.gaps), result);
      if (result.offsets[i] == before.offsets[i]) continue;
      for (const Neighbour& n : neighbours_[i]) trial.is_new[n.other] = 1;
    }
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
  void put(size_t i, int64_t address, Placement& result) const {
    result.offsets[i] = address;
    result.total_bytes = std::max(result.total_bytes, address + sizes_[i]);
  }
  // Beside what is placed already. `taken`: kept for its memory.
  [[nodiscard]] int64_t lowest_gap(size_t i, const Placement& placed, Gaps& taken) const {
    const std::vector<Neighbour>& neighbours = neighbours_[i];
    taken.resize(neighbours.size());
    size_t count = 0;
    for (const Neighbour& n : neighbours) {
      const int64_t at = placed.offsets[n.other];
      taken[count] = {.last_below = at - n.bytes, .first_above = at + n.others_bytes};
      count += at >= 0 ? 1 : 0;
    }
    // What begins below is passed; where that leads higher, more of the rest begins below. Without branches: nothing
    // tells which way they go.
    int64_t address = 0;
    for (int64_t before = -1; before != address;) {
      before = address;
      for (const Taken& t : std::span(taken).first(count))
        address = std::max(address, t.last_below < address ? t.first_above : address);
    }
    return address;
  }

  std::span<const Interval> intervals_;
  std::vector<int64_t> sizes_;
  std::vector<std::vector<Neighbour>> neighbours_;
};

constexpr int kMaxRounds = 2000;
constexpr size_t kMoves =
    64;  // rounds in which what is in the way comes earlier: soon good; later what swaps is better

void improve(const Packer& packer, std::vector<size_t> order, Placement& best, const Effort& effort) {
  std::mt19937 random(1);
  const size_t rounds = std::min<size_t>(kMaxRounds, effort.max_work / (order.size() * order.size() + 1));
  std::vector<size_t> blocked = packer.bottleneck(best);
  std::vector<size_t> candidate;
  Trial trial;
  for (size_t round = 0; round < rounds && best.total_bytes > effort.enough_bytes; ++round) {
    candidate = order;
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
    packer.pack_again(candidate, best, {.first = std::min(turn, other), .last = std::max(turn, other)}, trial);
    if (trial.placed.total_bytes > best.total_bytes) continue;
    std::swap(best, trial.placed);
    std::swap(order, candidate);
    blocked = packer.bottleneck(best);
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
    improve(packer, order, best, {.enough_bytes = enough_bytes, .max_work = effort.max_work});
  }
  return best;
}

}  // namespace carina
