// Measures the simulated NPU's time per inference of a command stream (Vela's raw .npz, from Carina or Vela) on one
// thread. Inputs are zeros, because times do not depend on the data. usage: simulate_bench [--benchmark_...] STREAM.npz
//   cold   a new simulator: weights are decoded
//   warm   the second and later inferences
//   timed  warm, with the cycle model
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/memory/mapped_pages.h"
#include "npu/vela_raw.h"
#include "simulate/simulator.h"

namespace carina {
namespace {

// A network with its memories. It must not move, because `memory` points into it.
struct Subject {
  npu::NetworkInFile raw;
  std::vector<std::byte> scratch;
  std::vector<std::byte> fast;
  simulate::Memory memory;
};

Result<void> load(const std::string& path, Subject& subject) {
  CARINA_TRY(const Buffer file, map_large_file(path));
  CARINA_TRY(subject.raw, npu::read_vela_raw_in_place(file, path));
  const npu::CompiledNetwork& network = subject.raw.network;
  const std::span<const std::byte> weights = subject.raw.weights.bytes();
  release_pages_around(weights);
  subject.scratch.resize(static_cast<size_t>(network.scratch_bytes));
  subject.fast.resize(static_cast<size_t>(network.fast_scratch_bytes));
  // If there is no separate fast scratch, that region is the arena.
  subject.memory.regions[static_cast<size_t>(network.fast_scratch_region)] =
      subject.fast.empty() ? subject.scratch : subject.fast;
  subject.memory.regions[static_cast<size_t>(network.scratch_region)] = subject.scratch;
  subject.memory.read_only[static_cast<size_t>(network.weight_region)] = true;
  subject.memory.regions[static_cast<size_t>(network.weight_region)] = {const_cast<std::byte*>(weights.data()),
                                                                        weights.size()};
  return {};
}

void infer(benchmark::State& state, const Subject& subject, simulate::Simulator& simulator) {
  auto report = simulator.run(subject.raw.network.command_payload, subject.memory);
  if (!report) state.SkipWithError(to_string(report.error()).c_str());
  benchmark::DoNotOptimize(report);
}

void measure_cold(benchmark::State& state, const Subject& subject) {
  for (auto _ : state) {
    simulate::Simulator simulator(
        {.threads = 1, .has_read = [behind = PageReleaser()](auto read) mutable { behind.add(read); }});
    infer(state, subject, simulator);
  }
}

void measure_warm(benchmark::State& state, const Subject& subject, simulate::Timing timing) {
  simulate::Simulator simulator(
      {.timing = timing, .threads = 1, .has_read = [behind = PageReleaser()](auto read) mutable { behind.add(read); }});
  infer(state, subject, simulator);
  for (auto _ : state) infer(state, subject, simulator);
}

}  // namespace
}  // namespace carina

int main(int count, char** arguments) {
  using carina::simulate::Timing;
  benchmark::Initialize(&count, arguments);
  if (count != 2) return std::fputs("usage: simulate_bench [--benchmark_...] STREAM.npz\n", stderr), 2;
  carina::Subject subject;
  if (const auto loaded = carina::load(arguments[1], subject); !loaded)
    return fmt::print(stderr, "{}\n", carina::to_string(loaded.error())), 1;
  benchmark::RegisterBenchmark("cold", [&](benchmark::State& state) {
    carina::measure_cold(state, subject);
  })->UseRealTime();
  benchmark::RegisterBenchmark("warm", [&](benchmark::State& state) {
    carina::measure_warm(state, subject, Timing::kOff);
  })->UseRealTime();
  benchmark::RegisterBenchmark("timed", [&](benchmark::State& state) {
    carina::measure_warm(state, subject, Timing::kOn);
  })->UseRealTime();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
