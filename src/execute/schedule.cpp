#include "execute/schedule.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/io/file.h"
#include "datasets/outputs.h"
#include "datasets/schedule.h"
#include "execute/method_sessions.h"
#include "execute/run.h"
#include "tensor/npy.h"

namespace carina::execute {

namespace {

Result<bool> all_have_one_output(const std::vector<datasets::ScheduledStep>& steps, MethodSessions& methods) {
  for (const datasets::ScheduledStep& step : steps) {
    CARINA_TRY(const ProgramSession* const method, methods.find(step.method));
    if (method->outputs().size() != 1) return false;
  }
  return true;
}

}  // namespace

Result<results::RunReport> run_schedule(const Buffer& program, const std::string& where, const std::string& schedule,
                                        const std::string& folder, const RunOptions& options, const Log& log) {
  CARINA_TRY(const std::vector<datasets::ScheduledStep> steps, datasets::read_schedule(schedule));
  CARINA_TRY(MethodSessions methods, MethodSessions::load(program, where, options, log));
  if (!folder.empty()) CARINA_CHECKED(make_folder(folder));
  CARINA_TRY(const bool is_single, all_have_one_output(steps, methods));
  ProgramSession* last = nullptr;
  std::vector<datasets::NamedTensor> outputs;
  for (size_t s = 0; s < steps.size(); ++s) {
    log.progress("step", s, steps.size());
    CARINA_TRY(last, methods.find(steps[s].method));
    CARINA_TRY(const datasets::Sample sample,
               datasets::sample_of(steps[s], last->inputs(), fmt::format("{}: step {}", schedule, s)));
    CARINA_TRY(outputs, last->run(sample));
    for (size_t k = 0; k < outputs.size() && !folder.empty(); ++k) {
      const std::string number = is_single ? "" : fmt::format("_{}", k);
      CARINA_CHECKED(write_file(fmt::format("{}/step{:02}{}.npy", folder, s, number), npy_bytes(outputs[k].tensor)));
    }
  }
  RunOutcome outcome = last->figures();
  outcome.outputs = std::move(outputs);
  CARINA_TRY(results::RunReport report, run_report(outcome, where, options));
  report.samples = static_cast<int64_t>(steps.size());
  return report;
}

}  // namespace carina::execute
