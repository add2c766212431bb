// run_tosa [--threads N] [--profile] [--repeat N] FOLDER...: interprets test.tosa of each folder on in_0.npy, in_1.npy,
// ... and writes out_0.npy, ... If the interpreter rejects the graph, it writes error.txt. Tests compare these files
// with other engines.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "frontend/tosa/flatbuffer.h"
#include "interpret/interpreter.h"
#include "tensor/npy.h"

namespace carina {

namespace {

struct Arguments {
  interpret::Options options;
  int repeat = 1;
  std::vector<std::string> folders;
};

Result<std::vector<Tensor>> read_inputs(const std::string& folder, const ir::Graph& graph) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string path = fmt::format("{}/in_{}.npy", folder, i);
    CARINA_TRY(const Buffer file, map_file(path));
    CARINA_TRY(Tensor tensor, read_npy(file, path));
    const DType wanted = graph[graph.inputs[i]].dtype;
    if (element_bytes(wanted) == element_bytes(tensor.dtype)) tensor.dtype = wanted;  // npy has no i4, bf16, ...
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

void print_profile(const interpret::Interpreter& interpreter) {
  auto times = interpreter.profile();
  std::ranges::stable_sort(times, std::greater{}, &interpret::NodeTime::nanoseconds);
  for (const interpret::NodeTime& time : times) {
    fmt::print("{:>10.1f} us {:<24} {}\n",
               static_cast<double>(time.nanoseconds) / static_cast<double>(time.calls) / 1000, time.op, time.name);
  }
}

Result<void> run_folder(const std::string& folder, const Arguments& arguments) {
  CARINA_TRY(const Buffer file, map_file(folder + "/test.tosa"));
  CARINA_TRY(const ir::Module module, tosa::read_tosa(file, "test.tosa"));
  CARINA_TRY(const std::vector<Tensor> inputs, read_inputs(folder, module.main()));
  const auto begin = std::chrono::steady_clock::now();
  CARINA_TRY(interpret::Interpreter interpreter, interpret::Interpreter::create(module, arguments.options));
  const auto created = std::chrono::steady_clock::now();
  std::vector<Tensor> outputs;
  double best = 1e30;
  for (int i = 0; i < arguments.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    CARINA_TRY(outputs, interpreter.run(inputs));
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  if (arguments.repeat > 1) {
    fmt::print("{}: create {:.2f} ms, run {:.3f} ms, planned {:.1f} MB\n", folder,
               std::chrono::duration<double, std::milli>(created - begin).count(), best,
               static_cast<double>(interpreter.planned_bytes()) / 1e6);
  }
  if (arguments.options.profiling == interpret::Profiling::kOn) print_profile(interpreter);
  for (size_t i = 0; i < outputs.size(); ++i) {
    CARINA_CHECKED(write_file(fmt::format("{}/out_{}.npy", folder, i), npy_bytes(outputs[i])));
  }
  return {};
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--threads" && i + 1 < argc) {
      arguments.options.threads = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--repeat" && i + 1 < argc) {
      arguments.repeat = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--profile") {
      arguments.options.profiling = interpret::Profiling::kOn;
    } else {
      arguments.folders.push_back(word);
    }
  }
  return arguments;
}

}  // namespace

}  // namespace carina

int main(int argc, char** argv) {
  const carina::Arguments arguments = carina::parse(argc, argv);
  for (const std::string& folder : arguments.folders) {
    std::filesystem::remove(folder + "/error.txt");
    const auto done = carina::run_folder(folder, arguments);
    if (!done) std::ofstream(folder + "/error.txt") << carina::to_string(done.error()) << '\n';
  }
  return 0;
}
