// Compiles TOSA files for an NPU and runs them on the simulator, many files in one process.
//
//   plan_tool compile GRAPH.tosa TARGET OUT.npz [option=value ...]     Vela's raw format
//   plan_tool run GRAPH.tosa TARGET in.npy,in.npy [option=value ...]   prints cycles and memory; outputs to out=DIR
//   plan_tool --batch LIST [option=value ...]                          each line:
//   graph.tosa|target|in.npy,..|expected.npy,..|option=value,..
//
// Options: seed=N (random legal blocks), formats=linear, stripes=halves, staging=never, overlap=none, threads=N,
// memory=MODE, cascades=ROWS (wherever a cascade is possible), system=CONFIG, arena=BYTES, optimize=search or size,
// registers=overwritten (all registers change between operations), dynamic=1, out=DIR, ops=1 (list operations), time=N
// (compile N times), check=0, verify=1 (check every schedule on the way), dump=FILE (the finished schedule). Batch mode
// prints one line per case, "ok NAME" or "bad NAME: reason". The exit code is 1 if a case is bad.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "carina/check.h"
#include "frontend/tosa/flatbuffer.h"
#include "npu/payload.h"
#include "npu/registers.h"
#include "npu/vela_raw.h"
#include "plan/compile.h"
#include "plan/family/family.h"
#include "plan/schedule/text.h"
#include "plan/verify/verify.h"
#include "simulate/simulator.h"
#include "tensor/npy.h"

namespace carina::plan {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

using Settings = std::map<std::string, std::string>;
void add_setting(Settings& settings, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals != std::string::npos) settings[text.substr(0, equals)] = text.substr(equals + 1);
}
std::string get(const Settings& settings, const std::string& name, const std::string& otherwise = {}) {
  const auto found = settings.find(name);
  return found == settings.end() ? otherwise : found->second;
}

Options options_of(const Settings& settings) {
  Options options;
  options.threads = std::stoi(get(settings, "threads", "1"));
  options.arena_budget_bytes = std::stoll(get(settings, "arena", "0"));
  options.dynamic_weights = get(settings, "dynamic") == "1";
  if (get(settings, "optimize") == "search") options.optimize = Optimize::kSearch;
  if (get(settings, "optimize") == "size") options.optimize = Optimize::kSize;
  if (!get(settings, "seed").empty()) {
    options.variation.blocks = Variation::Blocks::kSeeded;
    options.variation.seed = static_cast<uint32_t>(std::stoul(get(settings, "seed")));
  }
  if (get(settings, "formats") == "linear") options.variation.formats = Variation::Formats::kLinear;
  if (get(settings, "stripes") == "halves") options.variation.stripes = Variation::Stripes::kHalves;
  options.variation.cascade_rows = std::stoll(get(settings, "cascades", "0"));
  if (get(settings, "staging") == "never") options.variation.staging = Variation::Staging::kNever;
  if (get(settings, "overlap") == "none") options.variation.overlap = Variation::Overlap::kNone;
  if (get(settings, "registers") == "overwritten") options.variation.writes = npu::StreamWriter::Writes::kAll;
  return options;
}

// Adds each rule that a schedule breaks, under the transformation's name, and each field that the text form loses.
std::function<void(std::string_view, const Schedule&)> verifier(const Target& target, Diagnostics& broken) {
  return [&](std::string_view transformation, const Schedule& schedule) {
    for (Diagnostic& found : verify(schedule, **find_family(target), target)) {
      found.where = fmt::format("after {}: {}", transformation, found.where);
      broken.push_back(std::move(found));
    }
    const auto again = parse(print(schedule), std::string(transformation));
    if (!again || *again != schedule)
      broken.push_back({.where = std::string(transformation), .what = "its text is not it"});
  };
}

// Gives every register another value. Its bits alternate, in the fields that the product has.
void overwrite_registers(npu::StreamWriter& out) {
  constexpr uint64_t kPattern = 0x5A5A5A5A5A5A;
  for (size_t i = 0; i < npu::kRegCount; ++i) {
    const auto reg = static_cast<npu::Reg>(i);
    if (!contains(npu::row_of(reg).products, out.product())) continue;
    uint64_t bits = 0;
    for (const npu::FieldRow& field : npu::fields_of(reg)) {
      if (contains(field.products, out.product())) bits |= field.mask() << field.low;
    }
    out.set_fields(reg, kPattern & bits);
  }
}

