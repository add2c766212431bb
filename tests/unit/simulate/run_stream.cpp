// Runs command streams from the command line, many in one process.
//
//   run_stream STREAM.npz -i in.npy [-i ...] [-o DIR] [--timed] [--check] [--poison] [--scalar] [--threads N] [--repeat
//   N] [--ops] run_stream --batch LIST ...    each line of LIST: stream.npz|in.npy,in.npy|expected.npy,expected.npy
//
// Batch mode prints one line per case, "ok NAME" or "bad NAME: reason". The exit code is 1 if a case is bad.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "stream_case.h"
#include "tensor/npy.h"

namespace carina::simulate {
namespace {

struct Arguments {
  Options options{};
  std::string stream{};
  std::string batch{};
  std::vector<std::string> inputs{};
  std::string output_dir{};
  int repeat = 1;
  bool list_operations = false;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t at = 0;
  while (at <= text.size()) {
    const size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto next = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    if (arg == "-i")
      a.inputs.push_back(next());
    else if (arg == "-o")
      a.output_dir = next();
    else if (arg == "--timed")
      a.options.timing = Timing::kOn;
    else if (arg == "--check")
      a.options.checking = Checking::kOn;
    else if (arg == "--poison")
      a.options.poison = Poison::kOn;
    else if (arg == "--scalar")
      a.options.kernels = Kernels::kScalar;
    else if (arg == "--threads")
      a.options.threads = std::stoi(next());
    else if (arg == "--system-config")
      a.options.system_config = next();
    else if (arg == "--memory-mode")
      a.options.memory_mode = next();
    else if (arg == "--repeat")
      a.repeat = std::stoi(next());
    else if (arg == "--ops")
      a.list_operations = true;
    else if (arg == "--batch")
      a.batch = next();
    else
      a.stream = arg;
  }
  return a;
}

void print_operations(const Report& report) {
  for (const OperationReport& op : report.operations) {
    fmt::print("{:5} {:20} ifm {}x{}x{} ofm {}x{}x{} k {}x{} total {} mac {} out {} wd {} npu {} macs {} dma {}\n",
               op.command_index, op.name, op.ifm.height, op.ifm.width, op.ifm.depth, op.ofm.height, op.ofm.width,
               op.ofm.depth, op.kernel.height, op.kernel.width, op.cycles.total, op.cycles.mac, op.cycles.output,
               op.cycles.weight_decode, op.cycles.npu, op.macs, op.dma_bytes);
  }
}

int run_single(const Arguments& a) {
  auto stream = StreamCase::load(a.stream);
  if (!stream) {
    fmt::print(stderr, "{}\n", to_string(stream.error()));
    return 1;
  }
  Simulator simulator(a.options);
  for (int i = 0; i < a.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    const auto report = stream->run(simulator, a.inputs);
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    if (!report) {
      fmt::print(stderr, "{}\n", to_string(report.error()));
      return 1;
    }
    if (i == 0) {
      for (const Diagnostic& finding : report->findings) fmt::print("finding: {}\n", to_string(finding));
      if (a.list_operations) print_operations(*report);
    }
    const double cpu_ms = 1000.0 * static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
    fmt::print("run {}: {:.3f} ms ({:.3f} ms of processor), {} operations, {} cycles\n", i, ms.count(), cpu_ms,
               report->operations.size(), report->cycles.total);
  }
  if (a.output_dir.empty()) return 0;
  for (size_t i = 0; i < stream->network().outputs.size(); ++i) {
    const npu::IoTensor& io = stream->network().outputs[i];
    constexpr DType kTypes[] = {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt32, DType::kInt64};
    const DType type = io.element_bytes == 1   ? kTypes[0]
                       : io.element_bytes == 2 ? kTypes[1]
                       : io.element_bytes == 4 ? kTypes[2]
                                               : kTypes[4];
    std::vector<int64_t> dims(io.shape.begin(), io.shape.end());
    const Tensor tensor{
        .dtype = type, .shape = Shape(std::span<const int64_t>(dims)), .data = Buffer::copy_of(stream->output(i))};
    if (auto written = write_file(fmt::format("{}/output_{}.npy", a.output_dir, i), npy_bytes(tensor)); !written) {
      fmt::print(stderr, "{}\n", to_string(written.error()));
      return 1;
    }
  }
  return 0;
}

std::string check(Simulator& simulator, const std::vector<std::string>& fields) {
  auto stream = StreamCase::load(fields[0]);
  if (!stream) return to_string(stream.error());
  const std::vector<std::string> inputs =
      fields.size() > 1 && fields[1] != "-" ? split(fields[1], ',') : std::vector<std::string>{};
  const auto report = stream->run(simulator, inputs);
  if (!report) return to_string(report.error());
  if (!report->findings.empty()) return to_string(report->findings.front());
  const auto expected = split(fields.size() > 2 ? fields[2] : "", ',');
  if (expected.size() != stream->network().outputs.size())
    return fmt::format("{} outputs", stream->network().outputs.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto tensor = load_npy(expected[i]);
    if (!tensor) return to_string(tensor.error());
    const auto difference = compare(stream->output(i), *tensor);
    if (!difference) return to_string(difference.error());
    if (difference->different != 0) {
      return fmt::format("output {}: {} of {} elements differ, by up to {}", i, difference->different,
                         difference->elements, difference->largest);
    }
  }
  return {};
}

int run_batch(const Arguments& a) {
  std::ifstream list(a.batch);
  Simulator simulator(a.options);
  int bad = 0;
  for (std::string line; std::getline(list, line);) {
    const auto fields = split(line, '|');
    if (fields.empty()) continue;
    const std::string reason = check(simulator, fields);
    fmt::print("{} {}{}{}\n", reason.empty() ? "ok" : "bad", fields[0], reason.empty() ? "" : ": ", reason);
    std::fflush(stdout);
    bad += reason.empty() ? 0 : 1;
  }
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace carina::simulate

int main(int argc, char** argv) {
  const auto arguments = carina::simulate::parse(argc, argv);
  return arguments.batch.empty() ? carina::simulate::run_single(arguments) : carina::simulate::run_batch(arguments);
}
