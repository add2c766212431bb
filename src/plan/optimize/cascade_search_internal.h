#pragma once

#include <optional>
#include <vector>

#include "plan/family/context.h"
#include "plan/schedule/cascade_rows.h"

// Which ranges of steps to compute as cascades: by what lives in the working space while they run, and by the cycles that
// their stripes take more than whole steps.
namespace carina::plan {

// Steps of the longest cascade: what longer ones save is small, and the search is quadratic in it.
inline constexpr size_t kLongestCascade = 48;

// What starting one more operation costs, beside its work. An estimate.
inline constexpr double kStripeCycles = 400;

struct CascadeChoice {
  std::vector<Cascade> cascades = {};
  int64_t bytes = 0;        // of the working space while it is fullest, gaps between storages not counted
  double extra_cycles = 0;  // over no cascades at all
};

class CascadeSearch {
 public:
  // `schedule`: one stripe per step, with blocks, in the order of the steps. It must outlive the search.
  CascadeSearch(const Schedule& schedule, const Material& material, const Context& context);

  // Bytes of the working space when the whole of every step is computed at once.
  [[nodiscard]] int64_t whole_bytes() const;
  // The fewest bytes that any choice needs.
  [[nodiscard]] int64_t fewest_bytes() const;
  // The fastest choice that needs no more than `limit_bytes`, if there is one.
  [[nodiscard]] std::optional<CascadeChoice> within(int64_t limit_bytes) const;

 private:
  struct Range {
    int64_t bytes = 0;
    double extra_cycles = 0;
  };
  struct LiveTensor {
    TensorId id = {};
    int64_t bytes = 0;
    size_t first = 0;  // steps
    size_t last = 0;
  };
  [[nodiscard]] std::vector<LiveTensor> live_tensors() const;
  void count_live_bytes();
  [[nodiscard]] double extra_cycles(const CascadePlan& plan, size_t first, size_t last) const;
  [[nodiscard]] std::optional<Range> range(const Cascade& cascade) const;
  [[nodiscard]] std::optional<std::pair<Cascade, Range>> fastest(size_t first, size_t last, int64_t limit) const;
  [[nodiscard]] int64_t fewest_with(int64_t threshold) const;

  const Schedule& schedule_;
  const Context& context_;
  TensorUsers users_;
  std::vector<LiveTensor> tensors_;    // that count, by first step
  std::vector<int64_t> live_;          // by step
  std::vector<double> cycles_;         // by step, computed at once
  std::vector<int64_t> weight_bytes_;  // by step, roughly; 0 where they are read as fast from where they are
  double fast_bytes_per_cycle_ = 1;
};

}  // namespace carina::plan
