#include "execute/run_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "backends/delegate_target.h"
#include "backends/ethosu_specs.h"
#include "base/memory/mapped_pages.h"
#include "base/memory/zeroed_pages.h"
#include "estimate/estimate.h"
#include "execute/run_clock_internal.h"
#include "execute/run_progress_internal.h"
#include "execute/simulated_npu.h"
#include "execute/vgf_delegate.h"
#include "facts/executorch.h"
#include "pte/reader.h"

namespace carina::execute {

namespace {

// The layer notes of each delegate call of a method, in call order.
std::vector<npu::CompiledNetwork> notes_of_calls(const pte::Program& program, std::string_view method) {
  std::vector<npu::CompiledNetwork> calls;
  const pte::Plan& plan = *std::ranges::find(program.plans, method, &pte::Plan::name);
  for (const pte::Instruction& instruction : plan.instructions) {
    const auto* call = std::get_if<pte::DelegateCall>(&instruction);
    if (call == nullptr) continue;
    calls.emplace_back().layers =
        backends::read_specs(plan.delegates[static_cast<size_t>(call->delegate)].compile_specs).layers;
  }
  return calls;
}

using Counts = std::vector<std::pair<std::string, int64_t>>;

void add_counts(Counts& sums, const Counts& more) {
  for (const auto& [name, count] : more) {
    const auto same = std::ranges::find(sums, name, &Counts::value_type::first);
    if (same == sums.end()) {
      sums.emplace_back(name, count);
    } else {
      same->second += count;
    }
  }
}

// Combines the reports of all delegates of one inference.
results::NpuReport joined(std::span<results::NpuReport> reports, const plan::Target& target) {
  results::NpuReport all;
  for (results::NpuReport& one : reports) {
    if (all.target.empty()) {
      all = std::move(one);
      continue;
    }
    all.cycles += one.cycles;
    all.macs += one.macs;
    std::ranges::move(one.layers, std::back_inserter(all.layers));
    add_counts(all.pmu, one.pmu);
    add_counts(all.traffic_bytes, one.traffic_bytes);
  }
  if (all.cycles > 0)
    all.utilization =
        static_cast<double>(all.macs) / (static_cast<double>(all.cycles) * target.accelerator.macs_per_cycle);
  return all;
}

}  // namespace

datasets::Sample ones(std::span<const datasets::InputType> inputs) {
  datasets::Sample sample;
  for (const datasets::InputType& input : inputs) {
    if (input.number) {
      sample.push_back(*input.number);
      continue;
    }
    MutableTensor tensor(input.dtype, input.shape);
    const size_t bytes = element_bytes(input.dtype);
    const double one = 1.0;
    const float one_f = 1.0F;
    const int64_t one_i = 1;
    const void* value = input.dtype == DType::kFp32   ? static_cast<const void*>(&one_f)
                        : input.dtype == DType::kFp64 ? static_cast<const void*>(&one)
                                                      : &one_i;
    for (size_t at = 0; at < tensor.bytes().size(); at += bytes) std::memcpy(tensor.bytes().data() + at, value, bytes);
    sample.push_back(std::move(tensor).freeze());
  }
  return sample;
}

namespace {

// A loaded program and the devices of its delegates.
class Session {
 public:
  static Result<std::unique_ptr<Session>> load(const Buffer& program, const std::string& where,
                                               const RunOptions& options, const Log& log) {
    std::unique_ptr<Session> session(new Session(options));
    CARINA_TRY(session->program_, pte::read_program(program, where));
    CARINA_TRY(session->target_, backends::target_of_program(session->program_, where, options.memories, log));
    CARINA_TRY(session->vgf_, session->vgf_delegates());
    session->tosa_.emplace(kTosaBackendId, tosa_on_interpreter(options.threads));
    session->npu_.emplace(
        simulate::Options{.timing = options.timed ? simulate::Timing::kOn : simulate::Timing::kOff,
                          .occupied = options.timed ? simulate::Occupied::kOn : simulate::Occupied::kOff,
                          .threads = options.threads,
                          .own_system_config = session->target_.system,
                          .own_memory_mode = session->target_.memory,
                          .has_read = [behind = PageReleaser()](auto read) mutable { behind.add(read); },
                          .between_operations = run_progress(log)});
    session->fast_ = backends::fast_memory_of(session->target_);
    session->ethos_u_.emplace(*session->npu_, session->fast_.bytes());
    CARINA_CHECKED(session->load_runner(program, where));
    return session;
  }

  [[nodiscard]] std::vector<datasets::InputType> inputs() const { return runner_->inputs(); }

  [[nodiscard]] std::string method() const { return std::string(runner_->method_name()); }

  Result<std::vector<datasets::NamedTensor>> run(const datasets::Sample& sample) {
    auto outputs = runner_->run(sample);
    if (!outputs) return failed(std::move(outputs).error());
    if (clock_) records_.push_back(clock_->take(runner_->method(), [this](size_t n) { return report_of(n); }));
    if (invocations_ == 0) invocations_ = npu_->reports().size();
    if (vgf_times_.empty()) vgf_times_ = vgf_->times();
    if (tosa_times_.empty()) tosa_times_ = tosa_->times();
    return outputs;
  }

