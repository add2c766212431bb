#include "backends/checked_plan.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/dev_checks.h"
#include "base/guarded.h"
#include "check/check_network.h"
#include "plan/compile.h"

namespace carina::backends {

namespace {

bool is_mistake(const Diagnostics& errors) {
  return errors.front().fault == Fault::kInternal;
}

Result<CheckedPlan> plan_without(const LeftOut& left_out, const ir::Graph& tosa, const plan::Target& target,
                                 const DelegateOptions& options, KeepSchedule keep, const Log& log) {
  plan::Options choices{static_cast<const options::ScheduleOptions&>(options)};
  choices.threads = options.threads;
  choices.streams = options.streams;
  choices.left_out = left_out;
  CheckedPlan plan;
  if (keep == KeepSchedule::kYes) {
    choices.watch = [&](std::string_view transformation, const plan::Schedule& made) {
      if (transformation == "finished") plan.schedule = made;
    };
  }
  CARINA_TRY(plan.network, plan::compile(tosa, target, choices, log));
  if (options.check == options::Check::kOff) return plan;
  log.progress("check", 0, 1);
  CARINA_TRY(plan.check, check::check_network({.tosa = tosa,
                                               .network = plan.network,
                                               .extent = options.check,
                                               .front_end = options.front_end,
                                               .threads = options.threads,
                                               .ties = options.ties},
                                              log));
  return plan;
}

void warn(const std::string& left_out, Diagnostic wrong, const Log& log) {
  wrong.what = fmt::format("a wrong plan, which is replaced by one without {}: {}", left_out, wrong.what);
  wrong.hint =
      "the program that is written is right, but may be slower. This is a mistake of Carina: please report it, with "
      "the command and, if you can, the file";
  wrong.severity = Severity::kWarning;
  log.note(wrong);
}

}  // namespace

Result<CheckedPlan> right_plan(const PlanWithout& plan, const Log& log) {
  const auto without = [&](const LeftOut& left_out, const Log& said) {
    return guarded([&] { return plan(left_out, said); });
  };
  auto baseline = without({}, log);
  if (baseline || !is_mistake(baseline.error())) return baseline;
  const Log silent{.note = [](const Diagnostic&) {}, .progress = log.progress};
  auto right = without(LeftOut().set(), silent);
  if (!right) return baseline;
  std::string left_out = "optimizations";
  for (size_t i = 0; i < plan::kOptimizations; ++i) {
    auto one = without(LeftOut().set(i), silent);
    if (!one) continue;
    right = std::move(one);
    left_out = plan::name_of(static_cast<plan::Optimization>(i));
    break;
  }
  if (right->check) right->check->left_out = left_out;
  warn(left_out, baseline.error().front(), log);
  return right;
}

Result<CheckedPlan> checked_plan(const ir::Graph& tosa, const plan::Target& target, const DelegateOptions& options,
                                 KeepSchedule keep, const Log& log) {
  const auto plan = [&](const LeftOut& left_out, const Log& said) {
    return plan_without(left_out, tosa, target, options, keep, said);
  };
  return dev_checks_enabled() || options.check == options::Check::kOff ? plan({}, log) : right_plan(plan, log);
}

}  // namespace carina::backends
