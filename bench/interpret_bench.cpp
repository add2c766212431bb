// Measures the interpreter's time per inference of a TOSA file.
// usage: interpret_bench [--benchmark_...] FILE.tosa INPUT.npy...
//   prepare  reading the file and planning it
//   warm     one inference with a planned interpreter on one thread
//   two      the same with two threads
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "frontend/tosa/flatbuffer.h"
#include "interpret/interpreter.h"
#include "tensor/npy.h"

namespace carina {
namespace {

struct Subject {
  std::string path;
  std::vector<Tensor> inputs;
};

Result<interpret::Interpreter> prepare(const Subject& subject, int threads) {
  CARINA_TRY(const Buffer file, map_file(subject.path));
  CARINA_TRY(const ir::Module module, tosa::read_tosa(file, subject.path));
  return interpret::Interpreter::create(module, {.threads = threads, .where = subject.path});
}

void measure_prepare(benchmark::State& state, const Subject& subject) {
  for (auto _ : state) {
    auto interpreter = prepare(subject, 1);
    if (!interpreter) return state.SkipWithError(to_string(interpreter.error()).c_str());
    benchmark::DoNotOptimize(interpreter);
  }
}

void measure_warm(benchmark::State& state, const Subject& subject, int threads) {
  auto interpreter = prepare(subject, threads);
  if (!interpreter) return state.SkipWithError(to_string(interpreter.error()).c_str());
  for (auto _ : state) {
    auto outputs = interpreter->run(subject.inputs);
    if (!outputs) return state.SkipWithError(to_string(outputs.error()).c_str());
    benchmark::DoNotOptimize(outputs);
  }
}

Result<Subject> load(int count, char** arguments) {
  Subject subject{.path = arguments[1], .inputs = {}};
  for (int i = 2; i < count; ++i) {
    CARINA_TRY(const Buffer file, map_file(arguments[i]));
    CARINA_TRY(Tensor tensor, read_npy(file, arguments[i]));
    subject.inputs.push_back(std::move(tensor));
  }
  return subject;
}

}  // namespace
}  // namespace carina

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  if (count < 2) return std::fputs("usage: interpret_bench [--benchmark_...] FILE.tosa INPUT.npy...\n", stderr), 2;
  const auto subject = carina::load(count, arguments);
  if (!subject) return fmt::print(stderr, "{}\n", carina::to_string(subject.error())), 1;
  benchmark::RegisterBenchmark("prepare", [&](benchmark::State& state) {
    carina::measure_prepare(state, *subject);
  })->UseRealTime();
  benchmark::RegisterBenchmark("warm", [&](benchmark::State& state) {
    carina::measure_warm(state, *subject, 1);
  })->UseRealTime();
  benchmark::RegisterBenchmark("two", [&](benchmark::State& state) {
    carina::measure_warm(state, *subject, 2);
  })->UseRealTime();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
