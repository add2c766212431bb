#pragma once

#include <optional>
#include <vector>

#include "plan/schedule/rows.h"

// What happens in a cascade: which rows of which step come after which, and how many rows of each tensor inside have to be
// kept. Follows from the steps' windows; nothing is computed twice.
namespace carina::plan {

// Who writes and reads each tensor, by TensorId: steps in their order, once per operand.
struct TensorUsers {
  std::vector<std::vector<StepId>> writers = {};
  std::vector<std::vector<StepId>> readers = {};
};
TensorUsers users_of(const Schedule& schedule);

// Whether nothing outside the steps first..last writes or reads the tensor.
bool lives_inside(const Schedule& schedule, const TensorUsers& users, TensorId tensor, StepId first, StepId last);

struct CascadeMove {
  StepId step = {};
  Rows rows = {};  // of its OFM
};
struct RollingTensor {
  TensorId tensor = {};
  int64_t rows = 0;  // that have to be kept; fewer than it has
};
struct CascadePlan {
  std::vector<CascadeMove> moves = {};
  std::vector<RollingTensor> rolling = {};  // by tensor; of those that live inside
};

// Plans a cascade: every step in stripes of at most `stripe_rows`, the last from its first row to its last, the others no
// earlier than they are needed. Nothing where
// the steps cannot be a cascade: one is not computed by rows, or its rows are not rows of the tensors it shares with the
// others.
std::optional<CascadePlan> plan_cascade(const Schedule& schedule, const TensorUsers& users, const Cascade& cascade);

// The same up to the last step's first `stripes` stripes: buffers are as full as they get by then, or nearly. For searches,
// whose time would otherwise grow with the height of the tensors.
std::optional<CascadePlan> begin_cascade(const Schedule& schedule, const TensorUsers& users, const Cascade& cascade,
                                         int64_t stripes);

}  // namespace carina::plan
