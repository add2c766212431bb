#include "driver/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/file.h"
#include "driver/estimate.h"
#include "driver/layer_names.h"
#include "driver/program_runner.h"
#include "driver/simulated_npu.h"
#include "driver/target.h"
#include "facts/executorch.h"
#include "npu/delegate_blob.h"
#include "npu/payload.h"
#include "pte/reader.h"

namespace carina::driver {

namespace {

// The value of "--system-config=..." in the flags that a delegate was compiled with; empty when there is none.
std::string flag_value(const std::string& flags, std::string_view name) {
  const size_t at = flags.find(name);
  if (at == std::string::npos) return {};
  const size_t start = at + name.size();
  return flags.substr(start, flags.find(' ', start) - start);
}

// The target that the program's first Ethos-U delegate was compiled for: the NPU by its payload, the memories by its
// compile specs.
Result<plan::Target> target_of(const pte::Program& program, const RunRequest& request, const Log& log) {
  for (const pte::Plan& plan : program.plans) {
    for (const pte::Delegate& delegate : plan.delegates) {
      if (delegate.backend != kEthosUBackendId) continue;
      CARINA_TRY(const npu::CompiledNetwork network, npu::read_delegate_blob(delegate.blob, request.program));
      CARINA_TRY(const npu::Payload payload, npu::parse_payload(network.command_payload, request.program));
      if (payload.accelerator() == nullptr) break;
      TargetRequest target{.accelerator = std::string(payload.accelerator()->name),
                           .system_config = request.system_config,
                           .memory_mode = request.memory_mode,
                           .config_file = request.config_file};
      for (const auto& [key, value] : delegate.compile_specs) {
        if (key != "compile_flags") continue;
        const std::string flags(value.begin(), value.end());
        if (target.system_config.empty()) target.system_config = flag_value(flags, "--system-config=");
        if (target.memory_mode.empty()) target.memory_mode = flag_value(flags, "--memory-mode=");
      }
      auto found = find_target(target);
      if (found) return found;
      // Compiled with a vela.ini that is not at hand: only the estimates depend on it, so the family's memories stand
      // in.
      TargetRequest asked{.accelerator = target.accelerator,
                          .system_config = request.system_config,
                          .memory_mode = request.memory_mode,
                          .config_file = request.config_file};
      auto fallback = find_target(asked);
      if (fallback)
        log.note({.where = request.program,
                  .what = fmt::format("was compiled for {}, {} of another vela.ini; estimates assume {}, {}",
                                      target.system_config, target.memory_mode, fallback->system.name,
                                      fallback->memory.name),
                  .hint = "--config FILE with those sections",
                  .severity = Severity::kWarning});
      return fallback;
    }
  }
  return find_target({.accelerator = "ethos-u55-128",
                      .system_config = request.system_config,
                      .memory_mode = request.memory_mode,
                      .config_file = request.config_file});
}

// What ExecuTorch's runner feeds when it is given nothing: ones.
Sample ones(std::span<const InputType> inputs) {
  Sample sample;
  for (const InputType& input : inputs) {
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

// The layer notes of each Ethos-U delegate call, in the order of the calls.
std::vector<npu::CompiledNetwork> notes_of_calls(const pte::Program& program) {
  std::vector<npu::CompiledNetwork> calls;
  for (const pte::Instruction& instruction : program.plans.front().instructions) {
    const auto* call = std::get_if<pte::DelegateCall>(&instruction);
    if (call == nullptr) continue;
    npu::CompiledNetwork& notes = calls.emplace_back();
    for (const auto& [key, value] :
         program.plans.front().delegates[static_cast<size_t>(call->delegate)].compile_specs) {
      if (key == kLayerNamesSpec)
        notes.layers = layer_notes_of({reinterpret_cast<const char*>(value.data()), value.size()});
    }
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
    report::NpuReport one = npu_report(reports[i], i < notes.size() ? notes[i] : npu::CompiledNetwork{}, target);
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

Result<report::RunReport> run(const RunRequest& request, const Log& log) {
  CARINA_TRY(const Buffer file, map_file(request.program));
  CARINA_TRY(const pte::Program program, pte::read_program(file, request.program));
  CARINA_TRY(const plan::Target target, target_of(program, request, log));
  SimulatedNpu npu({.timing = request.timed ? simulate::Timing::kOn : simulate::Timing::kOff,
                    .threads = request.threads,
                    .own_system_config = target.system,
                    .own_memory_mode = target.memory});
  runtime::EthosUBackend backend(npu);
  const std::array<runtime::Backend*, 1> backends{&backend};
  CARINA_TRY(const std::unique_ptr<ProgramRunner> runner, ProgramRunner::load(file, request.program, backends));
  Sample sample = ones(runner->inputs());
  if (!request.inputs.empty()) {
    CARINA_TRY(sample, load_inputs(request.inputs, runner->inputs()));
  }
  const auto outputs = runner->run(sample);
  if (!outputs) {
    Diagnostics errors = outputs.error();
    std::ranges::copy(npu.failure(), std::back_inserter(errors));
    return fail(std::move(errors));
  }
  report::RunReport report{.program = request.program,
                           .outputs = {},
                           .memory = runner->memory(),
                           .cpu_kernels = runner->kernels(),
                           .delegate_calls = runner->delegate_calls(),
                           .timed = request.timed,
                           .npu = joined(npu.reports(), notes_of_calls(program), target)};
  CARINA_TRY(report.outputs, report_tensors(*outputs, request.output_folder));
  return report;
}

}  // namespace carina::driver
