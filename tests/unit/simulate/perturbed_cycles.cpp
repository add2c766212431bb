// Prints the cycles of command streams under alternative assumptions of the cycle model (npu/cost/assumptions.h).
// bench/perturbed_models.py compares two compilers under each of them.
//
//   perturbed_cycles SYSTEM_CONFIG MEMORY_MODE STREAM.npz ...
//
// One line of JSON for each stream: {"nominal": cycles, "latencies halved": cycles ...}.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "facts/npu_targets.h"
#include "npu/cost/assumptions.h"
#include "stream_case.h"

namespace carina::simulate {
namespace {

// Only a network that writes its own weights has to be executed; the others are only timed.
Result<Report> timed(StreamCase& stream, Options options) {
  for (const Execution execution : {Execution::kTimeOnly, Execution::kFull}) {
    options.execution = execution;
    Simulator simulator(options);
    auto report = stream.run(simulator, {});
    if (report || execution == Execution::kFull) return report;
  }
  return std::unexpected(Diagnostics{});
}

int print_cycles(const std::string& system, const std::string& mode, const std::string& path) {
  const npu::SystemConfig* known = npu::find_system_config(system);
  auto stream = StreamCase::load(path);
  if (known == nullptr || !stream) {
    fmt::print(stderr, "{}: {}\n", path, known == nullptr ? "unknown system configuration" : to_string(stream.error()));
    return 1;
  }
  std::string line;
  for (const npu::Assumption& model : npu::kAssumptions) {
    Options options{.timing = Timing::kOn,
                    .memory_mode = mode,
                    .own_system_config = npu::assumed(*known, model),
                    .cost = npu::assumed(npu::kTimeLineCost, model),
                    .kernel_overlap = model.kernel_overlap};
    const auto report = timed(*stream, std::move(options));
    if (!report) {
      fmt::print(stderr, "{}: {}\n", path, to_string(report.error()));
      return 1;
    }
    line += fmt::format("{}\"{}\": {}", line.empty() ? "" : ", ", model.name, report->cycles.total);
  }
  fmt::print("{{{}}}\n", line);
  return 0;
}

}  // namespace
}  // namespace carina::simulate

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  for (int i = 3; i < argc; ++i) {
    if (const int failed = carina::simulate::print_cycles(argv[1], argv[2], argv[i]); failed != 0) return failed;
  }
  return 0;
}
