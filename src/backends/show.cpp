#include "backends/show.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/layer_weights_internal.h"
#include "backends/memory_map_internal.h"
#include "carina/check.h"
#include "ir/text.h"
#include "npu/disassemble.h"
#include "npu/payload.h"
#include "plan/schedule/text.h"
#include "report/tables/layer_table.h"
#include "report/tables/text_table.h"

namespace carina::backends {

namespace {

using report::Align;
using report::grouped;
using report::Table;

constexpr size_t kShownElements = 16;  // of a constant

std::string config_text(const plan::Target& target) {
  std::string text =
      fmt::format("System_Config.{}\n  core_clock={:.6g}\n", target.system.name, target.system.core_clock_hz);
  for (size_t i = 0; i < target.system.ports.size(); ++i) {
    const npu::MemoryPort& port = target.system.ports[i];
    const std::string_view name = npu::name_of(port.kind);
    text += fmt::format("  axi{}_port={}\n", i, name);
    text += fmt::format("  {0}_clock_scale={1}\n  {0}_ports_used={2}\n  {0}_burst_length={3}\n", name, port.clock_scale,
                        port.ports_used, port.burst_bytes);
    text += fmt::format("  {0}_read_latency={1}\n  {0}_write_latency={2}\n  {0}_max_reads={3}\n  {0}_max_writes={4}\n",
                        name, port.read_latency_cycles, port.write_latency_cycles, port.max_reads, port.max_writes);
  }
  const npu::MemoryMode& mode = target.memory;
  text += fmt::format("Memory_Mode.{}\n  const_mem_area=Axi{}\n  arena_mem_area=Axi{}\n  cache_mem_area=Axi{}\n",
                      mode.name, mode.constants_port, mode.arena_port, mode.cache_port);
  return mode.cache_bytes == 0 ? text : text + fmt::format("  arena_cache_size={}\n", mode.cache_bytes);
}

std::string allocation_text(const plan::Schedule& schedule) {
  Table table({{.title = "from", .align = Align::kRight},
               {.title = "to", .align = Align::kRight},
               {.title = "space"},
               {.title = "address", .align = Align::kRight},
               {.title = "end", .align = Align::kRight},
               {.title = "bytes", .align = Align::kRight},
               {.title = "what"}});
  for (const results::HeldBytes& held : memory_map(schedule)) {
    table.add({std::to_string(held.first_operation), std::to_string(held.last_operation), held.memory,
               fmt::format("{:#x}", held.address_bytes), fmt::format("{:#x}", held.address_bytes + held.bytes),
               grouped(held.bytes), held.layer.empty() ? held.name : fmt::format("{} of {}", held.name, held.layer)});
  }
  return table.text(0);
}

std::string weights_text(const std::vector<results::LayerWeights>& layers) {
  Table table({{.title = "layer"},
               {.title = "weights", .align = Align::kRight},
               {.title = "encoded B", .align = Align::kRight},
               {.title = "bits per weight", .align = Align::kRight},
               {.title = "scales B", .align = Align::kRight},
               {.title = "slices", .align = Align::kRight}});
  for (const results::LayerWeights& row : layers) {
    const double bits =
        row.elements == 0 ? 0 : 8.0 * static_cast<double>(row.encoded_bytes) / static_cast<double>(row.elements);
    table.add({row.layer, grouped(row.elements), grouped(row.encoded_bytes), fmt::format("{:.2f}", bits),
               grouped(row.scale_bytes), std::to_string(row.slices)});
  }
  return table.text(0);
}

std::string commands_text(const npu::CompiledNetwork& network) {
  const auto payload = npu::parse_payload(network.command_payload, "command stream");
  CARINA_CHECK(payload.has_value() && payload->accelerator() != nullptr, "own payload");
  const npu::Product product = payload->accelerator()->product;
  const auto commands = npu::read_commands(product, payload->stream, "command stream");
  CARINA_CHECK(commands.has_value(), "own command stream");
  return npu::disassemble(product, *commands, network.layers);
}

std::string layers_text(const results::NpuReport* timing, report::LayerRows rows) {
  if (timing == nullptr) return "cycles could not be estimated\n";
  return report::layer_table({*timing}, rows, report::TableForm::kText);
}

}  // namespace

std::string show(Show what, const Shown& of) {
  switch (what) {
    case Show::kConfig:
      return config_text(of.target);
    case Show::kGraph:
      return ir::print(of.tosa, {.elide_above_elements = kShownElements});
    case Show::kSchedule:
      return plan::print(of.schedule);
    case Show::kAllocation:
      return allocation_text(of.schedule);
    case Show::kOperations:
      return layers_text(of.timing, report::LayerRows::kEach);
    case Show::kCommands:
      return commands_text(of.network);
    case Show::kWeights:
      return weights_text(layer_weights(of.tosa, of.schedule));
    case Show::kPerformance:
      return layers_text(of.timing, report::LayerRows::kFolded);
  }
  CARINA_UNREACHABLE("show", what);
}

}  // namespace carina::backends
