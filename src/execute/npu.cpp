#include "execute/npu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/io/file.h"
#include "base/memory/copy_bytes.h"
#include "base/memory/mapped_pages.h"
#include "base/memory/zeroed_pages.h"
#include "datasets/outputs.h"
#include "estimate/estimate.h"
#include "execute/run_progress_internal.h"
#include "files/file_kind.h"
#include "frontend/tflite/reader.h"
#include "litert/compiled_graph.h"
#include "npu/payload.h"
#include "npu/vela_raw.h"
#include "npu/written_regions.h"
#include "simulate/simulator.h"
#include "targets/target.h"
#include "tensor/npy.h"

namespace carina::execute {

namespace {

DType dtype_of_bytes(int32_t bytes) {
  return bytes == 1 ? DType::kInt8 : bytes == 2 ? DType::kInt16 : bytes == 4 ? DType::kInt32 : DType::kInt64;
}

Shape shape_of(const npu::IoTensor& io) {
  size_t leading = 0;
  while (leading + 1 < io.shape.size() && io.shape[leading] == 1) ++leading;
  const std::vector<int64_t> dims(io.shape.begin() + static_cast<std::ptrdiff_t>(leading), io.shape.end());
  return Shape(dims);
}

// The memory of the regions, with the sizes of the network.
struct Memories {
  std::vector<std::byte> weights;  // a copy if the stream may write the weights
  ZeroedPages scratch;
  ZeroedPages fast;
  simulate::Memory memory;
};

Result<void> check_budget(const NpuRunRequest& request, const npu::NetworkInFile& raw) {
  const npu::CompiledNetwork& network = raw.network;
  // The reader keeps each size below 2^40. The checker stores for each byte whether it is defined, and needs a second
  // set of memory for its second run.
  const auto regions = static_cast<uint64_t>(network.scratch_bytes) + static_cast<uint64_t>(network.fast_scratch_bytes);
  const uint64_t bytes = raw.weights.size() + (request.check ? 4 * regions : request.poison ? 2 * regions : regions);
  if (bytes <= request.memory_budget_bytes) return {};
  return fail({.where = request.stream,
               .what = "the memory of the stream exceeds the memory budget",
               .expected = fmt::format("at most {} bytes", request.memory_budget_bytes),
               .got = fmt::format("{} (scratch {}, fast scratch {}, weights {})", bytes, network.scratch_bytes,
                                  network.fast_scratch_bytes, raw.weights.size()),
               .hint = "--memory-budget sets another"});
}

// A network, and whether its stream may write its weights.
struct Subject {
  npu::NetworkInFile raw;
  bool writes_weights = false;
};

Memories make_memories(const Subject& subject) {
  const npu::CompiledNetwork& network = subject.raw.network;
  const std::span<const std::byte> weights = subject.raw.weights.bytes();
  Memories m{.weights = {},
             .scratch = ZeroedPages(static_cast<size_t>(network.scratch_bytes)),
             .fast = ZeroedPages(static_cast<size_t>(network.fast_scratch_bytes)),
             .memory = {}};
  if (subject.writes_weights) m.weights.assign(weights.begin(), weights.end());
  const auto region = static_cast<size_t>(network.weight_region);
  m.memory.read_only[region] = !subject.writes_weights;
  m.memory.regions[region] =
      subject.writes_weights ? std::span(m.weights) : std::span(const_cast<std::byte*>(weights.data()), weights.size());
  m.memory.regions[static_cast<size_t>(network.scratch_region)] = m.scratch.bytes();
  // Without fast scratch, the fast region is the arena itself, as in TFLite files for Shared_Sram. Vela may use any
  // region number for it.
  std::span<std::byte>& fast_region = m.memory.regions[static_cast<size_t>(network.fast_scratch_region)];
  if (!m.fast.bytes().empty()) {
    fast_region = m.fast.bytes();
  } else if (fast_region.empty()) {
    fast_region = m.scratch.bytes();
  }
  return m;
}

Result<std::span<std::byte>> io_bytes_of(const npu::IoTensor& io, const simulate::Memory& memory,
                                         const std::string& where) {
  const std::span<std::byte> region = memory.regions[static_cast<size_t>(io.region)];
  const auto bytes = static_cast<size_t>(shape_of(io).elements()) * static_cast<size_t>(io.element_bytes);
  const auto offset = static_cast<size_t>(io.offset);
  if (offset > region.size() || bytes > region.size() - offset) {
    return fail({.where = where,
                 .what = "a network input or output lies outside its region",
                 .expected = fmt::format("at most {} bytes", region.size()),
                 .got = fmt::format("{} bytes at {}", bytes, offset)});
  }
  return region.subspan(offset, bytes);
}

Result<Buffer> stream_file(const NpuRunRequest& request) {
  Buffer file = request.file;
  if (file.size() == 0) {
    CARINA_TRY(file, map_large_file(request.stream));
  }
  CARINA_CHECKED(files::check_kind(file, request.stream, {files::FileKind::kVelaRaw, files::FileKind::kTflite}));
  return file;
}

// The only stream of a LiteRT file.
Result<npu::NetworkInFile> stream_of_tflite(const Buffer& file, const std::string& where) {
  CARINA_TRY(const tflite::Model model, tflite::read_model(file, where));
  CARINA_TRY(const litert::CompiledGraph compiled, litert::read_compiled(model, where));
  if (compiled.streams.size() != 1)
    return fail({.where = where,
                 .what = "not one command stream",
                 .expected = "one custom operator ethos-u",
                 .got = fmt::format("{}", compiled.streams.size()),
                 .hint = compiled.streams.empty() ? "carina compile makes a file with one"
                                                  : "carina run runs a file with all its operators"});
  const tflite::Subgraph& graph = model.subgraphs.front();
  const litert::NpuOperator& stream = compiled.streams.front();
  const auto is_variable = [&](int32_t i) { return graph.tensors[static_cast<size_t>(i)].is_variable; };
  if (std::ranges::any_of(stream.inputs, is_variable))
    return fail({.where = where,
                 .what = "a stream with variables, which the interpreter keeps",
                 .hint = "carina run runs the file; with --timed it gives cycles"});
  return litert::network_of(graph, compiled, stream);
}

struct GivenInput {
  Tensor tensor;
  std::string from;  // name of the input in messages
};

// Returns an empty vector if no inputs are given.
Result<std::vector<GivenInput>> given_inputs(const NpuRunRequest& request) {
  std::vector<GivenInput> given;
  for (const Tensor& array : request.arrays)
    given.push_back({.tensor = array, .from = fmt::format("input {}", given.size())});
  if (!request.arrays.empty()) return given;
  for (const std::string& path : request.inputs) {
    CARINA_TRY(const Buffer file, files::open_file(path, {files::FileKind::kNpy}));
    CARINA_TRY(Tensor tensor, read_npy(file, path));
    given.push_back({.tensor = std::move(tensor), .from = path});
  }
  return given;
}

// The element sizes must agree, because a file of another type would be misread without an error.
Result<void> check_input(const Tensor& tensor, const npu::IoTensor& io, size_t bytes, const std::string& file) {
  const size_t element = element_bytes(tensor.dtype);
  if (is_float(tensor.dtype) || element != static_cast<size_t>(io.element_bytes)) {
    return fail({.where = file,
                 .what = "the array has the wrong type for the network's input",
                 .expected = fmt::format("integers of {} bits", 8 * io.element_bytes),
                 .got = std::string(name_of(tensor.dtype))});
  }
  if (tensor.data.size() == bytes) return {};
  return fail({.where = file,
               .what = "the array has the wrong size for the network's input",
               .expected = fmt::format("{} elements: {}", bytes / element, to_string(shape_of(io))),
               .got = fmt::format("{}", tensor.data.size() / element)});
}

// Copies the inputs to their addresses (zeros if none are given), and marks them as defined.
Result<void> load_stream_inputs(const NpuRunRequest& request, const npu::CompiledNetwork& network,
                                simulate::Memory& memory) {
  CARINA_TRY(const std::vector<GivenInput> given, given_inputs(request));
  if (!given.empty() && given.size() != network.inputs.size()) {
    return fail({.where = request.stream,
                 .what = "wrong number of inputs",
                 .expected = std::to_string(network.inputs.size()),
                 .got = std::to_string(given.size())});
  }
  memory.defined.push_back({.region = network.scratch_region});
  for (size_t i = 0; i < network.inputs.size(); ++i) {
    const npu::IoTensor& io = network.inputs[i];
    CARINA_TRY(const std::span<std::byte> io_bytes, io_bytes_of(io, memory, request.stream));
    memory.defined.push_back(
        {.region = io.region, .offset = static_cast<uint64_t>(io.offset), .bytes = io_bytes.size()});
    if (given.empty()) continue;
    CARINA_CHECKED(check_input(given[i].tensor, io, io_bytes.size(), given[i].from));
    copy_bytes(given[i].tensor.data.bytes(), io_bytes);
  }
  return {};
}

Result<std::vector<datasets::NamedTensor>> stream_outputs(const npu::CompiledNetwork& network,
                                                          const simulate::Memory& memory, const std::string& where) {
  std::vector<datasets::NamedTensor> outputs;
  for (const npu::IoTensor& io : network.outputs) {
    CARINA_TRY(const std::span<std::byte> io_bytes, io_bytes_of(io, memory, where));
    outputs.push_back(
        {.name = fmt::format("output_{}", outputs.size()),
         .tensor = {
             .dtype = dtype_of_bytes(io.element_bytes), .shape = shape_of(io), .data = Buffer::copy_of(io_bytes)}});
  }
  return outputs;
}

// A network's memory with its inputs, and the result of one run.
struct StreamRun {
  Memories memories;
  simulate::Report simulated;
  std::vector<datasets::NamedTensor> outputs;
};

Result<StreamRun> simulate_stream(const NpuRunRequest& request, const Subject& subject,
                                  const simulate::Options& options) {
  const npu::CompiledNetwork& network = subject.raw.network;
  StreamRun run{.memories = make_memories(subject), .simulated = {}, .outputs = {}};
  CARINA_CHECKED(load_stream_inputs(request, network, run.memories.memory));
  CARINA_TRY(run.simulated, simulate::run(network.command_payload, run.memories.memory, options));
  CARINA_TRY(run.outputs, stream_outputs(network, run.memories.memory, request.stream));
  return run;
}

size_t different_bytes(const Tensor& a, const Tensor& b) {
  size_t count = 0;
  for (size_t i = 0; i < a.data.size(); ++i) count += a.data.bytes()[i] != b.data.bytes()[i] ? 1 : 0;
  return count;
}

// Finds outputs with bytes that depend on the memory's content before the run. The stream does not write these bytes,
// or computes them from bytes that it did not write.
Result<std::vector<std::string>> outputs_left_open(const NpuRunRequest& request, const Subject& subject,
                                                   simulate::Options options,
                                                   const std::vector<datasets::NamedTensor>& outputs) {
  options.timing = simulate::Timing::kOff;
  options.checking = simulate::Checking::kOff;
  options.poison = request.poison ? simulate::Poison::kOff : simulate::Poison::kOn;
  CARINA_TRY(const StreamRun other, simulate_stream(request, subject, options));
  std::vector<std::string> findings;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t open = different_bytes(outputs[i].tensor, other.outputs[i].tensor);
    if (open == 0) continue;
    findings.push_back(
        fmt::format("{}: {} of {} bytes depend on what was in memory before: the stream writes the output only in part",
                    outputs[i].name, open, outputs[i].tensor.data.size()));
  }
  return findings;
}

// The findings of the stream check, or no value if the check was not requested.
Result<std::optional<std::vector<std::string>>> findings_of(const NpuRunRequest& request, const Subject& subject,
                                                            const simulate::Options& options, const StreamRun& run) {
  if (!request.check) return std::nullopt;
  std::vector<std::string> findings;
  for (const Diagnostic& finding : run.simulated.findings) findings.push_back(to_string(finding));
  CARINA_TRY(const auto open, outputs_left_open(request, subject, options, run.outputs));
  std::ranges::copy(open, std::back_inserter(findings));
  return findings;
}

}  // namespace

