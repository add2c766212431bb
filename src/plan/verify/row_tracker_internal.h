#pragma once

#include <string>
#include <vector>

#include "plan/schedule/cascade_rows.h"

namespace carina::plan {

// Simulates an order of stripes by rows: which rows of each step's OFM are computed, and which rows the slots of
// rolling tensors hold.
class RowTracker {
 public:
  // `schedule` must outlive it.
  explicit RowTracker(const Schedule& schedule);

  // Why a step cannot read the map now; empty if it can.
  [[nodiscard]] std::string why_not(StepId reader, const FeatureMap& map) const;
  // Records that a stripe of the step is computed: `box` of its OFM, which is `map`.
  void write(StepId step, const OfmBox& box, const FeatureMap& map);

 private:
  [[nodiscard]] int64_t rolling_rows(TensorId id) const;
  [[nodiscard]] bool has_written(StepId writer, const std::optional<Rows>& asked) const;
  [[nodiscard]] bool holds(TensorId id, const std::optional<Rows>& rows) const;

  const Schedule& s_;
  TensorUsers users_;
  std::vector<std::vector<int64_t>> done_;   // by step: computed elements in each row of the OFM
  std::vector<std::vector<int64_t>> slots_;  // by tensor with rolling rows: the row in each slot
};

}  // namespace carina::plan
