#include "pte/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "base/checked_math.h"
#include "facts/executorch.h"

namespace carina::pte {

namespace {

bool alive_together(const Lifetime& a, const Lifetime& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> tensors) {
  MemoryPlan plan{.offsets = std::vector<uint64_t>(tensors.size(), 0), .total_bytes = 0};
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](size_t i) { return tensors[i].bytes; });
  std::vector<size_t> placed;  // by offset
  for (const size_t i : order) {
    uint64_t offset = 0;
    for (const size_t other : placed) {
      if (!alive_together(tensors[i], tensors[other])) continue;
      if (plan.offsets[other] >= offset + tensors[i].bytes) break;
      offset = std::max(offset, round_up(plan.offsets[other] + tensors[other].bytes, kPtePlannedAlignmentBytes));
    }
    plan.offsets[i] = offset;
    placed.insert(std::ranges::upper_bound(placed, offset, {}, [&](size_t p) { return plan.offsets[p]; }), i);
    plan.total_bytes = std::max(plan.total_bytes, round_up(offset + tensors[i].bytes, kPtePlannedAlignmentBytes));
  }
  return plan;
}

}  // namespace carina::pte
