#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

#include "boards/device_profile_internal.h"
#include "execute/run_record.h"

namespace carina::boards {

namespace {

// A line of the runner's profile (firmware/runner/perf.cpp).
struct OperatorCycles {
  std::string_view name;
  uint64_t cycles = 0;
};

constexpr std::string_view kNpu = "ethos-u";

// Returns the cycles of each kernel call, in order, and those in which the CPU waits for the NPU.
//   I [carina] Profiler report, CPU cycles per operator:
//   I [carina] aten::add.out : cycle_cnt : 657 cycles (657.00 per inference)
//   I [carina] ethos-u : cycle_cnt : 6948 cycles (6948.00 per inference)
std::vector<OperatorCycles> profile_of(std::span<const std::string> console) {
  std::vector<OperatorCycles> profile;
  const auto is_head = [](const std::string& line) { return line.contains("Profiler report"); };
  for (auto line = std::ranges::find_if(console, is_head); line != console.end(); ++line) {
    constexpr std::string_view kCount = " : cycle_cnt : ";
    const std::string_view text = *line;
    const size_t at = text.find(kCount);
    if (at == std::string_view::npos) continue;
    const std::string_view head = text.substr(0, at), count = text.substr(at + kCount.size());
    OperatorCycles& row = profile.emplace_back(OperatorCycles{.name = head.substr(head.rfind(' ') + 1)});
    std::from_chars(count.data(), count.data() + count.size(), row.cycles);
    if (row.name == kNpu) break;
  }
  return profile;
}

results::NpuReport report_of(const DeviceRun& run, const execute::NpuCalls& calls, size_t call) {
  return call < run.npu.size() ? calls.report(run.npu[call], call) : results::NpuReport{};
}

}  // namespace

pte::RunRecord record_of(const DeviceRun& run, const runtime::Method& method, const execute::NpuCalls& calls) {
  const std::vector<OperatorCycles> kernels = profile_of(run.console);
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
      if (kernel < kernels.size())
        at += static_cast<double>(kernels[kernel].cycles) / static_cast<double>(run.inferences) * ns_per_cycle;
      ++kernel;
    }
    time.end_ns = static_cast<uint64_t>(at);
    times.push_back(time);
  }
  return execute::record_of(times, method, [&](size_t call) { return report_of(run, calls, call); });
}

results::ConversionCycles conversion_cycles_of(const DeviceRun& run) {
  results::ConversionCycles cycles;
  for (const OperatorCycles& row : profile_of(run.console)) {
    const auto each = static_cast<int64_t>(row.cycles) / run.inferences;
    if (row.name == kNpu) cycles.npu += each;
    if (row.name.contains("quantize_per_")) cycles.cpu += each;
  }
  return cycles;
}

results::NpuReport npu_report_of(const DeviceRun& run, const execute::NpuCalls& calls) {
  std::vector<results::NpuReport> reports;
  for (size_t call = 0; call < run.npu.size(); ++call) reports.push_back(report_of(run, calls, call));
  return calls.joined(std::move(reports));
}

}  // namespace carina::boards
