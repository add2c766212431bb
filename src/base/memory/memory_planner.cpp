#include "base/memory/memory_planner.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "base/checked_math.h"

// First fit in an order of the requests, then a local search over orders. First fit puts each request at the lowest
// address where it overlaps no placed request that is alive at the same time. The first order is by size.
//
//   Example: A 3 bytes (times 2 to 3), B 2 bytes (2 to 3), C 2 bytes (1 to 3), D 4 bytes (0 to 1). A, B and C are alive
//   at time 2, so 7 bytes are the lower bound. The order D, A, C, B gives D 0-3, A 0-2, C 4-5, B 6-7: 8 bytes, because
//   one byte between A and C is lost. With C first: C 0-1, D 2-5, A 2-4, B 5-6: 7 bytes.
//
// The search takes a request that reaches the top of the plan, or one that is alive with it, and moves it to an earlier
// place of the order (the first rounds) or exchanges it with another (the later ones). It keeps a plan that is not
// larger, and ends at the lower bound, or after a number of rounds that depends on the number of requests alone. A
// fixed seed makes it deterministic. Time of a round: pairs of requests that are alive together; a round places again
// only the requests that a move can affect. The ordering by size is that of TensorFlow Lite's GreedyMemoryPlanner;
// Vela's HillClimb searches over orders, too.
namespace carina {
namespace {

// The range of positions in which two orders differ. Either one request has moved to the front of the range, or the
// first and the last request of the range are exchanged.
struct Moved {
  size_t first;
  size_t last;
};

// An occupied range of addresses: a request cannot start after `last_below` and before `first_above`.
struct Taken {
  int64_t last_below;
  int64_t first_above;
};
using Gaps = std::vector<Taken>;

// Moves an address up past all ranges that begin below it, until none does. The loop has no branch, because its outcome
// is unpredictable.
int64_t lowest_address(std::span<const Taken> taken) {
  int64_t address = 0;
  for (int64_t before = -1; before != address;) {
    before = address;
    for (const Taken& t : taken) address = std::max(address, t.last_below < address ? t.first_above : address);
  }
  return address;
}

// The plan of one order, and the scratch memory that its computation needs.
struct Trial {
  MemoryPlan plan;
  Gaps gaps;
  std::vector<uint8_t> touches_moved;
  std::vector<uint8_t> is_new;
};

class Packer {
 public:
  Packer(std::span<const MemoryRequest> requests, int64_t alignment)
      : requests_(requests), first_neighbor_(requests.size() + 1, 0) {
    for (const MemoryRequest& b : requests) sizes_.push_back(round_up(b.bytes, alignment));
    const std::vector<std::pair<size_t, size_t>> pairs = pairs_alive_together();
    for (const auto& [i, j] : pairs) ++first_neighbor_[i + 1], ++first_neighbor_[j + 1];
    std::partial_sum(first_neighbor_.begin(), first_neighbor_.end(), first_neighbor_.begin());
    neighbors_.resize(2 * pairs.size());
    std::vector<size_t> next(first_neighbor_.begin(), first_neighbor_.end() - 1);
    const auto live_bytes = [&](size_t i, size_t j) {
      return requests[i].fill_steps.empty() ? sizes_[i]
                                            : round_up(bytes_until(requests[i], requests[j].last), alignment);
    };
    for (const auto& [i, j] : pairs) {
      const int64_t bytes = live_bytes(i, j), others_bytes = live_bytes(j, i);
      neighbors_[next[i]++] = {.other = j, .bytes = bytes, .others_bytes = others_bytes};
      neighbors_[next[j]++] = {.other = i, .bytes = others_bytes, .others_bytes = bytes};
    }
  }

  // Allocates the requests in the given order, each in the lowest gap that is large enough.
  [[nodiscard]] MemoryPlan pack(std::span<const size_t> order) const {
    MemoryPlan result{.offsets = std::vector<int64_t>(requests_.size(), -1)};
    Gaps gaps;
    for (const size_t i : order) put(i, lowest_gap(i, result, gaps), result);
    return result;
  }

