#pragma once

#include <optional>
#include <vector>

#include "plan/schedule/rows.h"

// The order of stripes in a cascade, and how many rows of each inner tensor have to be kept. Both follow from the
// windows of the steps. No row is computed twice.
//   Example: two 3x3 convolutions with stride 1. Row y of the second reads rows y-1 to y+1 of the first, so at least
//   3 rows of the tensor between them are kept, whatever its height.
namespace carina::plan {

// The writers and readers of each tensor, by TensorId: steps in order, one entry per operand.
struct TensorUsers {
  std::vector<std::vector<StepId>> writers = {};
  std::vector<std::vector<StepId>> readers = {};
};
TensorUsers users_of(const Schedule& schedule);

// Returns whether no step outside first..last writes or reads the tensor.
bool lives_inside(const Schedule& schedule, const TensorUsers& users, TensorId tensor, StepId first, StepId last);

struct CascadeMove {
  StepId step = {};
  Rows rows = {};  // of its OFM
};
struct RollingTensor {
  TensorId tensor = {};
  int64_t rows = 0;  // that have to be kept; fewer than the tensor has
};
struct CascadePlan {
  std::vector<CascadeMove> moves = {};
  std::vector<RollingTensor> rolling = {};  // by tensor; only inner tensors
};

// Plans a cascade. Each step is computed in stripes of at most `stripe_rows` rows. The last step runs from its first
// row to its last; the other steps compute rows as late as possible. Returns nothing if the steps cannot be a cascade:
// a step is not computed by rows, or its rows are not the rows of the tensors that it shares with the others.
std::optional<CascadePlan> plan_cascade(const Schedule& schedule, const TensorUsers& users, const Cascade& cascade);

// Plans a cascade up to the first `stripes` stripes of the last step. By then the buffers are full, or nearly so. A
// search uses it because its time then does not grow with the height of the tensors.
std::optional<CascadePlan> begin_cascade(const Schedule& schedule, const TensorUsers& users, const Cascade& cascade,
                                         int64_t stripes);

}  // namespace carina::plan
