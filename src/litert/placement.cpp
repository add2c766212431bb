#include <algorithm>
#include <numeric>

#include "litert/placement_internal.h"

namespace carina::litert {

namespace {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

class Placer {
 public:
  Placer(const std::vector<Item>& items, const std::vector<Window>& windows, int64_t alignment)
      : items_(items), windows_(windows), alignment_(alignment), addresses_(items.size(), -1) {}

  std::vector<int64_t> place() && {
    std::vector<size_t> order(items_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return items_[a].bytes > items_[b].bytes; });
    for (const size_t i : order) place_at_host(i);
    for (const size_t i : order) {
      if (addresses_[i] < 0) addresses_[i] = lowest(i);
    }
    return std::move(addresses_);
  }

 private:
  [[nodiscard]] int64_t rounded(int64_t bytes) const { return (bytes + alignment_ - 1) / alignment_ * alignment_; }

  // Whether item `i` lies in the place that the stream at `time` has for it.
  [[nodiscard]] bool is_hosted(size_t i, int64_t address, int64_t time) const {
    return std::ranges::any_of(items_[i].hosts,
                               [&](const Host& host) { return host.time == time && host.address == address; });
  }

  // Whether both live at some time at which no stream has made places for both.
  [[nodiscard]] bool live_together(size_t a, int64_t address_a, size_t b) const {
    const int64_t first = std::max(items_[a].first, items_[b].first), last = std::min(items_[a].last, items_[b].last);
    for (int64_t time = first; time <= last; ++time) {
      if (!is_hosted(a, address_a, time) || !is_hosted(b, addresses_[b], time)) return true;
    }
    return false;
  }

  // The ranges that item `i` must not touch if it is at this address.
  [[nodiscard]] std::vector<Range> obstacles(size_t i, int64_t address) const {
    const Item& item = items_[i];
    std::vector<Range> out;
    for (const Window& window : windows_) {
      const bool is_live = item.first <= window.time && window.time <= item.last;
      if (is_live && !is_hosted(i, address, window.time)) out.push_back({.begin = 0, .end = window.bytes});
    }
    for (size_t other = 0; other < items_.size(); ++other) {
      if (other == i || addresses_[other] < 0 || !live_together(i, address, other)) continue;
      out.push_back({.begin = addresses_[other], .end = addresses_[other] + rounded(items_[other].bytes)});
    }
    return out;
  }

  void place_at_host(size_t i) {
    for (const Host& host : items_[i].hosts) {
      if (host.address % alignment_ != 0) continue;  // inside of a larger tensor of the stream
      const int64_t end = host.address + rounded(items_[i].bytes);
      const auto collides = [&](const Range& range) { return range.begin < end && host.address < range.end; };
      if (std::ranges::any_of(obstacles(i, host.address), collides)) continue;
      addresses_[i] = host.address;
      return;
    }
  }

  [[nodiscard]] int64_t lowest(size_t i) const {
    constexpr int64_t kNowhere = -1;  // no host has this address
    std::vector<Range> taken = obstacles(i, kNowhere);
    std::ranges::sort(taken, {}, &Range::begin);
    int64_t address = 0;
    for (const Range& range : taken) {
      if (address + rounded(items_[i].bytes) <= range.begin) break;
      address = std::max(address, rounded(range.end));
    }
    return address;
  }

  const std::vector<Item>& items_;
  const std::vector<Window>& windows_;
  int64_t alignment_;
  std::vector<int64_t> addresses_;
};

}  // namespace

std::vector<int64_t> place(const std::vector<Item>& items, const std::vector<Window>& windows, int64_t alignment) {
  return Placer(items, windows, alignment).place();
}

}  // namespace carina::litert
