#include "plan/allocate.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/checked_math.h"

namespace carina::plan {
namespace {

class Packer {
 public:
  Packer(std::span<const Buffer1D> buffers, int64_t alignment) : buffers_(buffers), neighbours_(buffers.size()) {
    std::vector<size_t> by_start(buffers.size()), alive;
    std::iota(by_start.begin(), by_start.end(), size_t{0});
    std::ranges::stable_sort(by_start, {}, [&](size_t i) { return buffers[i].first; });
    for (const Buffer1D& b : buffers) sizes_.push_back(round_up(b.bytes, alignment));
    for (const size_t i : by_start) {
      std::erase_if(alive, [&](size_t j) { return buffers[j].last < buffers[i].first; });
      for (const size_t j : alive) {
        neighbours_[i].push_back(j);
        neighbours_[j].push_back(i);
      }
      alive.push_back(i);
    }
  }

  // Each buffer in turn into the lowest gap that is large enough.
  Allocation pack(std::span<const size_t> order) {
    Allocation result{.addresses = std::vector<int64_t>(buffers_.size(), -1)};
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const size_t i : order) {
      taken.clear();
      for (const size_t j : neighbours_[i]) {
        if (result.addresses[j] >= 0) taken.emplace_back(result.addresses[j], result.addresses[j] + sizes_[j]);
      }
      std::ranges::sort(taken);
      int64_t address = 0;
      for (const auto& [begin, end] : taken) {
        if (begin - address >= sizes_[i]) break;
        address = std::max(address, end);
      }
      result.addresses[i] = address;
      result.total_bytes = std::max(result.total_bytes, address + sizes_[i]);
    }
    return result;
  }

  // Buffers that reach the top, and those below that keep them there.
  [[nodiscard]] std::vector<size_t> bottleneck(const Allocation& a) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (a.addresses[i] + sizes_[i] == a.total_bytes) found.push_back(i);
    }
    const size_t tops = found.size();
    for (size_t k = 0; k < tops; ++k) {
      const auto& below = neighbours_[found[k]];
      found.insert(found.end(), below.begin(), below.end());
    }
    return found;
  }

 private:
  std::span<const Buffer1D> buffers_;
  std::vector<int64_t> sizes_;
  std::vector<std::vector<size_t>> neighbours_;
};

constexpr int kMaxRounds = 2000;
constexpr size_t kMaxWork = 4'000'000;  // buffers packed over all rounds

void improve(Packer& packer, std::vector<size_t> order, Allocation& best, int64_t lower_bound) {
  std::mt19937 random(1);
  const size_t rounds = std::min<size_t>(kMaxRounds, kMaxWork / (order.size() * order.size() + 1));
  for (size_t round = 0; round < rounds && best.total_bytes > lower_bound; ++round) {
    const std::vector<size_t> blocked = packer.bottleneck(best);
    std::vector<size_t> candidate = order;
    const size_t pick = blocked[random() % blocked.size()];
    const auto from = std::ranges::find(candidate, pick);
    const auto to = candidate.begin() + static_cast<std::ptrdiff_t>(random() % candidate.size());
    std::iter_swap(from, to);
    Allocation tried = packer.pack(candidate);
    if (tried.total_bytes > best.total_bytes) continue;
    best = std::move(tried);
    order = std::move(candidate);
  }
}

}  // namespace

int64_t peak_live_bytes(std::span<const Buffer1D> buffers, int64_t alignment) {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const Buffer1D& b : buffers) {
    changes.emplace_back(b.first, round_up(b.bytes, alignment));
    changes.emplace_back(b.last + 1, -round_up(b.bytes, alignment));
  }
  std::ranges::sort(changes);
  int64_t live = 0, peak = 0;
  for (const auto& [time, change] : changes) peak = std::max(peak, live += change);
  return peak;
}

Allocation allocate(std::span<const Buffer1D> buffers, int64_t alignment) {
  Packer packer(buffers, alignment);
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (buffers[a].bytes != buffers[b].bytes) return buffers[a].bytes > buffers[b].bytes;
    return buffers[a].last - buffers[a].first > buffers[b].last - buffers[b].first;
  });
  Allocation best = packer.pack(order);
  improve(packer, order, best, peak_live_bytes(buffers, alignment));
  return best;
}

}  // namespace carina::plan
