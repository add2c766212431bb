// What:   computes ranges of steps stripe by stripe, so that of the tensors between them only some rows exist at a time.
// Before: stripe p0 step=s0    stripe p1 step=s1                         storage m1 bytes=4096
// After:  stripe p0 step=s0 ofm={height=5 ...}  stripe p1 step=s1 ofm={height=4 ...}
//         stripe p2 step=s0 ofm={y=5 height=4 ...}  stripe p3 step=s1 ofm={y=4 height=4 ...}
//         cascade first=s0 last=s1 stripe_rows=4                         storage m1 bytes=1536 rolling_rows=6
// Needs:  one stripe per step in the order of the steps, storages of their own for all tensors, formats.
// Gives:  stripes that cover their steps (rule 2) and find the rows that they read (rule 3), rolling rows inside
//         cascades only (rule 9).
// Legal:  a stripe comes after all stripes that write what it reads; a row is overwritten once its last reader is done.
#include "plan/schedule/cascades.h"

#include "base/check.h"
#include "plan/schedule/transformations.h"

namespace carina::plan {
namespace {

class Interleaver {
 public:
  explicit Interleaver(Schedule schedule) : schedule_(std::move(schedule)), users_(users_of(schedule_)) {}

  Schedule run(const std::vector<Cascade>& cascades) {
    size_t next = 0;
    for (const Cascade& cascade : cascades) {
      for (; next < cascade.first.index(); ++next) add_whole(StepId(next));
      add(cascade);
      next = cascade.last.index() + 1;
    }
    for (; next < schedule_.steps.size(); ++next) add_whole(StepId(next));
    schedule_.stripes = std::move(stripes_);
    schedule_.order = std::move(order_);
    schedule_.cascades = cascades;
    return std::move(schedule_);
  }

 private:
  void add(const Stripe& stripe) {
    order_.push_back({.stripe = StripeId(stripes_.size())});
    stripes_.push_back(stripe);
  }
  void add_whole(StepId step) {
    const Stripe& stripe = schedule_.stripes[step.index()];
    CARINA_CHECK(stripe.step == step, "step {} is in stripes before there are cascades", step.index());
    add(stripe);
  }
  void add(const Cascade& cascade) {
    const auto plan = plan_cascade(schedule_, users_, cascade);
    CARINA_CHECK(plan.has_value(), "steps {}..{} cannot be a cascade", cascade.first.index(), cascade.last.index());
    for (const CascadeMove& move : plan->moves) {
      Stripe stripe = schedule_.stripes[move.step.index()];
      stripe.ofm.y = move.rows.begin;
      stripe.ofm.height = move.rows.count();
      add(stripe);
    }
    for (const RollingTensor& rolling : plan->rolling) {
      const PlanTensor& tensor = schedule_[rolling.tensor];
      Storage& storage = schedule_.storages[tensor.storage.index()];
      storage.rolling_rows = rolling.rows;
      storage.bytes = tensor.bytes() / tensor.extent.height * rolling.rows;
    }
  }

  Schedule schedule_;
  TensorUsers users_;
  std::vector<Stripe> stripes_;
  std::vector<Command> order_;
};

// For tests: from each step on the longest cascade that can be made of at most `kLongest` steps.
std::vector<Cascade> everywhere(const Schedule& schedule, int64_t stripe_rows) {
  constexpr size_t kLongest = 12;
  const TensorUsers users = users_of(schedule);
  std::vector<Cascade> cascades;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    for (size_t end = std::min(schedule.steps.size(), i + kLongest); end-- > i + 1;) {
      const Cascade cascade{.first = StepId(i), .last = StepId(end), .stripe_rows = stripe_rows};
      if (!plan_cascade(schedule, users, cascade)) continue;
      cascades.push_back(cascade);
      i = end;
      break;
    }
  }
  return cascades;
}

}  // namespace

Schedule with_cascades(Schedule schedule, const std::vector<Cascade>& cascades) {
  if (cascades.empty()) return schedule;
  return Interleaver(std::move(schedule)).run(cascades);
}

Schedule form_cascades(Schedule schedule, const Context& context) {
  const int64_t forced = context.options.variation.cascade_rows;
  if (forced == 0) return schedule;
  std::vector<Cascade> cascades = everywhere(schedule, forced);
  return with_cascades(std::move(schedule), cascades);
}

}  // namespace carina::plan
