#include "plan/network/step_order.h"

#include <algorithm>
#include <array>
#include <compare>
#include <limits>

namespace carina::plan {
namespace {

constexpr size_t kNever = std::numeric_limits<size_t>::max();

// The tensors of a step: its result first.
std::array<TensorId, 3> tensors_of(const Step& step) {
  return {step.ofm.tensor, step.ifm.tensor, step.reads_second_map() ? step.ifm2.tensor : TensorId()};
}

bool reads(const Step& step, TensorId id) {
  return step.ifm.tensor == id || (step.reads_second_map() && step.ifm2.tensor == id);
}

// Whether the steps may not be exchanged.
bool conflict(const Step& a, const Step& b) {
  return a.ofm.tensor == b.ofm.tensor || reads(a, b.ofm.tensor) || reads(b, a.ofm.tensor);
}

// The most bytes that live at one time, and the number of steps at which they do.
struct Peak {
  int64_t bytes = 0;
  size_t steps = 0;
  std::strong_ordering operator<=>(const Peak&) const = default;
};

class Order {
 public:
  explicit Order(Network& network) : network_(network) {}

  [[nodiscard]] Peak peak() {
    measure();
    Peak peak;
    for (size_t i = 0; i < live_.size(); ++i) {
      if (live_[i] > peak.bytes) {
        peak = {.bytes = live_[i]};
        fullest_ = i;
      }
      peak.steps += live_[i] == peak.bytes ? 1 : 0;
    }
    return peak;
  }

  // Moves one step that lowers the peak. Returns whether there is one.
  bool improve(const Peak& before) {
    const size_t full = fullest_;
    for (size_t from = full + 1; from-- > 0;) {
      if (last_[network_.steps[from].ofm.tensor.index()] <= full) continue;  // its result is not in memory then
      const size_t to = before_first_reader(from);
      if (to == kNever || to <= from || to < full) continue;
      move(from, to);
      if (peak() < before) return true;
      move(to, from);
      measure();
    }
    return false;
  }

 private:
  // The last position at which the step at `from` may stand, before the first step that depends on it.
  [[nodiscard]] size_t before_first_reader(size_t from) const {
    const std::vector<Step>& steps = network_.steps;
    for (size_t i = from + 1; i < steps.size(); ++i) {
      if (conflict(steps[from], steps[i])) return i - 1;
    }
    return kNever;
  }

  void move(size_t from, size_t to) {
    const auto at = [&](size_t i) { return network_.steps.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from < to) {
      std::rotate(at(from), at(from) + 1, at(to) + 1);
    } else {
      std::rotate(at(to), at(from), at(from) + 1);
    }
  }

  // Sets the bytes that live during each step.
  void measure() {
    const std::vector<Step>& steps = network_.steps;
    first_.assign(network_.tensors.size(), kNever);
    last_.assign(network_.tensors.size(), 0);
    const auto touch = [&](TensorId id, size_t time) {
      if (!id.valid() || network_[id].kind == TensorKind::kConstant) return;
      first_[id.index()] = std::min(first_[id.index()], time);
      last_[id.index()] = std::max(last_[id.index()], time);
    };
    for (const TensorId id : network_.inputs) touch(id, 0);
    for (size_t i = 0; i < steps.size(); ++i) {
      for (const TensorId id : tensors_of(steps[i])) touch(id, i);
    }
    for (const TensorId id : network_.outputs) touch(id, steps.size());
    std::vector<int64_t> change(steps.size() + 2, 0);
    for (size_t i = 0; i < first_.size(); ++i) {
      if (first_[i] == kNever) continue;
      change[first_[i]] += network_.tensors[i].bytes();
      change[last_[i] + 1] -= network_.tensors[i].bytes();
    }
    live_.clear();
    int64_t now = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      now += change[i];
      live_.push_back(now - (overwrites(i) ? network_[steps[i].ofm.tensor].bytes() : 0));
    }
  }

  // Whether the result of a step takes the place of an operand that is not read again.
  [[nodiscard]] bool overwrites(size_t i) const {
    const Step& step = network_.steps[i];
    if (step.kind != StepKind::kElementwise || first_[step.ofm.tensor.index()] != i) return false;
    const auto ends_here = [&](TensorId id) {
      return id.valid() && id != step.ofm.tensor && network_[id].kind != TensorKind::kConstant &&
             last_[id.index()] == i && network_[id].bytes() == network_[step.ofm.tensor].bytes();
    };
    return ends_here(step.ifm.tensor) || (step.reads_second_map() && ends_here(step.ifm2.tensor));
  }

  Network& network_;
  std::vector<size_t> first_;  // by tensor: the first and last step that touches it
  std::vector<size_t> last_;
  std::vector<int64_t> live_;  // by step
  size_t fullest_ = 0;         // the first step with the most bytes
};

}  // namespace

void lower_peak(Network& network, int64_t limit_bytes) {
  constexpr size_t kManySteps = 4096;  // a measurement takes time for each
  if (network.steps.size() > kManySteps) return;
  Order order(network);
  for (Peak peak = order.peak(); peak.bytes > limit_bytes && order.improve(peak);) peak = order.peak();
}

}  // namespace carina::plan
