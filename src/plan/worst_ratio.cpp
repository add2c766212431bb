#include <algorithm>

#include "plan/cost/assumed_targets.h"
#include "plan/cost/timeline.h"
#include "plan/worst_ratio_internal.h"

namespace carina::plan {

bool is_better_under_assumptions(const Schedule& other, const Schedule& usual, const Context& context) {
  constexpr double kNominalLoss = 1.01;
  double worst_of_usual = 1, worst_of_other = 1;
  bool nominal = true;
  for (const AssumedTarget& assumed : assumed_targets(context.target)) {
    const double cycles = cost_of(usual, context.family, assumed.target, assumed.detail);
    const double others = cost_of(other, context.family, assumed.target, assumed.detail);
    if (nominal && others > cycles * kNominalLoss) return false;
    nominal = false;
    const double better = std::max(1.0, std::min(cycles, others));
    worst_of_usual = std::max(worst_of_usual, cycles / better);
    worst_of_other = std::max(worst_of_other, others / better);
  }
  return worst_of_other < worst_of_usual;
}

}  // namespace carina::plan
