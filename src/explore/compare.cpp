#include "explore/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "backends/delegate_target.h"
#include "backends/ethosu_specs.h"
#include "base/io/file.h"
#include "driver/compile_options.h"
#include "estimate/estimate.h"
#include "explore/match_layers_internal.h"
#include "facts/executorch.h"
#include "files/file_kind.h"
#include "npu/delegate_blob.h"
#include "npu/payload.h"
#include "npu/vela_raw.h"
#include "pte/reader.h"
#include "vela/vela_program.h"

namespace carina::explore {

namespace {

// One program with its estimates.
struct Side {
  results::ComparedSide totals;
  results::NpuReport npu;  // all parts together
};

void add(std::vector<std::pair<std::string, int64_t>>& sums, const std::vector<std::pair<std::string, int64_t>>& more) {
  for (const auto& [name, count] : more) {
    const auto same = std::ranges::find(sums, name, [](const auto& sum) { return sum.first; });
    if (same == sums.end()) {
      sums.emplace_back(name, count);
    } else {
      same->second += count;
    }
  }
}

// Adds another part of a program.
void add(Side& side, const npu::CompiledNetwork& network, const results::NpuReport& part) {
  results::ComparedSide& totals = side.totals;
  totals.target = part.target;
  totals.system_config = part.system_config;
  totals.memory_mode = part.memory_mode;
  totals.clock_hz = part.clock_hz;
  totals.cycles += part.cycles;
  totals.memory_cycles += part.memory_cycles;
  totals.macs += part.macs;
  totals.operations += static_cast<int64_t>(part.layers.size());
  totals.arena_bytes = std::max(totals.arena_bytes, network.scratch_bytes);
  totals.fast_scratch_bytes = std::max(totals.fast_scratch_bytes, network.fast_scratch_bytes);
  totals.constants_bytes += static_cast<int64_t>(network.weights.size());
  totals.commands_bytes += static_cast<int64_t>(network.command_payload.size());
  add(totals.traffic_bytes, part.traffic_bytes);
  for (const results::LayerReport& layer : part.layers)
    totals.sram_bytes = std::max(totals.sram_bytes, layer.held_sram_bytes.value_or(0));
  side.npu.cycles += part.cycles;
  side.npu.macs += part.macs;
  std::ranges::copy(part.layers, std::back_inserter(side.npu.layers));
}

Result<void> time_part(Side& side, npu::CompiledNetwork network, const plan::Target& target,
                       const CompareRequest& request) {
  // A .pte does not contain the size of the fast memory. It is taken from the memory mode.
  if (network.fast_scratch_bytes == 0 && npu::has_fast_scratch(target.memory))
    network.fast_scratch_bytes = target.memory.cache_bytes;
  const int64_t bytes = network.scratch_bytes + network.fast_scratch_bytes;
  if (bytes > request.memory_budget_bytes)
    return fail({.where = side.totals.label,
                 .what = "the memory of the stream exceeds the memory budget",
                 .expected = fmt::format("at most {} bytes", request.memory_budget_bytes),
                 .got = std::to_string(bytes)});
  constexpr auto kOccupied = simulate::Occupied::kOn;
  CARINA_TRY(const simulate::Report simulated, estimate::time_network(network, target, kOccupied));
  add(side, network, estimate::npu_report(simulated, network, target, kOccupied));
  return {};
}

// Returns the NPU for which a stream was compiled.
Result<std::string> accelerator_of(const npu::CompiledNetwork& network, const std::string& where) {
  CARINA_TRY(const npu::Payload payload, npu::parse_payload(network.command_payload, where));
  if (payload.accelerator() != nullptr) return std::string(payload.accelerator()->name);
  return fail({.where = where,
               .what = "the stream is for an NPU that Carina does not know",
               .got = fmt::format("CONFIG {:#x}", payload.config_word)});
}

Result<Side> time_stream(npu::CompiledNetwork network, const std::string& label, const CompareRequest& request,
                         const Log& log) {
  targets::TargetRequest wanted = request.compile.target;
  CARINA_TRY(wanted.accelerator, accelerator_of(network, label));
  CARINA_TRY(const plan::Target target, targets::find_target(wanted, log));
  Side side{.totals = {.label = label, .target = {}, .system_config = {}, .memory_mode = {}}, .npu = {}};
  CARINA_CHECKED(time_part(side, std::move(network), target, request));
  return side;
}

// Names the layers by the debug database (--enable-debug-db) next to Vela's raw file.
void name_layers(npu::CompiledNetwork& network, const std::string& path) {
  constexpr std::string_view kEnd = "_vela.npz";
  if (!path.ends_with(kEnd)) return;
  const auto xml = map_file(path.substr(0, path.size() - kEnd.size()) + "_debug.xml");
  const auto payload = npu::parse_payload(network.command_payload, path);
  if (!xml || !payload) return;
  network.layers =
      vela::notes_of_debug_db({reinterpret_cast<const char*>(xml->data()), xml->size()}, payload->stream.size());
}

Result<Side> time_program(const Buffer& file, const std::string& path, const CompareRequest& request, const Log& log) {
  CARINA_TRY(const pte::Program program, pte::read_program(file, path));
  CARINA_TRY(targets::TargetNames asked, targets::read_names(request.compile.target));
  asked.accelerator.clear();
  Side side{.totals = {.label = path, .target = {}, .system_config = {}, .memory_mode = {}}, .npu = {}};
  for (const pte::Plan& plan : program.plans) {
    for (const pte::Delegate& delegate : plan.delegates) {
      if (!is_ethos_u(delegate.backend)) continue;
      CARINA_TRY(const std::optional<plan::Target> target, backends::target_of_delegate(delegate, asked, path, log));
      CARINA_TRY(npu::CompiledNetwork network,
                 npu::read_delegate_blob(delegate.blob, path, npu::BlobAlignment::kAny, {}));
      if (!target) CARINA_CHECKED(accelerator_of(network, path));
      network.layers = backends::read_specs(delegate.compile_specs).layers;
      CARINA_CHECKED(time_part(side, std::move(network), *target, request));
    }
  }
  if (side.totals.operations > 0) return side;
  return fail({.where = path, .what = "the program has no Ethos-U delegate"});
}

Result<Side> compile_and_time(const std::string& path, const CompareRequest& request, const Log& log) {
  driver::CompileRequest compile = request.compile;
  compile.model = path;
  compile.layers = true;
  CARINA_TRY(driver::Compiled compiled, driver::compile(compile, log));
  if (compiled.dump) CARINA_CHECKED(compiled.dump->commit());
  Side side{.totals = {.label = path, .target = {}, .system_config = {}, .memory_mode = {}}, .npu = {}};
  for (const results::DelegateReport& delegate : compiled.report.delegates) {
    npu::CompiledNetwork sizes;
    sizes.scratch_bytes = delegate.scratch_bytes;
    sizes.fast_scratch_bytes = delegate.fast_scratch_bytes;
    if (!delegate.layers) return fail({.where = path, .what = "cycles could not be estimated"});
    add(side, sizes, *delegate.layers);
    side.totals.constants_bytes += delegate.weight_bytes;
    side.totals.commands_bytes += delegate.command_stream_bytes;
  }
  if (side.totals.operations > 0) return side;
  return fail({.where = path, .what = "nothing of the model runs on the NPU"});
}

Result<Side> side_of(const std::string& path, const CompareRequest& request, const Log& log) {
  CARINA_TRY(const Buffer file,
             files::open_file(path, {files::FileKind::kPte, files::FileKind::kVelaRaw, files::FileKind::kTosa,
                                     files::FileKind::kVgf, files::FileKind::kTflite, files::FileKind::kPt2}));
  switch (files::kind_of(file)) {
    case files::FileKind::kPte:
      return time_program(file, path, request, log);
    case files::FileKind::kVelaRaw: {
      CARINA_TRY(npu::CompiledNetwork network,
                 npu::read_vela_raw(file, path, static_cast<size_t>(request.memory_budget_bytes)));
      name_layers(network, path);
      return time_stream(std::move(network), path, request, log);
    }
    default:
      break;
  }
  if (!request.compile.target.accelerator.empty()) return compile_and_time(path, request, log);
  return fail({.where = path, .what = "a model needs a target", .hint = "--target", .fault = Fault::kUsage});
}

Result<Side> side_of_vela(const CompareRequest& request, const results::ComparedSide& ours, const Log& log) {
  if (!request.a.ends_with(".tosa"))
    return fail({.where = request.a,
                 .what = "Vela takes a TOSA file",
                 .expected = "a .tosa",
                 .hint = "carina tosa, or the .tosa of `carina compile --dump DIR`",
                 .fault = Fault::kUsage});
  CARINA_TRY(const Buffer tosa, map_file(request.a));
  vela::VelaRun run{.program = request.vela, .target = request.compile.target, .optimize = request.compile.optimize};
  run.target.accelerator = ours.target;
  run.target.system_config = ours.system_config;
  run.target.memory_mode = ours.memory_mode;
  CARINA_TRY(npu::CompiledNetwork network, vela::run_vela(tosa.bytes(), run));
  return time_stream(std::move(network), "vela", request, log);
}

// Returns the request with the target and schedule settings of its Vela flags and its board.
Result<CompareRequest> with_flags(CompareRequest request, const Log& log) {
  CARINA_TRY(request.compile, driver::with_flags(std::move(request.compile), log));
  request.compile.vela_flags.clear();
  return request;
}

}  // namespace

Result<results::CompareReport> compare(const CompareRequest& given, const Log& log) {
  CARINA_TRY(const CompareRequest request, with_flags(given, log));
  CARINA_TRY(Side a, side_of(request.a, request, log));
  CARINA_TRY(Side b, request.b.empty() ? side_of_vela(request, a.totals, log) : side_of(request.b, request, log));
  explore::MatchedLayers matched = explore::match_layers(a.npu, b.npu);
  return results::CompareReport{.a = std::move(a.totals),
                                .b = std::move(b.totals),
                                .by_name = matched.by_name,
                                .layers = std::move(matched.layers)};
}

}  // namespace carina::explore
