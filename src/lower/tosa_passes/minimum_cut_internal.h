// Declares minimum cuts of small graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace carina::lower {

// Choices of "yes" or "no" for a number of variables, with the smallest sum of costs. Each cost is counted if one
// variable is yes and another one is no.
//   cost_if(a, kAlwaysNo, 3): 3 if a is yes; cost_if(a, b, 5): 5 if a is yes and b is no
class MinimumCut {
 public:
  static constexpr size_t kAlwaysYes = 0, kAlwaysNo = 1;

  size_t add_variable() {
    edges_of_.emplace_back();
    return edges_of_.size() - 1;
  }
  void cost_if(size_t yes, size_t no, int64_t cost);
  // Solves the problem. Returns for each variable whether it is yes: as few as possible.
  std::vector<bool> solve();

 private:
  struct Edge {
    size_t to;
    int64_t left;  // capacity minus flow; the reverse edge has the next or the previous index
  };
  bool augment();

  std::vector<Edge> edges_;
  std::vector<std::vector<size_t>> edges_of_{2};
};

}  // namespace carina::lower
