#pragma once

#include <string>
#include <vector>

#include "plan/schedule/cascade_rows.h"

namespace carina::plan {

// Which rows of each step's OFM are done, and which rows the slots of rolling tensors hold, while an order of stripes is
// gone through.
class RowTracker {
 public:
  // `schedule` must outlive it.
  explicit RowTracker(const Schedule& schedule);

  // What is wrong with a step's reading of the map now; empty if nothing is.
  [[nodiscard]] std::string why_not(StepId reader, const FeatureMap& map) const;
  // A stripe of the step is done: `box` of its OFM, which is `map`.
  void write(StepId step, const OfmBox& box, const FeatureMap& map);

 private:
  [[nodiscard]] int64_t rolling_rows(TensorId id) const;
  [[nodiscard]] bool has_written(StepId writer, const std::optional<Rows>& asked) const;
  [[nodiscard]] bool holds(TensorId id, const std::optional<Rows>& rows) const;

  const Schedule& s_;
  TensorUsers users_;
  std::vector<std::vector<int64_t>> done_;   // by step: elements of each row of the OFM
  std::vector<std::vector<int64_t>> slots_;  // by tensor with rolling rows: the row that stands there
};

}  // namespace carina::plan
