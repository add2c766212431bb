#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/parallel/parallel.h"
#include "plan/family/context.h"
#include "plan/finish_internal.h"
#include "plan/schedule/schedule.h"

// Finishes a network in several ways and chooses the plan that is good although the cycle model may be wrong
// (docs/plan.md, "Assumptions").
namespace carina::plan {

// What the alternatives start from.
struct StartingPoints {
  const Schedule& whole;    // before form_cascades()
  const Schedule& stripes;  // after it, and after cut_stripes()
  const Material& material;
};

// Whether a network has no alternatives: with -Os, with blocks chosen by a test, and at -O2 if it has many weights.
// Encoded weights are most of the planner's memory, and two plans have them twice.
bool is_planned_once(const Material& material, const Options& options);

// Whether the plans of a network share their encoded weights, so that each stream is encoded once. That is faster, and
// takes as much memory as the weights.
bool shares_encoded_weights(const Material& material, const Options& options);

// Returns `baseline` or an alternative to it: blocks that are good under all assumptions; with -O3, also the blocks of
// -O2; and cascades, if the network waits for the second memory. An alternative needs no more working memory, and
// hardly more constants, than `baseline`.
Finished best_alternative(Finished baseline, const StartingPoints& starts, const Context& context, ThreadPool& threads);

// The cycles of all kernels of a schedule if each runs alone and reads its weights from fast memory, in the format that
// is decoded faster, and in its own block or that of `for_copies` (by stripe; empty: none). Kernels do not overlap, so
// every plan with these blocks takes at least as many.
double cycles_of_kernels(const Schedule& schedule, const Context& context, const Target& target,
                         std::span<const std::optional<BlockConfig>> for_copies = {});

// A plan of a network that the user sets no limit, with memory for copies of the weights that it reads more than once,
// if that takes a tenth of the cycles away; otherwise `baseline`. `working_bytes`: the limit that holds for it, as
// Context::working_bytes.
struct Roomy {
  Finished plan = {};
  int64_t working_bytes = 0;
};
Roomy with_room_for_repeated_weights(Finished baseline, const Schedule& stripes, const Material& material,
                                     const Context& context, ThreadPool& threads);

// A schedule's cycles under each assumption of the model (npu/cost/assumptions.h). The first is the nominal model.
std::vector<double> cycles_by_assumption(const Schedule& schedule, const Context& context);

// Whether a schedule is better than the best so far, given both their cycles by assumption, if the cycle model may be
// wrong. Its worst ratio to the better of the two, over all assumptions, has to be smaller, and its nominal cycles at
// most 1 % above `least_nominal`, the least of all schedules of the network that are known (both among them). If the
// best so far exceeds that, fewer nominal cycles are better.
//   Example: cycles (nominal, latencies doubled) of the best are 100 and 140, of the other 100.5 and 120. The worst
//   ratio of the best is 140 / 120 = 1.17, that of the other is 100.5 / 100 = 1.005. The other is better.
bool is_better_under_assumptions(std::span<const double> cycles, std::span<const double> best, double least_nominal);

}  // namespace carina::plan