  // Packs like pack(order) if that takes no more bytes than `before`; otherwise the result is any larger plan. `before`
  // is the plan of an order that differs from `order` as `moved` says. Requests whose preceding neighbors have not
  // moved keep their offsets. `trial` receives the result; its memory is reused.
  void pack_again(std::span<const size_t> order, const MemoryPlan& before, const Moved& moved, Trial& trial) const {
    MemoryPlan& result = trial.plan;
    result.offsets.assign(requests_.size(), -1);
    result.total_bytes = 0;
    trial.touches_moved.assign(requests_.size(), 0);
    trial.is_new.assign(requests_.size(), 0);
    for (const size_t i : {order[moved.first], order[moved.last]}) {
      trial.is_new[i] = 1;
      for (const Neighbor& n : neighbors_of(i)) trial.touches_moved[n.other] = 1;
    }
    for (size_t turn = 0; turn < order.size() && result.total_bytes <= before.total_bytes; ++turn) {
      const size_t i = order[turn];
      const bool between = turn >= moved.first && turn <= moved.last;
      if (trial.is_new[i] == 0 && !(between && trial.touches_moved[i] != 0)) {
        put(i, before.offsets[i], result);
        continue;
      }
      put(i, lowest_gap(i, result, trial.gaps), result);
      if (result.offsets[i] == before.offsets[i]) continue;
      for (const Neighbor& n : neighbors_of(i)) trial.is_new[n.other] = 1;
    }
  }

  // Returns the requests that reach the top of the plan, and those below that block them.
  [[nodiscard]] std::vector<size_t> bottleneck(const MemoryPlan& a) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (a.offsets[i] + sizes_[i] == a.total_bytes) found.push_back(i);
    }
    const size_t tops = found.size();
    for (size_t k = 0; k < tops; ++k) {
      for (const Neighbor& n : neighbors_of(found[k])) found.push_back(n.other);
    }
    return found;
  }

 private:
  // A neighbor is a request that is alive at the same time. Two requests that fill up over time conflict only in their
  // first bytes: all bytes of the one that ends first.
  struct Neighbor {
    size_t other;
    int64_t bytes;
    int64_t others_bytes;
  };
  [[nodiscard]] std::span<const Neighbor> neighbors_of(size_t i) const {
    return std::span(neighbors_).subspan(first_neighbor_[i], first_neighbor_[i + 1] - first_neighbor_[i]);
  }
  [[nodiscard]] std::vector<std::pair<size_t, size_t>> pairs_alive_together() const {
    std::vector<size_t> by_start(requests_.size()), alive;
    std::iota(by_start.begin(), by_start.end(), size_t{0});
    std::ranges::stable_sort(by_start, {}, [&](size_t i) { return requests_[i].first; });
    std::vector<std::pair<size_t, size_t>> pairs;
    for (const size_t i : by_start) {
      std::erase_if(alive, [&](size_t j) { return requests_[j].last < requests_[i].first; });
      for (const size_t j : alive) pairs.emplace_back(i, j);
      alive.push_back(i);
    }
    return pairs;
  }
  void put(size_t i, int64_t address, MemoryPlan& result) const {
    result.offsets[i] = address;
    result.total_bytes = std::max(result.total_bytes, address + sizes_[i]);
  }
  // Finds the lowest gap between the requests that have an offset already. `taken` is scratch memory.
  [[nodiscard]] int64_t lowest_gap(size_t i, const MemoryPlan& plan, Gaps& taken) const {
    const std::span<const Neighbor> neighbors = neighbors_of(i);
    taken.resize(neighbors.size());
    size_t count = 0;
    for (const Neighbor& n : neighbors) {
      const int64_t at = plan.offsets[n.other];
      taken[count] = {.last_below = at - n.bytes, .first_above = at + n.others_bytes};
      count += at >= 0 ? 1 : 0;
    }
    return lowest_address(std::span(taken).first(count));
  }

  std::span<const MemoryRequest> requests_;
  std::vector<int64_t> sizes_;
  std::vector<size_t> first_neighbor_;  // by request, and one more: in neighbors_
  std::vector<Neighbor> neighbors_;
};

// Allocates like Packer::pack(), without lists of all neighbors. That is faster for one order of many requests.
class SinglePack {
 public:
  SinglePack(std::span<const MemoryRequest> requests, int64_t alignment) : requests_(requests), alignment_(alignment) {
    int64_t all = 0;
    for (const MemoryRequest& b : requests) {
      begin_ = std::min(begin_, b.first);
      end_ = std::max(end_, b.last);
      all += b.last - b.first + 1;
    }
    // A request then takes about two slots.
    if (!requests.empty()) each_ = std::max<int64_t>(1, all / std::ssize(requests));
    placed_.resize(requests.empty() ? 0 : slot_of(end_) + 1);
  }