  // The figures of the first inference, and the records of all inferences.
  [[nodiscard]] RunOutcome figures() {
    std::vector<results::NpuReport> reports;
    for (size_t n = 0; n < invocations_; ++n) reports.push_back(report_of(n));
    return {.outputs = {},
            .memory = runner_->memory(),
            .cpu_kernels = runner_->kernels(),
            .delegate_calls = runner_->delegate_calls(),
            .npu = joined(reports, target_),
            .vgf_times = std::move(vgf_times_),
            .tosa_times = std::move(tosa_times_),
            .records = std::move(records_),
            .method = method(),
            .methods = runner_->methods()};
  }

 private:
  explicit Session(const RunOptions& options) : options_(options) {}

  Result<std::unique_ptr<GraphDelegates>> vgf_delegates() const {
    VgfLoader loader = vgf_on_interpreter(options_.threads);
    if (options_.vgf == VgfDevice::kVulkan) {
      CARINA_TRY(loader, vgf_on_vulkan());
    }
    return std::make_unique<GraphDelegates>(kVgfBackendId, std::move(loader));
  }

  Result<void> load_runner(const Buffer& program, const std::string& where) {
    const std::array<runtime::Backend*, 3> backends{&*ethos_u_, vgf_.get(), &*tosa_};
    const evaluate::RunnerKernels kernels{
        // The host kernels may fuse several calls. Intermediate values of a fused call do not exist in memory.
        .kind = options_.portable_kernels || options_.record_values ? evaluate::RunnerKernels::Kind::kPortable
                                                                    : evaluate::RunnerKernels::Kind::kHost,
        .threads = options_.threads};
    auto runner = evaluate::ProgramRunner::load(program, where, backends, options_.data, kernels, options_.method,
                                                options_.pools);
    if (!runner) return failed(std::move(runner).error());
    runner_ = *std::move(runner);
    notes_ = notes_of_calls(program_, runner_->method_name());
    const runtime::Method* kept = options_.record_values ? &runner_->method() : nullptr;
    if (options_.record) runner_->observe(&clock_.emplace(*npu_, kept));
    return {};
  }

  [[nodiscard]] std::unexpected<Diagnostics> failed(Diagnostics errors) const {
    std::ranges::copy(npu_->failure(), std::back_inserter(errors));
    std::ranges::copy(vgf_->failure(), std::back_inserter(errors));
    std::ranges::copy(tosa_->failure(), std::back_inserter(errors));
    return fail(std::move(errors));
  }

  [[nodiscard]] results::NpuReport report_of(size_t invocation) const {
    const size_t call = invocations_ == 0 ? invocation : invocation % invocations_;
    return estimate::npu_report(npu_->reports()[invocation],
                                call < notes_.size() ? notes_[call] : npu::CompiledNetwork{}, target_,
                                simulate::Occupied::kOn);
  }

  RunOptions options_;
  pte::Program program_;
  plan::Target target_;
  std::optional<SimulatedNpu> npu_;
  ZeroedPages fast_;
  std::optional<runtime::EthosUBackend> ethos_u_;
  std::unique_ptr<GraphDelegates> vgf_;
  std::optional<GraphDelegates> tosa_;
  std::unique_ptr<evaluate::ProgramRunner> runner_;
  std::vector<npu::CompiledNetwork> notes_;
  std::optional<RunClock> clock_;
  std::vector<pte::RunRecord> records_;
  size_t invocations_ = 0;  // during the first inference
  std::vector<int64_t> vgf_times_;
  std::vector<int64_t> tosa_times_;
};

}  // namespace

Result<BatchOutcome> run_batch(const Buffer& program, const std::string& where, const BatchSource& inputs,
                               const RunOptions& options, const Log& log) {
  CARINA_TRY(const std::unique_ptr<Session> session, Session::load(program, where, options, log));
  BatchOutcome batch{.outputs = {}, .inputs = session->inputs(), .method = session->method(), .run = {}};
  CARINA_TRY(const std::vector<datasets::Sample> samples, inputs(batch.inputs));
  if (samples.empty()) return fail({.where = where, .what = "no sample to run"});
  for (const datasets::Sample& sample : samples) {
    if (samples.size() > 1) log.progress("sample", batch.outputs.size(), samples.size());
    CARINA_TRY(std::vector<datasets::NamedTensor> outputs, session->run(sample));
    batch.outputs.push_back(std::move(outputs));
  }
  batch.run = session->figures();
  return batch;
}

Result<RunOutcome> run_program(const Buffer& program, const std::string& where, const datasets::InputSource& inputs,
                               const RunOptions& options, const Log& log) {
  const auto source = [&](std::span<const datasets::InputType> types) -> Result<std::vector<datasets::Sample>> {
    CARINA_TRY(datasets::Sample sample, inputs(types));
    return std::vector<datasets::Sample>{std::move(sample)};
  };
  CARINA_TRY(BatchOutcome batch, run_batch(program, where, source, options, log));
  batch.run.outputs = std::move(batch.outputs.front());
  return std::move(batch.run);
}

}  // namespace carina::execute
