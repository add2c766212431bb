// What:   cuts each stripe into an upper and a lower half. A variation for tests: it proves that a stripe is what it
//         says.
// Before: stripe p0 step=s0 ofm={height=16 width=16 depth=8}
// After:  stripe p0 step=s0 ofm={height=8 width=16 depth=8}
//         stripe p1 step=s0 ofm={y=8 height=8 width=16 depth=8}
// Needs:  nothing that was decided for stripes: blocks, slices and loads come later.
// Gives:  stripes that cover their steps (rule 2), in the order of the steps.
// Legal:  every element is computed once, from the same operands; transfers stay whole.
#include "plan/optimize/transformations.h"
#include "plan/schedule/rows.h"

namespace carina::plan {

Schedule cut_stripes(Schedule schedule, const Context& context) {
  if (context.options.variation.stripes == Variation::Stripes::kWhole) return schedule;
  std::vector<Stripe> stripes;
  std::vector<Command> order;
  const auto add = [&](const Stripe& stripe) {
    order.push_back({.stripe = StripeId(stripes.size())});
    stripes.push_back(stripe);
  };
  for (const Command& command : schedule.order) {
    Stripe upper = schedule[command.stripe];
    const int64_t rows = upper.ofm.height;
    if (rows < 2 || !is_computed_by_rows(schedule[upper.step])) {
      add(upper);
      continue;
    }
    Stripe lower = upper;
    upper.ofm.height = rows / 2;
    lower.ofm.y += rows / 2;
    lower.ofm.height = rows - rows / 2;
    add(upper);
    add(lower);
  }
  schedule.stripes = std::move(stripes);
  schedule.order = std::move(order);
  return schedule;
}

}  // namespace carina::plan