  MemoryPlan pack(std::span<const size_t> order) {
    MemoryPlan result{.offsets = std::vector<int64_t>(requests_.size(), -1)};
    std::vector<size_t> seen(requests_.size(), requests_.size());
    std::vector<Taken> taken;
    for (const size_t i : order) {
      const MemoryRequest& request = requests_[i];
      taken.clear();
      for (size_t slot = slot_of(request.first); slot <= slot_of(request.last); ++slot) {
        for (const size_t j : placed_[slot]) {
          const MemoryRequest& other = requests_[j];
          if (std::exchange(seen[j], i) == i || other.first > request.last || other.last < request.first) continue;
          taken.push_back({.last_below = result.offsets[j] - bytes(request, other.last),
                           .first_above = result.offsets[j] + bytes(other, request.last)});
        }
        placed_[slot].push_back(i);
      }
      const int64_t address = lowest_address(taken);
      result.offsets[i] = address;
      result.total_bytes = std::max(result.total_bytes, address + round_up(request.bytes, alignment_));
    }
    return result;
  }

 private:
  [[nodiscard]] size_t slot_of(int64_t time) const { return static_cast<size_t>((time - begin_) / each_); }
  [[nodiscard]] int64_t bytes(const MemoryRequest& request, int64_t until) const {
    return round_up(request.fill_steps.empty() ? request.bytes : bytes_until(request, until), alignment_);
  }

  std::span<const MemoryRequest> requests_;
  int64_t alignment_;
  int64_t begin_ = std::numeric_limits<int64_t>::max();
  int64_t end_ = 0;
  int64_t each_ = 1;                         // times of a slot
  std::vector<std::vector<size_t>> placed_;  // by slot of time: the requests that are placed and alive then
};

constexpr int kMaxRounds = 2000;
constexpr size_t kMoves =
    64;  // rounds of the first kind, which move blocking requests to the front; later rounds exchange two requests

size_t rounds_of(size_t requests, const SearchBudget& budget) {
  return std::min<size_t>(kMaxRounds, budget.max_work / (requests * requests + 1));
}

void improve(const Packer& packer, std::vector<size_t> order, MemoryPlan& best, const SearchBudget& budget) {
  std::mt19937 random(1);
  const size_t rounds = rounds_of(order.size(), budget);
  std::vector<size_t> blocked = packer.bottleneck(best);
  std::vector<size_t> candidate;
  Trial trial;
  for (size_t round = 0; round < rounds && best.total_bytes > budget.enough_bytes; ++round) {
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
    if (trial.plan.total_bytes > best.total_bytes) continue;
    std::swap(best, trial.plan);
    std::swap(order, candidate);
    blocked = packer.bottleneck(best);
  }
}

}  // namespace

int64_t bytes_until(const MemoryRequest& request, int64_t time) {
  for (const FillStep& step : request.fill_steps) {
    if (step.first > time) return step.from_byte;
  }
  return request.bytes;
}

int64_t peak_live_bytes(std::span<const MemoryRequest> requests, int64_t alignment) {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const MemoryRequest& b : requests) {
    int64_t from = 0;
    for (size_t i = 0; i <= b.fill_steps.size(); ++i) {
      const int64_t end = round_up(i < b.fill_steps.size() ? b.fill_steps[i].from_byte : b.bytes, alignment);
      changes.emplace_back(i == 0 ? b.first : b.fill_steps[i - 1].first, end - from);
      from = end;
    }
    changes.emplace_back(b.last + 1, -round_up(b.bytes, alignment));
  }
  std::ranges::sort(changes);
  int64_t live = 0, peak = 0;
  for (const auto& [time, change] : changes) peak = std::max(peak, live += change);
  return peak;
}

MemoryPlan plan_memory(std::span<const MemoryRequest> requests, int64_t alignment, PlanStrategy how,
                       const SearchBudget& budget) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (requests[a].bytes != requests[b].bytes) return requests[a].bytes > requests[b].bytes;
    if (how == PlanStrategy::kFirstFit) return false;
    return requests[a].last - requests[a].first > requests[b].last - requests[b].first;
  });
  if (how == PlanStrategy::kFirstFit || rounds_of(requests.size(), budget) == 0)
    return SinglePack(requests, alignment).pack(order);
  const Packer packer(requests, alignment);
  MemoryPlan best = packer.pack(order);
  const int64_t enough_bytes = std::max(budget.enough_bytes, peak_live_bytes(requests, alignment));
  improve(packer, order, best, {.enough_bytes = enough_bytes, .max_work = budget.max_work});
  return best;
}

}  // namespace carina