// The stream with other values in all registers after each operation, so that an operation works only if the stream
// sets every register that it uses. The stream must have been written without omitting anything.
std::vector<std::byte> with_overwritten_registers(std::span<const std::byte> payload,
                                                  const npu::AcceleratorConfig& accelerator) {
  using enum npu::Op;
  const auto parsed = npu::parse_payload(payload, "payload");
  CARINA_CHECK(parsed.has_value(), "the planner's own payload");
  const auto commands = npu::read_stream(accelerator.product, parsed->stream, "stream");
  CARINA_CHECK(commands.has_value(), "the planner's own stream");
  npu::StreamWriter out(accelerator.product, npu::StreamWriter::Writes::kAll);
  overwrite_registers(out);
  for (const npu::Command& command : *commands) {
    if (command.kind == npu::Command::Kind::kRegister) {
      out.set_fields(command.reg, command.data());
      continue;
    }
    out.op(command.op, command.param);
    if (command.op != KERNEL_WAIT && command.op != DMA_WAIT && command.op != STOP) overwrite_registers(out);
  }
  return npu::build_payload(accelerator, out.words());
}

struct Compiled {
  npu::CompiledNetwork network = {};
  double compile_ms = 0;
};

Result<Compiled> compile_file(const std::string& path, const std::string& target_name, const Settings& settings) {
  CARINA_TRY(const Buffer file, map_file(path));
  CARINA_TRY(const ir::Module module, tosa::read_tosa(file, path));
  CARINA_TRY(const Target target, find_target(target_name, get(settings, "system"), get(settings, "memory")));
  Compiled compiled;
  for (int i = 0; i < std::stoi(get(settings, "time", "1")); ++i) {
    const auto start = std::chrono::steady_clock::now();
    Options options = options_of(settings);
    Diagnostics broken;
    if (const std::string dump = get(settings, "dump"); !dump.empty()) {
      options.watch = [dump](std::string_view transformation, const Schedule& schedule) {
        if (transformation == "finished") std::ofstream(dump) << print(schedule);
      };
    }
    if (get(settings, "verify") == "1") options.watch = verifier(target, broken);
    CARINA_TRY(compiled.network, compile(module.main(), target, options, {}));
    if (!broken.empty()) return fail(std::move(broken));
    if (options.variation.writes == npu::StreamWriter::Writes::kAll)
      compiled.network.command_payload =
          with_overwritten_registers(compiled.network.command_payload, target.accelerator);
    compiled.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  return compiled;
}

struct Run {
  simulate::Report report = {};
  std::vector<std::vector<std::byte>> outputs = {};
};

int64_t bytes_of(const npu::IoTensor& io) {
  int64_t bytes = io.element_bytes;
  for (const int32_t size : io.shape) bytes *= size;
  return bytes;
}

Result<Tensor> load(const std::string& path) {
  CARINA_TRY(const Buffer file, map_file(path));
  return read_npy(file, path);
}

Result<Run> simulate_network(npu::CompiledNetwork& network, const std::vector<std::string>& inputs,
                             const Settings& settings) {
  std::vector<std::byte> arena(static_cast<size_t>(network.scratch_bytes), std::byte{0xA5});
  simulate::Memory memory;
  memory.regions[0] = network.weights;
  memory.regions[1] = arena;
  std::vector<std::byte> fast(static_cast<size_t>(network.fast_scratch_bytes), std::byte{0xA5});
  if (!fast.empty()) memory.regions[2] = fast;
  for (size_t i = 0; i < network.inputs.size(); ++i) {
    CARINA_TRY(const Tensor tensor, load(inputs.at(i)));
    const npu::IoTensor& io = network.inputs[i];
    if (bytes_of(io) != static_cast<int64_t>(tensor.data.size()))
      return fail({.where = inputs[i], .what = "the input has another size"});
    std::ranges::copy(tensor.data.bytes(), arena.begin() + io.offset);
    memory.defined.push_back({.region = io.region,
                              .offset = static_cast<uint64_t>(io.offset),
                              .bytes = static_cast<uint64_t>(bytes_of(io))});
  }
  if (memory.defined.empty()) memory.defined.push_back({.region = 1, .offset = 0, .bytes = 0});
  const bool check = get(settings, "check", "1") == "1";
  const simulate::Options options{
      .timing = get(settings, "ops").empty() && check ? simulate::Timing::kOff : simulate::Timing::kOn,
      .checking = check ? simulate::Checking::kOn : simulate::Checking::kOff,
      .poison = check ? simulate::Poison::kOn : simulate::Poison::kOff,
      .threads = std::stoi(get(settings, "threads", "1")),
      .system_config = get(settings, "system"),
      .memory_mode = get(settings, "memory")};
  Run run;
  CARINA_TRY(run.report, simulate::run(network.command_payload, memory, options));
  for (const npu::IoTensor& io : network.outputs) {
    const auto begin = arena.begin() + io.offset;
    run.outputs.emplace_back(begin, begin + bytes_of(io));
  }
  return run;
}

std::string check(const std::vector<std::string>& fields, Settings settings) {
  if (fields.size() > 4) {
    for (const std::string& text : split(fields[4], ',')) add_setting(settings, text);
  }
  auto compiled = compile_file(fields[0], fields[1], settings);
  if (!compiled) return "does not compile: " + to_string(compiled.error());
  const auto run = simulate_network(compiled->network, split(fields[2], ','), settings);
  if (!run) return "does not run: " + to_string(run.error());
  if (!run->report.findings.empty()) return "finding: " + to_string(run->report.findings.front());
  const auto expected = split(fields[3], ',');
  if (expected.size() != run->outputs.size()) return fmt::format("{} outputs", run->outputs.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto tensor = load(expected[i]);
    if (!tensor) return to_string(tensor.error());
    const auto want = tensor->data.bytes();
    if (want.size() != run->outputs[i].size())
      return fmt::format("output {}: {} bytes, expected {}", i, run->outputs[i].size(), want.size());
    size_t different = 0, first = want.size();
    for (size_t k = 0; k < want.size(); ++k) {
      if (want[k] == run->outputs[i][k]) continue;
      first = std::min(first, k);
      ++different;
    }
    if (different != 0)
      return fmt::format("output {}: {} of {} bytes differ, first at {}", i, different, want.size(), first);
  }
  return {};
}

int run_batch(const std::string& path, const Settings& settings) {
  std::ifstream list(path);
  int bad = 0;
  for (std::string line; std::getline(list, line);) {
    const auto fields = split(line, '|');
    if (fields.size() < 4) continue;
    const std::string reason = check(fields, settings);
    fmt::print("{} {}{}{}\n", reason.empty() ? "ok" : "bad", fields[0], reason.empty() ? "" : ": ", reason);
    std::fflush(stdout);
    bad += reason.empty() ? 0 : 1;
  }
  return bad == 0 ? 0 : 1;
}

int report_errors(const Diagnostics& errors) {
  fmt::print(stderr, "{}\n", to_string(errors));
  return 1;
}

int compile_to(const std::vector<std::string>& arguments, const Settings& settings) {
  const auto compiled = compile_file(arguments[1], arguments[2], settings);
  if (!compiled) return report_errors(compiled.error());
  const auto bytes = npu::write_vela_raw(compiled->network);
  if (!bytes) return report_errors(bytes.error());
  if (const auto written = write_file(arguments[3], *bytes); !written) return report_errors(written.error());
  fmt::print("{} command bytes, {} constant bytes, {} arena bytes, {:.1f} ms\n",
             compiled->network.command_payload.size(), compiled->network.weights.size(),
             compiled->network.scratch_bytes, compiled->compile_ms);
  return 0;
}

void list_operations(const Compiled& compiled, const simulate::Report& report) {
  for (const simulate::OperationReport& op : report.operations) {
    std::string name;
    for (const npu::LayerNote& note : compiled.network.layers) {
      if (note.first_word <= op.word_offset && op.word_offset < note.end_word) name = note.name;
    }
    fmt::print("{:20} ifm {}x{}x{} ofm {}x{}x{} k {}x{} total {} mac {} out {} wd {} npu {} macs {} {}\n", op.name,
               op.ifm.height, op.ifm.width, op.ifm.depth, op.ofm.height, op.ofm.width, op.ofm.depth, op.kernel.height,
               op.kernel.width, op.cycles.total, op.cycles.mac, op.cycles.output, op.cycles.weight_decode,
               op.cycles.npu, op.macs, name);
  }
}

int run_once(const std::vector<std::string>& arguments, const Settings& settings) {
  auto compiled = compile_file(arguments[1], arguments[2], settings);
  if (!compiled) return report_errors(compiled.error());
  const auto run = simulate_network(compiled->network, split(arguments[3], ','), settings);
  if (!run) return report_errors(run.error());
  for (const Diagnostic& finding : run->report.findings) fmt::print("finding: {}\n", to_string(finding));
  if (!get(settings, "ops").empty()) list_operations(*compiled, run->report);
  fmt::print(
      "{} operations, {} cycles (npu {}), arena {} + {} (at least {}), constants {}, commands {}, compiled in {:.1f} "
      "ms\n",
      run->report.operations.size(), run->report.cycles.total, run->report.cycles.npu, compiled->network.scratch_bytes,
      compiled->network.fast_scratch_bytes, compiled->network.working_bound_bytes, compiled->network.weights.size(),
      compiled->network.command_payload.size(), compiled->compile_ms);
  return 0;
}

int main_of(int argc, char** argv) {
  std::vector<std::string> arguments;
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.find('=') == std::string::npos) {
      arguments.push_back(argument);
    } else {
      add_setting(settings, argument);
    }
  }
  if (arguments.size() == 2 && arguments[0] == "--batch") return run_batch(arguments[1], settings);
  if (arguments.size() == 4 && arguments[0] == "compile") return compile_to(arguments, settings);
  if (arguments.size() >= 3 && arguments[0] == "run") {
    arguments.resize(4);
    return run_once(arguments, settings);
  }
  fmt::print(stderr, "usage: see the head of plan_tool.cpp\n");
  return 2;
}

}  // namespace
}  // namespace carina::plan

int main(int argc, char** argv) {
  return carina::plan::main_of(argc, argv);
}
