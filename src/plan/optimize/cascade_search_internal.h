#pragma once

#include <optional>
#include <vector>

#include "plan/family/context.h"
#include "plan/schedule/cascade_rows.h"

// Chooses which ranges of steps are computed as cascades. The search weighs the peak of the working space against the
// extra cycles of stripes compared with whole steps.
namespace carina::plan {

// Steps of the longest cascade. Longer cascades save little, and the search is quadratic in this length.
inline constexpr size_t kLongestCascade = 48;

// Overhead in cycles of one more operation. An estimate.
inline constexpr double kStripeCycles = 400;

struct CascadeChoice {
  std::vector<Cascade> cascades = {};
  int64_t bytes = 0;        // peak of the working space, without gaps between storages
  double extra_cycles = 0;  // compared with no cascades
};

class CascadeSearch {
 public:
  // `schedule` has one stripe per step, with blocks, in the order of the steps. It must outlive the search.
  CascadeSearch(const Schedule& schedule, const Material& material, const Context& context);

  // Peak bytes of the working space if every step is one stripe.
  [[nodiscard]] int64_t whole_bytes() const;
  // The smallest peak of any choice, in bytes.
  [[nodiscard]] int64_t fewest_bytes() const;
  // The fastest choice whose peak is at most `limit_bytes`, if there is one.
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
  std::vector<LiveTensor> tensors_;    // live tensors of the working space, by first step
  std::vector<int64_t> live_;          // by step
  std::vector<double> cycles_;         // by step, as one stripe
  std::vector<int64_t> weight_bytes_;  // by step, approximate; 0 if a copy would not be read faster
  double fast_bytes_per_cycle_ = 1;
};

}  // namespace carina::plan
