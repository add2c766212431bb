#include "driver/npu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "driver/estimate.h"
#include "driver/outputs.h"
#include "driver/target.h"
#include "npu/payload.h"
#include "npu/vela_raw.h"
#include "simulate/simulator.h"
#include "tensor/npy.h"

namespace carina::driver {

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

// The regions' memory, from the network's sizes.
struct Memories {
  std::vector<std::byte> weights;
  std::vector<std::byte> scratch;
  std::vector<std::byte> fast;
  simulate::Memory memory;
};

Memories make_memories(const npu::CompiledNetwork& network) {
  Memories m{.weights = network.weights,
             .scratch = std::vector<std::byte>(static_cast<size_t>(network.scratch_bytes)),
             .fast = std::vector<std::byte>(static_cast<size_t>(network.fast_scratch_bytes)),
             .memory = {}};
  m.memory.regions[static_cast<size_t>(network.weight_region)] = m.weights;
  m.memory.regions[static_cast<size_t>(network.scratch_region)] = m.scratch;
  // Without fast scratch of its own, its region is the arena itself, as in TFLite files for Shared_Sram; Vela then
  // names any region for it.
  std::span<std::byte>& fast_region = m.memory.regions[static_cast<size_t>(network.fast_scratch_region)];
  if (!m.fast.empty()) {
    fast_region = m.fast;
  } else if (fast_region.empty()) {
    fast_region = m.scratch;
  }
  return m;
}

Result<std::span<std::byte>> place_of(const npu::IoTensor& io, const simulate::Memory& memory,
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

// Integers of the network's element size: a file of another type would be taken apart without a word.
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

// Copies the inputs to their places (none given: zeros) and notes what is defined when the run starts.
Result<void> load_stream_inputs(const NpuRunRequest& request, const npu::CompiledNetwork& network,
                                simulate::Memory& memory) {
  if (!request.inputs.empty() && request.inputs.size() != network.inputs.size()) {
    return fail({.where = request.stream,
                 .what = "wrong number of inputs",
                 .expected = std::to_string(network.inputs.size()),
                 .got = std::to_string(request.inputs.size())});
  }
  memory.defined.push_back({.region = network.scratch_region});
  for (size_t i = 0; i < network.inputs.size(); ++i) {
    const npu::IoTensor& io = network.inputs[i];
    CARINA_TRY(const std::span<std::byte> place, place_of(io, memory, request.stream));
    memory.defined.push_back({.region = io.region, .offset = static_cast<uint64_t>(io.offset), .bytes = place.size()});
    if (request.inputs.empty()) continue;
    CARINA_TRY(const Buffer file, map_file(request.inputs[i]));
    CARINA_TRY(const Tensor tensor, read_npy(file, request.inputs[i]));
    CARINA_CHECKED(check_input(tensor, io, place.size(), request.inputs[i]));
    std::ranges::copy(tensor.data.bytes(), place.begin());
  }
  return {};
}

Result<std::vector<NamedTensor>> stream_outputs(const npu::CompiledNetwork& network, const simulate::Memory& memory,
                                                const std::string& where) {
  std::vector<NamedTensor> outputs;
  for (const npu::IoTensor& io : network.outputs) {
    CARINA_TRY(const std::span<std::byte> place, place_of(io, memory, where));
    outputs.push_back(
        {.name = fmt::format("output_{}", outputs.size()),
         .tensor = {.dtype = dtype_of_bytes(io.element_bytes), .shape = shape_of(io), .data = Buffer::copy_of(place)}});
  }
  return outputs;
}

}  // namespace

Result<report::RunReport> run_stream(const NpuRunRequest& request) {
  CARINA_TRY(const Buffer file, map_file(request.stream));
  CARINA_TRY(const npu::CompiledNetwork network, npu::read_vela_raw(file, request.stream));
  CARINA_TRY(const npu::Payload payload, npu::parse_payload(network.command_payload, request.stream));
  if (payload.accelerator() == nullptr)
    return fail({.where = request.stream,
                 .what = "the stream is for an NPU that Carina does not know",
                 .got = fmt::format("CONFIG {:#x}", payload.config_word)});
  CARINA_TRY(const plan::Target target, find_target({.accelerator = std::string(payload.accelerator()->name),
                                                     .system_config = request.system_config,
                                                     .memory_mode = request.memory_mode,
                                                     .config_file = request.config_file}));
  Memories memories = make_memories(network);
  CARINA_CHECKED(load_stream_inputs(request, network, memories.memory));
  const bool timed = request.timed || !request.trace_file.empty();
  const simulate::Options options{.timing = timed ? simulate::Timing::kOn : simulate::Timing::kOff,
                                  .checking = request.check ? simulate::Checking::kOn : simulate::Checking::kOff,
                                  .poison = request.poison ? simulate::Poison::kOn : simulate::Poison::kOff,
                                  .threads = request.threads,
                                  .own_system_config = target.system,
                                  .own_memory_mode = target.memory};
  CARINA_TRY(const simulate::Report simulated, simulate::run(network.command_payload, memories.memory, options));
  if (!request.trace_file.empty())
    CARINA_CHECKED(write_file(request.trace_file, simulate::perfetto_trace(simulated, target.system.core_clock_hz)));
  CARINA_TRY(const std::vector<NamedTensor> outputs, stream_outputs(network, memories.memory, request.stream));
  report::RunReport report{.program = request.stream,
                           .outputs = {},
                           .memory = {},
                           .cpu_kernels = {},
                           .delegate_calls = 1,
                           .timed = timed,
                           .npu = npu_report(simulated, network, target)};
  if (request.check) {
    report.findings.emplace();
    for (const Diagnostic& finding : simulated.findings) report.findings->push_back(to_string(finding));
  }
  CARINA_TRY(report.outputs, report_tensors(outputs, request.output_folder));
  return report;
}

}  // namespace carina::driver
