// Declares a loaded ExecuTorch program with the devices of its delegates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/delegate_target.h"
#include "base/memory/zeroed_pages.h"
#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "evaluate/program_runner.h"
#include "execute/npu_calls.h"
#include "execute/run_program.h"
#include "execute/simulated_npu.h"
#include "execute/vgf_delegate.h"
#include "pte/program.h"

namespace carina::execute {

class RunClock;

// A program that is loaded once and runs any number of times. State that the program keeps is passed from each run to
// the next. It may be used by one thread at a time.
class ProgramSession {
 public:
  // `where` names the program in messages. `log` must outlive the session: runs report progress to it. Errors: a
  // damaged program; an unknown method, backend or kernel; with RunOptions::exact_memories the memories of a timed run
  // are not known.
  static Result<std::unique_ptr<ProgramSession>> load(const Buffer& program, const std::string& where,
                                                      const RunOptions& options, const Log& log);
  ~ProgramSession();
  ProgramSession(const ProgramSession&) = delete;
  ProgramSession& operator=(const ProgramSession&) = delete;

  [[nodiscard]] std::vector<datasets::InputType> inputs() const { return runner_->inputs(); }
  [[nodiscard]] std::vector<datasets::InputType> outputs() const { return runner_->output_types(); }
  [[nodiscard]] std::string method() const { return std::string(runner_->method_name()); }
  [[nodiscard]] std::vector<std::string> methods() const { return runner_->methods(); }

  // Runs once. Errors: inputs that do not match; faults that the simulator detects.
  Result<std::vector<datasets::NamedTensor>> run(const datasets::Sample& sample);
  // The same, and copies the elements of output tensor i to outputs[i]. Errors: also another number or size of outputs.
  Result<void> run_into(const datasets::Sample& sample, std::span<const std::span<std::byte>> outputs);

  // The state that runs pass on, as ProgramRunner has it.
  [[nodiscard]] std::vector<datasets::InputType> state_types() const { return runner_->state_types(); }
  [[nodiscard]] std::vector<datasets::NamedTensor> state() const { return runner_->state(); }
  [[nodiscard]] std::vector<const void*> state_places() const { return runner_->state_places(); }
  Result<void> set_state(std::span<const Tensor> tensors) { return runner_->set_state(tensors); }
  void reset_state() { runner_->reset_state(); }

  // The figures of the first inference since load() or forget_runs(), and the records of all inferences.
  [[nodiscard]] RunOutcome figures();
  // Drops the reports of all runs, which grow with each run, and the reasons of failures.
  void forget_runs();

 private:
  explicit ProgramSession(RunOptions options);
  [[nodiscard]] Result<std::unique_ptr<GraphDelegates>> vgf_delegates() const;
  Result<void> load_runner(const Buffer& program, const std::string& where);
  void take_records();
  [[nodiscard]] std::unexpected<Diagnostics> failed(Diagnostics errors) const;
  [[nodiscard]] results::NpuReport report_of(size_t invocation) const;

  RunOptions options_;
  pte::Program program_;
  plan::Target target_;
  std::optional<SimulatedNpu> npu_;
  ZeroedPages fast_;
  std::optional<runtime::EthosUBackend> ethos_u_;
  std::unique_ptr<GraphDelegates> vgf_;
  std::optional<GraphDelegates> tosa_;
  std::unique_ptr<evaluate::ProgramRunner> runner_;
  NpuCalls calls_;
  std::unique_ptr<RunClock> clock_;
  std::vector<pte::RunRecord> records_;
  size_t invocations_ = 0;  // during the first inference
  std::vector<int64_t> vgf_times_;
  std::vector<int64_t> tosa_times_;
};

}  // namespace carina::execute
