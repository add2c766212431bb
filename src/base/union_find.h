#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace carina {

// Disjoint sets of the numbers 0 to count - 1. The smallest member represents its set.
class UnionFind {
 public:
  explicit UnionFind(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }

  // Returns the smallest member of the set that contains `member`.
  size_t find(size_t member) {
    while (parent_[member] != member) member = parent_[member] = parent_[parent_[member]];
    return member;
  }
  void join(size_t a, size_t b) {
    const size_t x = find(a), y = find(b);
    parent_[std::max(x, y)] = std::min(x, y);
  }

 private:
  std::vector<size_t> parent_;
};

}  // namespace carina
