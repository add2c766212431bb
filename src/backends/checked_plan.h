#pragma once

#include <bitset>
#include <functional>
#include <optional>

#include "backends/backend.h"
#include "npu/compiled_network.h"
#include "plan/network/target.h"
#include "plan/schedule/schedule.h"

namespace carina::backends {

// A planned network and what its check says.
struct CheckedPlan {
  npu::CompiledNetwork network = {};
  plan::Schedule schedule = {};  // empty unless it was requested
  std::optional<results::CheckReport> check = {};
};

// Plans a network without some optimizations, by plan::Optimization, and checks it. A mistake of the planner, found by
// the check or by an assertion, is an error of Fault::kInternal.
using LeftOut = std::bitset<plan::kOptimizations>;
using PlanWithout = std::function<Result<CheckedPlan>(const LeftOut& left_out, const Log& log)>;

// Returns the plan with all optimizations if it is right. Otherwise the one without the first optimization that makes
// it wrong, or without all of them; a warning names what was left out. Errors: those of `plan` with all optimizations,
// if they are about the user's model, or if the plan is also wrong without optimizations.
Result<CheckedPlan> right_plan(const PlanWithout& plan, const Log& log);

enum class KeepSchedule : uint8_t { kNo, kYes };

// Plans and checks a network as the options say, by right_plan(). With development checks, a wrong plan is an error, so
// that tests see it.
Result<CheckedPlan> checked_plan(const ir::Graph& tosa, const plan::Target& target, const DelegateOptions& options,
                                 KeepSchedule keep, const Log& log);

}  // namespace carina::backends
