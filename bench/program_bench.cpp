// Measures the runtime's time per inference of a program without delegates.
// usage: program_bench [--benchmark_...] FILE.pte INPUT.npy...
//   host      the host's kernels, one thread
//   two       the same with two threads
//   portable  the runtime's portable kernels, as on a microcontroller
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "base/io/file.h"
#include "evaluate/program_runner.h"
#include "tensor/npy.h"

namespace carina {
namespace {

using evaluate::ProgramRunner;
using Kernels = evaluate::RunnerKernels;

struct Subject {
  std::string path;
  Buffer program;
  datasets::Sample inputs;
};

void measure(benchmark::State& state, const Subject& subject, Kernels kernels) {
  auto runner = ProgramRunner::load(subject.program, subject.path, {}, {}, kernels);
  if (!runner) return state.SkipWithError(to_string(runner.error()).c_str());
  for (auto _ : state) {
    auto outputs = (*runner)->run(subject.inputs);
    if (!outputs) return state.SkipWithError(to_string(outputs.error()).c_str());
    benchmark::DoNotOptimize(outputs);
  }
}

Result<Subject> load(int count, char** arguments) {
  Subject subject{.path = arguments[1], .program = {}, .inputs = {}};
  CARINA_TRY(subject.program, map_file(arguments[1]));
  for (int i = 2; i < count; ++i) {
    CARINA_TRY(const Buffer file, map_file(arguments[i]));
    CARINA_TRY(Tensor tensor, read_npy(file, arguments[i]));
    subject.inputs.push_back(std::move(tensor));
  }
  return subject;
}

}  // namespace
}  // namespace carina

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc < 3) {
    std::fputs("usage: program_bench [--benchmark_...] FILE.pte INPUT.npy...\n", stderr);
    return 2;
  }
  const auto subject = carina::load(argc, argv);
  if (!subject) {
    std::fputs(carina::to_string(subject.error()).c_str(), stderr);
    return 1;
  }
  using carina::Kernels;
  const auto add = [&](const char* name, Kernels kernels) {
    benchmark::RegisterBenchmark(name, [&subject, kernels](benchmark::State& state) {
      carina::measure(state, *subject, kernels);
    })->UseRealTime();
  };
  add("host", {.threads = 1});
  add("two", {.threads = 2});
  add("portable", {.kind = Kernels::Kind::kPortable});
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