Result<StreamOutcome> run_stream(const NpuRunRequest& request, const Log& log) {
  CARINA_TRY(const Buffer file, stream_file(request));
  Subject subject;
  CARINA_TRY(subject.raw, files::kind_of(file) == files::FileKind::kTflite
                              ? stream_of_tflite(file, request.stream)
                              : npu::read_vela_raw_in_place(file, request.stream, request.memory_budget_bytes));
  // The check of the archive has read all weights, so their pages can be released.
  release_pages_around(subject.raw.weights.bytes());
  CARINA_CHECKED(check_budget(request, subject.raw));
  const npu::CompiledNetwork& network = subject.raw.network;
  CARINA_TRY(const npu::Payload payload, npu::parse_payload(network.command_payload, request.stream));
  if (payload.accelerator() == nullptr)
    return fail({.where = request.stream,
                 .what = "the stream is for an NPU that Carina does not know",
                 .got = fmt::format("CONFIG {:#x}", payload.config_word)});
  CARINA_TRY(const plan::Target target, targets::find_target({.accelerator = std::string(payload.accelerator()->name),
                                                              .system_config = request.system_config,
                                                              .memory_mode = request.memory_mode,
                                                              .config_files = request.config_files},
                                                             log));
  // The simulator reports errors of the stream.
  subject.writes_weights = npu::may_write_weights(network, payload.accelerator()->product, payload.stream);
  const bool timed = request.timed || !request.trace_file.empty();
  const auto occupied = timed ? simulate::Occupied::kOn : simulate::Occupied::kOff;
  const simulate::Options options{.timing = timed ? simulate::Timing::kOn : simulate::Timing::kOff,
                                  .occupied = occupied,
                                  .checking = request.check ? simulate::Checking::kOn : simulate::Checking::kOff,
                                  .poison = request.poison ? simulate::Poison::kOn : simulate::Poison::kOff,
                                  .threads = request.threads,
                                  .own_system_config = target.system,
                                  .own_memory_mode = target.memory,
                                  .has_read = [releaser = PageReleaser()](auto read) mutable { releaser.add(read); },
                                  .between_operations = run_progress(log)};
  CARINA_TRY(StreamRun run, simulate_stream(request, subject, options));
  if (!request.trace_file.empty())
    CARINA_CHECKED(
        write_file(request.trace_file, simulate::perfetto_trace(run.simulated, target.system.core_clock_hz)));
  CARINA_TRY(auto findings, findings_of(request, subject, options, run));
  results::RunReport report{
      .program = request.stream,
      .outputs = {},
      .memory = {},
      .cpu_kernels = {},
      .delegate_calls = 1,
      .timed = timed,
      .npu = estimate::npu_report(run.simulated, network, target, occupied, nullptr, subject.raw.weights.size()),
      .findings = std::move(findings)};
  CARINA_TRY(report.outputs, datasets::report_tensors(run.outputs, request.output_folder));
  return StreamOutcome{.outputs = std::move(run.outputs), .report = std::move(report)};
}

}  // namespace carina::execute
