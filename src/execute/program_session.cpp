#include "execute/program_session.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/memory/mapped_pages.h"
#include "execute/run_clock_internal.h"
#include "execute/run_progress_internal.h"
#include "facts/executorch.h"
#include "pte/reader.h"

namespace carina::execute {

ProgramSession::ProgramSession(RunOptions options) : options_(std::move(options)) {}
ProgramSession::~ProgramSession() = default;

Result<std::unique_ptr<ProgramSession>> ProgramSession::load(const Buffer& program, const std::string& where,
                                                             const RunOptions& options, const Log& log) {
  std::unique_ptr<ProgramSession> session(new ProgramSession(options));
  CARINA_TRY(session->program_, pte::read_program(program, where));
  const auto unknown = options.timed && options.exact_memories ? backends::UnknownMemories::kError
                                                               : backends::UnknownMemories::kAssumeDefaults;
  CARINA_TRY(session->target_, backends::target_of_program(session->program_, where, options.memories, log, unknown));
  CARINA_TRY(session->vgf_, session->vgf_delegates());
  session->tosa_.emplace(kTosaBackendId, tosa_on_interpreter(options.threads));
  session->npu_.emplace(
      simulate::Options{.timing = options.timed ? simulate::Timing::kOn : simulate::Timing::kOff,
                        .occupied = options.timed ? simulate::Occupied::kOn : simulate::Occupied::kOff,
                        .threads = options.threads,
                        .own_system_config = session->target_.system,
                        .own_memory_mode = session->target_.memory,
                        .has_read = [releaser = PageReleaser()](auto read) mutable { releaser.add(read); },
                        .between_operations = run_progress(log)});
  session->fast_ = backends::fast_memory_of(session->target_);
  session->ethos_u_.emplace(*session->npu_, session->fast_.bytes());
  CARINA_CHECKED(session->load_runner(program, where));
  return session;
}

void ProgramSession::take_records() {
  if (clock_) records_.push_back(clock_->take(runner_->method(), [this](size_t n) { return report_of(n); }));
  if (invocations_ == 0) invocations_ = npu_->reports().size();
  if (vgf_times_.empty()) vgf_times_ = vgf_->times();
  if (tosa_times_.empty()) tosa_times_ = tosa_->times();
}

Result<std::vector<datasets::NamedTensor>> ProgramSession::run(const datasets::Sample& sample) {
  auto outputs = runner_->run(sample);
  if (!outputs) return failed(std::move(outputs).error());
  take_records();
  return outputs;
}

Result<void> ProgramSession::run_into(const datasets::Sample& sample, std::span<const std::span<std::byte>> outputs) {
  if (auto done = runner_->run_into(sample, outputs); !done) return failed(std::move(done).error());
  take_records();
  return {};
}

void ProgramSession::forget_runs() {
  npu_->clear_reports();
  npu_->clear_failure();
  vgf_->clear_failure();
  tosa_->clear_failure();
  vgf_->clear_times();
  tosa_->clear_times();
  vgf_times_.clear();
  tosa_times_.clear();
  records_.clear();
  invocations_ = 0;
}

RunOutcome ProgramSession::figures() {
  std::vector<results::NpuReport> reports;
  for (size_t n = 0; n < invocations_; ++n) reports.push_back(report_of(n));
  return {.outputs = {},
          .memory = runner_->memory(),
          .cpu_kernels = runner_->kernels(),
          .delegate_calls = runner_->delegate_calls(),
          .npu = calls_.joined(std::move(reports)),
          .vgf_times = std::move(vgf_times_),
          .tosa_times = std::move(tosa_times_),
          .records = std::move(records_),
          .method = method(),
          .methods = runner_->methods()};
}

Result<std::unique_ptr<GraphDelegates>> ProgramSession::vgf_delegates() const {
  VgfLoader loader = vgf_on_interpreter(options_.threads);
  if (options_.vgf == VgfDevice::kVulkan) {
    CARINA_TRY(loader, vgf_on_vulkan());
  }
  return std::make_unique<GraphDelegates>(kVgfBackendId, std::move(loader));
}

Result<void> ProgramSession::load_runner(const Buffer& program, const std::string& where) {
  const std::array<runtime::Backend*, 3> backends{&*ethos_u_, vgf_.get(), &*tosa_};
  const evaluate::RunnerKernels kernels{
      // The host kernels may fuse several calls. Intermediate values of a fused call do not exist in memory.
      .kind = options_.portable_kernels || options_.record_values ? evaluate::RunnerKernels::Kind::kPortable
                                                                  : evaluate::RunnerKernels::Kind::kHost,
      .threads = options_.threads};
  auto runner = evaluate::ProgramRunner::load(program, where, backends, options_.data, kernels, options_.method,
                                              options_.pools, options_.shared);
  if (!runner) return failed(std::move(runner).error());
  runner_ = *std::move(runner);
  calls_ = NpuCalls(program_, runner_->method_name(), target_);
  const runtime::Method* kept = options_.record_values ? &runner_->method() : nullptr;
  if (options_.record) {
    clock_ = std::make_unique<RunClock>(*npu_, kept);
    runner_->observe(clock_.get());
  }
  return {};
}

std::unexpected<Diagnostics> ProgramSession::failed(Diagnostics errors) const {
  std::ranges::copy(npu_->failure(), std::back_inserter(errors));
  std::ranges::copy(vgf_->failure(), std::back_inserter(errors));
  std::ranges::copy(tosa_->failure(), std::back_inserter(errors));
  return fail(std::move(errors));
}

results::NpuReport ProgramSession::report_of(size_t invocation) const {
  const size_t call = invocations_ == 0 ? invocation : invocation % invocations_;
  return calls_.report(npu_->reports()[invocation], call);
}

}  // namespace carina::execute
