#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

#include "boards/device_profile_internal.h"
#include "execute/run_record.h"

namespace carina::boards {

namespace {

// Returns the CPU cycles of each kernel call, in order: the lines of the runner's profile (firmware/runner/perf.cpp).
//   I [carina] Profiler report, CPU cycles per operator:
//   I [carina] aten::add.out : cycle_cnt : 657 cycles (657.00 per inference)
//   I [carina] ethos-u : cycle_cnt : 6948 cycles (6948.00 per inference)
std::vector<uint64_t> kernel_cycles(std::span<const std::string> console) {
  std::vector<uint64_t> cycles;
  const auto is_head = [](const std::string& line) { return line.contains("Profiler report"); };
  for (auto line = std::ranges::find_if(console, is_head); line != console.end(); ++line) {
    constexpr std::string_view kCount = " : cycle_cnt : ";
    const size_t at = line->find(kCount);
    if (at == std::string::npos) continue;
    if (line->contains(" ethos-u : ")) break;
    const char* number = line->data() + at + kCount.size();
    std::from_chars(number, line->data() + line->size(), cycles.emplace_back());
  }
  return cycles;
}

results::NpuReport report_of(const DeviceRun& run, const execute::NpuCalls& calls, size_t call) {
  return call < run.npu.size() ? calls.report(run.npu[call], call) : results::NpuReport{};
}

}  // namespace

pte::RunRecord record_of(const DeviceRun& run, const runtime::Method& method, const execute::NpuCalls& calls) {
  const std::vector<uint64_t> kernels = kernel_cycles(run.console);
  const double ns_per_cycle = run.clock_hz > 0 ? 1e9 / run.clock_hz : 0;
  std::vector<execute::InstructionTime> times;
  size_t kernel = 0;
  size_t invocation = 0;
  double at = 0;
  for (size_t i = 0; i < method.instructions(); ++i) {
    execute::InstructionTime time{
        .instruction = i, .start_ns = static_cast<uint64_t>(at), .first_invocation = invocation};
    if (method.calls_delegate(i)) {
      time.invocations = 1;
      ++invocation;
    } else if (!method.instruction_name(i).empty()) {
      if (kernel < kernels.size()) at += static_cast<double>(kernels[kernel]) / run.inferences * ns_per_cycle;
      ++kernel;
    }
    time.end_ns = static_cast<uint64_t>(at);
    times.push_back(time);
  }
  return execute::record_of(times, method, [&](size_t call) { return report_of(run, calls, call); });
}

results::NpuReport npu_report_of(const DeviceRun& run, const execute::NpuCalls& calls) {
  std::vector<results::NpuReport> reports;
  for (size_t call = 0; call < run.npu.size(); ++call) reports.push_back(report_of(run, calls, call));
  return calls.joined(std::move(reports));
}

}  // namespace carina::boards
