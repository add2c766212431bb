// Measures the time per run of a session (carina/session.h) on a program with delegates for an NPU.
// usage: session_bench [--benchmark_...] FILE.pte INPUT.npy...
//   one   one session
//   two   two threads, each with a clone of it: the time of a run divided by two
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "carina/session.h"
#include "tensor/npy.h"

namespace carina {
namespace {

struct Subject {
  Session session;
  datasets::Sample inputs;
};

Result<Subject> load(int count, char** arguments) {
  CARINA_TRY(Session session, Session::load_file(arguments[1]));
  Subject subject{.session = std::move(session), .inputs = {}};
  for (int i = 2; i < count; ++i) {
    CARINA_TRY(const Buffer file, map_file(arguments[i]));
    CARINA_TRY(Tensor tensor, read_npy(file, arguments[i]));
    subject.inputs.push_back(std::move(tensor));
  }
  return subject;
}

void measure(benchmark::State& state, const Subject& subject) {
  auto session = subject.session.clone();
  if (!session) return state.SkipWithError(to_string(session.error()).c_str());
  for (auto _ : state) {
    auto outputs = session->run(subject.inputs);
    if (!outputs) return state.SkipWithError(to_string(outputs.error()).c_str());
    benchmark::DoNotOptimize(outputs);
  }
}

}  // namespace
}  // namespace carina

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc < 3) {
    std::fputs("usage: session_bench [--benchmark_...] FILE.pte INPUT.npy...\n", stderr);
    return 2;
  }
  const auto subject = carina::load(argc, argv);
  if (!subject) {
    std::fputs(carina::to_string(subject.error()).c_str(), stderr);
    return 1;
  }
  const auto run = [&subject](benchmark::State& state) { carina::measure(state, *subject); };
  benchmark::RegisterBenchmark("one", run)->UseRealTime();
  benchmark::RegisterBenchmark("two", run)->Threads(2)->UseRealTime();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
