// Prints the cycles of command streams under other assumptions than the cycle model's usual ones. bench/against_vela.py
// compares two compilers under each of them.
//
//   perturbed_cycles SYSTEM_CONFIG MEMORY_MODE STREAM.npz ...
//
// One line of JSON for each stream: {"nominal": cycles, "latencies halved": cycles ...}.
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "facts/npu_targets.h"
#include "stream_case.h"

namespace carina::simulate {
namespace {

void scale_latencies(npu::SystemConfig& system, double factor) {
  for (npu::MemoryPort& port : system.ports) {
    port.read_latency_cycles = static_cast<int>(port.read_latency_cycles * factor);
    port.write_latency_cycles = static_cast<int>(port.write_latency_cycles * factor);
  }
}

struct Model {
  const char* name;
  void (*change)(Options& options);
};
const std::vector<Model> kModels = {
    {.name = "nominal", .change = [](Options&) {}},
    {.name = "latencies halved", .change = [](Options& o) { scale_latencies(*o.own_system_config, 0.5); }},
    {.name = "latencies doubled", .change = [](Options& o) { scale_latencies(*o.own_system_config, 2); }},
    {.name = "second memory at half speed",
     .change = [](Options& o) { o.own_system_config->ports[1].clock_scale *= 0.5; }},
    {.name = "second memory at twice the speed",
     .change = [](Options& o) { o.own_system_config->ports[1].clock_scale *= 2; }},
    {.name = "kernels overlap", .change = [](Options& o) { o.kernel_overlap = 1; }},
    {.name = "elementwise by 16 channels", .change = [](Options& o) { o.cost.elementwise_channels = 16; }},
    {.name = "no block start", .change = [](Options& o) { o.cost.ends_factor = 0; }},
    {.name = "block start doubled", .change = [](Options& o) { o.cost.ends_factor = 2; }},
};

// Only a network that writes its own weights has to be executed.
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
  for (const Model& model : kModels) {
    Options options{.timing = Timing::kOn, .memory_mode = mode, .own_system_config = *known};
    model.change(options);
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
