// Elementwise operations of two tensors, one of which is repeated: per row (a mean, a norm), or the same for all (a
// bias).
#include <algorithm>
#include <optional>
#include <vector>

#include "accelerate/elementwise_internal.h"
#include "accelerate/vector_internal.h"

namespace carina::accelerate {

namespace {

constexpr int64_t kMinRow = 16;  // for shorter rows, the overhead per row exceeds the computation

// How `small` repeats along `large`: one row of `small` per row of `large`, or one element per row.
struct Repetition {
  int64_t row = 1;  // elements
  bool one = false;
  std::vector<int64_t> starts;  // for each row, the offset of its elements in `small`
};

// The strides in `small` along the axes of `large`, 0 along repeated axes. No value if it does not broadcast.
std::optional<std::vector<int64_t>> steps_of(const Tensor& small, const Tensor& large) {
  const auto sizes = small.sizes(), all = large.sizes();
  if (sizes.size() > all.size()) return std::nullopt;
  std::vector<int64_t> steps(all.size(), 0);
  int64_t step = 1;
  for (size_t i = 1; i <= sizes.size(); ++i) {
    const int64_t size = sizes[sizes.size() - i], wanted = all[all.size() - i];
    if (size != wanted && size != 1) return std::nullopt;
    steps[all.size() - i] = size == 1 ? 0 : step;
    step *= size;
  }
  return steps;
}

std::optional<Repetition> repetition_of(const Tensor& small, const Tensor& large) {
  const auto steps = steps_of(small, large);
  if (!steps) return std::nullopt;
  const auto sizes = large.sizes();
  Repetition found;
  size_t outer = sizes.size();
  while (outer > 0 && sizes[outer - 1] == 1) --outer;
  found.one = outer > 0 && (*steps)[outer - 1] == 0;
  for (; outer > 0; --outer) {
    const int64_t step = (*steps)[outer - 1];
    if (sizes[outer - 1] != 1 && step != (found.one ? 0 : found.row)) break;
    found.row *= sizes[outer - 1];
  }
  if (found.row < kMinRow) return std::nullopt;
  found.starts.assign(1, 0);
  for (size_t axis = 0; axis < outer; ++axis) {
    std::vector<int64_t> more;
    for (const int64_t start : found.starts) {
      for (int64_t i = 0; i < sizes[axis]; ++i) more.push_back(start + i * (*steps)[axis]);
    }
    found.starts = std::move(more);
  }
  return found;
}

class Broadcast final : public Step {
 public:
  Broadcast(Arithmetic op, const Operands& operands, Repetition repetition)
      : op_(op), operands_(operands), repetition_(std::move(repetition)) {}

  void run(ThreadPool& pool) override {
    const int64_t row = repetition_.row, rows = static_cast<int64_t>(repetition_.starts.size());
    constexpr int64_t kGrain = 16 * 1024;
    const int64_t step = pool.threads() == 1 ? rows : std::max<int64_t>(kGrain / row, 1);
    pool.parallel_for(static_cast<size_t>((rows + step - 1) / step), [&](size_t part) {
      const int64_t begin = static_cast<int64_t>(part) * step, end = std::min(begin + step, rows);
      for (int64_t r = begin; r < end; ++r)
        elementwise({.op = op_,
                     .a = operands_.a->tensor.as<const float>() + r * row,
                     .b = operands_.b->tensor.as<const float>() + repetition_.starts[static_cast<size_t>(r)],
                     .b_is_one = repetition_.one,
                     .out = operands_.out->tensor.as<float>() + r * row,
                     .count = row,
                     .low = Bounds{}.low,
                     .high = Bounds{}.high});
    });
  }

 private:
  Arithmetic op_;
  Operands operands_;
  Repetition repetition_;
};

bool has_sizes_of(const EValue& a, const EValue& b) {
  return std::ranges::equal(a.tensor.sizes(), b.tensor.sizes());
}

}  // namespace

std::unique_ptr<Step> make_broadcast(Arithmetic op, Operands operands) {
  if (!is_plain(*operands.a) || !is_plain(*operands.b) || !is_plain(*operands.out) || operands.out->tensor.read_only ||
      operands.out->tensor.elements() == 0)
    return nullptr;
  const bool turns = op == Arithmetic::kAdd || op == Arithmetic::kMul;
  if (turns && !has_sizes_of(*operands.a, *operands.out)) std::swap(operands.a, operands.b);
  if (!has_sizes_of(*operands.a, *operands.out)) return nullptr;
  auto repetition = repetition_of(operands.b->tensor, operands.out->tensor);
  return repetition ? std::make_unique<Broadcast>(op, operands, *std::move(repetition)) : nullptr;
}

}  // namespace carina::accelerate
