#include "driver/run_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/zeroed_pages.h"
#include "driver/delegate_target.h"
#include "driver/estimate.h"
#include "driver/ethosu_specs.h"
#include "driver/simulated_npu.h"
#include "driver/vgf_delegate.h"
#include "pte/reader.h"

namespace carina::driver {

namespace {

// The layer notes of each delegate call, in the order of the calls.
std::vector<npu::CompiledNetwork> notes_of_calls(const pte::Program& program) {
  std::vector<npu::CompiledNetwork> calls;
  const pte::Plan& plan = program.plans.front();
  for (const pte::Instruction& instruction : plan.instructions) {
    const auto* call = std::get_if<pte::DelegateCall>(&instruction);
    if (call == nullptr) continue;
    calls.emplace_back().layers = read_specs(plan.delegates[static_cast<size_t>(call->delegate)].compile_specs).layers;
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

// The delegates' reports of one inference as one.
report::NpuReport joined(const std::vector<simulate::Report>& reports, const std::vector<npu::CompiledNetwork>& notes,
                         const plan::Target& target) {
  report::NpuReport all;
  for (size_t i = 0; i < reports.size(); ++i) {
    report::NpuReport one =
        npu_report(reports[i], i < notes.size() ? notes[i] : npu::CompiledNetwork{}, target, simulate::Occupied::kOn);
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

Sample ones(std::span<const InputType> inputs) {
  Sample sample;
  for (const InputType& input : inputs) {
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

Result<RunOutcome> run_program(const Buffer& program, const std::string& where, const InputSource& inputs,
                               const RunOptions& options, const Log& log) {
  CARINA_TRY(const pte::Program parsed, pte::read_program(program, where));
  CARINA_TRY(const plan::Target target, target_of_program(parsed, where, options.memories, log));
  SimulatedNpu npu({.timing = options.timed ? simulate::Timing::kOn : simulate::Timing::kOff,
                    .occupied = options.timed ? simulate::Occupied::kOn : simulate::Occupied::kOff,
                    .threads = options.threads,
                    .own_system_config = target.system,
                    .own_memory_mode = target.memory});
  const ZeroedPages fast = fast_memory_of(target);
  runtime::EthosUBackend backend(npu, fast.bytes());
  VgfLoader loader = vgf_on_interpreter(options.threads);
  if (options.vgf == VgfPlace::kVulkan) {
    CARINA_TRY(loader, vgf_on_vulkan());
  }
  VgfDelegates vgf(std::move(loader));
  const std::array<runtime::Backend*, 2> backends{&backend, &vgf};
  const auto failed = [&](Diagnostics errors) {
    std::ranges::copy(npu.failure(), std::back_inserter(errors));
    std::ranges::copy(vgf.failure(), std::back_inserter(errors));
    return fail(std::move(errors));
  };
  const RunnerKernels kernels{
      .kind = options.portable_kernels ? RunnerKernels::Kind::kPortable : RunnerKernels::Kind::kHost,
      .threads = options.threads};
  auto runner = ProgramRunner::load(program, where, backends, options.data, kernels);
  if (!runner) return failed(std::move(runner).error());
  CARINA_TRY(const Sample sample, inputs((*runner)->inputs()));
  auto outputs = (*runner)->run(sample);
  if (!outputs) return failed(std::move(outputs).error());
  return RunOutcome{.outputs = *std::move(outputs),
                    .memory = (*runner)->memory(),
                    .cpu_kernels = (*runner)->kernels(),
                    .delegate_calls = (*runner)->delegate_calls(),
                    .npu = joined(npu.reports(), notes_of_calls(parsed), target),
                    .vgf_times = vgf.times()};
}

}  // namespace carina::driver
