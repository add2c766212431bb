#include "backends/ethosu_backend.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "backends/checked_plan.h"
#include "backends/ethosu_specs.h"
#include "backends/layer_weights_internal.h"
#include "backends/memory_map_internal.h"
#include "base/guarded.h"
#include "estimate/estimate.h"
#include "facts/ethosu_delegates.h"
#include "facts/executorch.h"
#include "facts/lowering_targets.h"
#include "npu/delegate_blob.h"
#include "npu/vela_raw.h"
#include "plan/schedule/text.h"

namespace carina::backends {

namespace {

// Returns the Vela flags of this compilation. A program stores the size of its fast memory nowhere else, so the flags
// give it if the memory mode does not.
std::string more_flags(const npu::CompiledNetwork& network, const plan::Target& target,
                       const DelegateOptions& options) {
  std::string flags = options.optimize == Optimize::kSize ? "--optimise=Size" : "";
  const npu::MemoryMode* mode = npu::find_memory_mode(target.memory.name);
  const int64_t of_mode = mode == nullptr ? 0 : mode->cache_bytes;
  const int64_t used = target.memory.cache_bytes == 0 ? network.fast_scratch_bytes : target.memory.cache_bytes;
  if (used > 0 && used != of_mode) flags += fmt::format("{}--arena-cache-size={}", flags.empty() ? "" : " ", used);
  return flags;
}

Result<pte::Delegate> packaged(npu::CompiledNetwork network, const plan::Target& target,
                               const DelegateOptions& options) {
  pte::Delegate delegate{
      .backend = std::string(kEthosUBackendId),
      .blob = {},
      .compile_specs =
          write_specs({.tosa_spec = std::string(npu::delegate_conventions_of(target.accelerator.product).tosa_spec),
                       .accelerator = std::string(target.accelerator.name),
                       .system_config = std::string(target.system.name),
                       .memory_mode = std::string(target.memory.name),
                       .more_flags = more_flags(network, target, options),
                       .layers = network.layers})};
  CARINA_TRY(std::vector<std::byte> blob, npu::turn_into_delegate_blob(std::move(network)));
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(blob));
  delegate.blob = Buffer(owner, *owner);
  return delegate;
}

results::DelegateReport report_of(const ir::Graph& tosa, const npu::CompiledNetwork& network) {
  return {.tosa_operators = static_cast<int64_t>(tosa.nodes.size()),
          .command_stream_bytes = static_cast<int64_t>(network.command_payload.size()),
          .weight_bytes = static_cast<int64_t>(network.weights.size()),
          .scratch_bytes = network.scratch_bytes,
          .fast_scratch_bytes = network.fast_scratch_bytes,
          .sram_bound_bytes = network.working_bound_bytes};
}

// Returns the name of a memory as in datasheets.
std::string memory_name(npu::MemoryKind kind) {
  return kind == npu::MemoryKind::kSram   ? "SRAM"
         : kind == npu::MemoryKind::kDram ? "DRAM"
                                          : std::string(npu::name_of(kind));
}

// Returns whether the request asks for more than the program and its total cost.
bool is_shown(const DelegateOptions& options) {
  return options.artifacts != Artifacts::kDrop || !options.shown.empty();
}

// Adds the estimate of cycles. A failed estimate is reported, and the program is still compiled.
void add_estimate(Delegate& delegate, const npu::CompiledNetwork& network, const ir::Graph& tosa,
                  const plan::Target& target, const DelegateOptions& options, const Log& log) {
  log.progress("estimate", 0, 1);
  const bool layers = is_shown(options);
  const auto occupied = layers ? simulate::Occupied::kOn : simulate::Occupied::kOff;
  const auto timing = guarded([&] { return estimate::time_network(network, target, occupied); });
  if (!timing) {
    log.note({.where = std::string(target.accelerator.name),
              .what = fmt::format("cycles could not be estimated: {}", timing.error().front().what),
              .severity = Severity::kWarning});
    return;
  }
  delegate.report.estimate = {.operations = static_cast<int64_t>(timing->operations.size()),
                              .macs = static_cast<int64_t>(timing->macs),
                              .cycles = static_cast<int64_t>(timing->cycles.total),
                              .memory_cycles = estimate::memory_cycles(*timing)};
  if (layers) delegate.report.layers = estimate::npu_report(*timing, network, target, occupied, &tosa);
  delegate.cycles_of_node =
      estimate::cycles_by_node(*timing, network, static_cast<size_t>(delegate.report.tosa_operators));
}

Result<Delegate> compile(const ir::Graph& tosa, const plan::Target& target, const DelegateOptions& options,
                         const Log& log) {
  if (options.dynamic_weights) {
    log.note({.where = std::string(target.accelerator.name),
              .what = "a matrix product reads a weight stream that the NPU has written: exact on the simulator, not "
                      "confirmed on silicon",
              .severity = Severity::kWarning});
  }
  const KeepSchedule keep = is_shown(options) ? KeepSchedule::kYes : KeepSchedule::kNo;
  CARINA_TRY(CheckedPlan plan, checked_plan(tosa, target, options, keep, log));
  npu::CompiledNetwork& network = plan.network;
  const plan::Schedule& finished = plan.schedule;
  Delegate delegate{.packaged = {}, .report = report_of(tosa, network), .cycles_of_node = {}, .artifacts = {}};
  delegate.report.check = std::move(plan.check);
  add_estimate(delegate, network, tosa, target, options, log);
  if (is_shown(options)) {
    delegate.report.memory_map = memory_map(finished);
    delegate.report.weights = layer_weights(tosa, finished);
  }
  const results::NpuReport* timing = delegate.report.layers ? &*delegate.report.layers : nullptr;
  for (const Show what : options.shown)
    delegate.report.shown.emplace_back(
        name_of(what),
        show(what, {.tosa = tosa, .target = target, .schedule = finished, .network = network, .timing = timing}));
  if (options.artifacts == Artifacts::kKeep) {
    CARINA_TRY(std::vector<std::byte> raw, npu::write_vela_raw(network));
    delegate.artifacts.push_back({.suffix = "vela.npz", .bytes = std::move(raw)});
    const std::string schedule = plan::print(finished);
    const auto text = std::as_bytes(std::span(schedule));
    delegate.artifacts.push_back({.suffix = "schedule.txt", .bytes = {text.begin(), text.end()}});
  }
  CARINA_TRY(delegate.packaged, packaged(std::move(network), target, options));
  return delegate;
}

}  // namespace

std::vector<std::string_view> ethosu_targets() {
  std::vector<std::string_view> names;
  for (const npu::AcceleratorConfig& accelerator : npu::kAccelerators) names.push_back(accelerator.name);
  return names;
}

Backend ethosu_backend(const plan::Target& target) {
  return {.target = std::string(target.accelerator.name),
          .system_config = std::string(target.system.name),
          .memory_mode = std::string(target.memory.name),
          .clock_hz = static_cast<int64_t>(target.system.core_clock_hz),
          .cache_bytes = target.memory.cache_bytes,
          .arena_memory = memory_name(target.arena_port().kind),
          .constants_memory = memory_name(target.constants_port().kind),
          .tosa_spec = std::string(npu::delegate_conventions_of(target.accelerator.product).tosa_spec),
          .lowering = {.name = std::string(target.accelerator.name),
                       .limits = lowering_target_of(target.accelerator.product).limits,
                       .idioms = lowering_target_of(target.accelerator.product).idioms},
          .compile = [target](const ir::Graph& tosa, const DelegateOptions& options, const Log& log) {
            return backends::compile(tosa, target, options, log);
          }};
}

}  // namespace carina::backends
