#include "estimate/estimate.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/memory/zeroed_pages.h"
#include "estimate/network_memory.h"
#include "npu/cost/cost.h"
#include "simulate/simulator.h"

namespace carina::estimate {

namespace {

// Notes are in the order of the stream.
const npu::LayerNote* note_at(const npu::CompiledNetwork& network, size_t word) {
  const auto after = std::ranges::upper_bound(network.layers, word, {}, &npu::LayerNote::first_word);
  if (after == network.layers.begin()) return nullptr;
  const npu::LayerNote& note = *std::prev(after);
  return word < note.end_word ? &note : nullptr;
}

std::string operation_name(const simulate::OperationReport& operation) {
  std::string name = operation.name;
  std::ranges::transform(name, name.begin(),
                         [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  return name;
}

double utilization(int64_t macs, int64_t cycles, int macs_per_cycle) {
  return cycles == 0 ? 0 : static_cast<double>(macs) / (static_cast<double>(cycles) * macs_per_cycle);
}

std::vector<std::pair<std::string, int64_t>> breakdown(const simulate::Cycles& cycles) {
  std::vector<std::pair<std::string, int64_t>> parts{{"mac", static_cast<int64_t>(cycles.mac)},
                                                     {"weight decode", static_cast<int64_t>(cycles.weight_decode)},
                                                     {"output", static_cast<int64_t>(cycles.output)},
                                                     {"dma", static_cast<int64_t>(cycles.exposed_dma)},
                                                     {"issue", static_cast<int64_t>(cycles.issue)}};
  for (int m = 0; m < simulate::kMemoryKinds; ++m) {
    const auto kind = static_cast<simulate::MemoryKind>(m);
    if (cycles.access[static_cast<size_t>(m)] > 0)
      parts.emplace_back(std::string(simulate::name_of(kind)) + " access",
                         static_cast<int64_t>(cycles.access[static_cast<size_t>(m)]));
  }
  return parts;
}

// Returns the unit of the NPU that limits the computation of an operation.
std::string_view computing_unit(const simulate::Cycles& cycles) {
  if (cycles.weight_decode > cycles.mac && cycles.weight_decode > cycles.output) return "weight decode";
  return cycles.output > cycles.mac ? "output" : "mac";
}

// Returns the memory whose port is busy longest for an operation.
std::string_view slowest_memory(const simulate::Cycles& cycles) {
  const auto slowest = std::ranges::max_element(cycles.access);
  return simulate::name_of(static_cast<simulate::MemoryKind>(std::distance(cycles.access.begin(), slowest)));
}

// Returns the parts of the total, which do not overlap: computation, the pipeline's start and end, and the additional
// time for memories and transfers.
std::vector<std::pair<std::string, int64_t>> causes(const simulate::Cycles& cycles) {
  std::vector<std::pair<std::string, int64_t>> list;
  uint64_t rest = cycles.total;
  const auto take = [&](std::string name, uint64_t wanted) {
    const uint64_t taken = std::min(rest, wanted);
    rest -= taken;
    if (taken > 0) list.emplace_back(std::move(name), static_cast<int64_t>(taken));
  };
  take("dma", cycles.exposed_dma);
  take(std::string(computing_unit(cycles)), cycles.npu - std::min(cycles.npu, cycles.issue));
  take("issue", std::min(cycles.npu, cycles.issue));
  take(std::string(slowest_memory(cycles)) + " access", rest);
  return list;
}

std::string bottleneck(const std::vector<std::pair<std::string, int64_t>>& parts) {
  const auto largest = std::ranges::max_element(parts, {}, [](const auto& part) { return part.second; });
  return largest == parts.end() || largest->second == 0 ? "-" : largest->first;
}

std::vector<std::pair<std::string, int64_t>> traffic(const simulate::TrafficByMemory& by_memory) {
  std::vector<std::pair<std::string, int64_t>> list;
  for (int m = 0; m < simulate::kMemoryKinds; ++m) {
    const simulate::Traffic& t = by_memory[static_cast<size_t>(m)];
    if (t.bytes() == 0) continue;
    const std::string memory(simulate::name_of(static_cast<simulate::MemoryKind>(m)));
    list.emplace_back(memory + " read", static_cast<int64_t>(t.read_bytes()));
    list.emplace_back(memory + " write", static_cast<int64_t>(t.write_bytes()));
  }
  return list;
}

std::vector<std::pair<std::string, int64_t>> access_cycles(const simulate::Cycles& cycles) {
  std::vector<std::pair<std::string, int64_t>> list;
  for (int m = 0; m < simulate::kMemoryKinds; ++m) {
    const auto count = static_cast<int64_t>(cycles.access[static_cast<size_t>(m)]);
    if (count > 0) list.emplace_back(simulate::name_of(static_cast<simulate::MemoryKind>(m)), count);
  }
  return list;
}

std::string port_memory(const plan::Target& target, int port) {
  return std::string(npu::name_of(target.system.ports[static_cast<size_t>(port)].kind));
}

// Returns the bandwidth of each memory at the ports, once per memory.
std::vector<std::pair<std::string, double>> port_rates(const plan::Target& target) {
  std::vector<std::pair<std::string, double>> rates;
  for (const npu::MemoryPort& port : target.system.ports) {
    const std::string name(npu::name_of(port.kind));
    if (std::ranges::find(rates, name, &std::pair<std::string, double>::first) == rates.end())
      rates.emplace_back(name, npu::port_bytes_per_cycle(target.accelerator.product, port));
  }
  return rates;
}

// Returns the use of each memory at the ports, once per memory.
std::vector<results::MemoryUse> memory_uses(const simulate::Report& simulated, const npu::CompiledNetwork& network,
                                            const plan::Target& target, size_t other_weight_bytes) {
  std::vector<results::MemoryUse> uses;
  for (const auto& [memory, bytes_per_cycle] : port_rates(target))
    uses.push_back({.memory = memory, .bytes_per_second = bytes_per_cycle * target.system.core_clock_hz});
  const auto hold = [&](int port, int64_t bytes) {
    std::ranges::find(uses, port_memory(target, port), &results::MemoryUse::memory)->held_bytes += bytes;
  };
  hold(target.memory.constants_port, static_cast<int64_t>(network.weights.size() + other_weight_bytes));
  hold(target.memory.arena_port, network.scratch_bytes);
  hold(target.memory.cache_port, network.fast_scratch_bytes);
  for (results::MemoryUse& use : uses) {
    for (int m = 0; m < simulate::kMemoryKinds; ++m) {
      if (simulate::name_of(static_cast<simulate::MemoryKind>(m)) != use.memory) continue;
      const simulate::Traffic& traffic = simulated.traffic[static_cast<size_t>(m)];
      use.feature_map_read_bytes = static_cast<int64_t>(traffic.feature_map_read_bytes);
      use.feature_map_write_bytes = static_cast<int64_t>(traffic.feature_map_write_bytes);
      use.weight_read_bytes = static_cast<int64_t>(traffic.weight_read_bytes);
      use.weight_write_bytes = static_cast<int64_t>(traffic.weight_write_bytes);
    }
  }
  return uses;
}

results::LayerReport layer_report(const simulate::OperationReport& operation, const npu::LayerNote* note,
                                  int macs_per_cycle) {
  const auto parts = breakdown(operation.cycles);
  const auto cycles = static_cast<int64_t>(operation.cycles.total);
  const auto macs = static_cast<int64_t>(operation.macs);
  return {.name = note == nullptr ? "command " + std::to_string(operation.command_index) : note->name,
          .operation = operation_name(operation),
          .macs = macs,
          .cycles = cycles,
          .breakdown = parts,
          .causes = causes(operation.cycles),
          .bottleneck = bottleneck(parts),
          .utilization = utilization(macs, cycles, macs_per_cycle),
          .nodes = note == nullptr ? std::vector<std::string>{} : note->tosa_ops,
          .source = note == nullptr || note->source_lines.empty() ? "" : note->source_lines.front(),
          .start_cycle = static_cast<int64_t>(operation.start_cycle),
          .npu_cycles = static_cast<int64_t>(operation.cycles.npu),
          .access_cycles = access_cycles(operation.cycles),
          .traffic_bytes = traffic(operation.traffic)};
}

// Adds nodes that no operation computes, because their results are views, to the layers of the viewed nodes.
void add_views(std::vector<results::LayerReport>& layers, const ir::Graph& tosa) {
  std::map<std::string, std::string> layer_of;  // by the name of a node
  for (const results::LayerReport& layer : layers) {
    for (const std::string& node : layer.nodes) layer_of.emplace(node, layer.name);
  }
  std::map<std::string, std::vector<std::string>> views;  // by the name of a layer
  std::map<size_t, std::string> layer_of_value;
  for (const ir::Node& node : tosa.nodes) {
    auto owner = layer_of.find(node.name);
    const auto source = node.inputs.empty() || !node.inputs.front().valid()
                            ? layer_of_value.end()
                            : layer_of_value.find(node.inputs.front().index());
    if (owner == layer_of.end() && source != layer_of_value.end()) {
      views[source->second].push_back(node.name);
      owner = layer_of.emplace(node.name, source->second).first;
    }
    if (owner == layer_of.end()) continue;
    for (const ir::ValueId output : node.outputs) layer_of_value.emplace(output.index(), owner->second);
  }
  for (results::LayerReport& layer : layers) std::ranges::copy(views[layer.name], std::back_inserter(layer.nodes));
}

// Nothing for networks so large that the time lines of all layers together would take seconds.
void add_saved_cycles(results::NpuReport& npu, const simulate::Report& simulated) {
  constexpr size_t kMaxSteps = 20'000'000;
  std::vector<std::string> names;  // in the order of their first operations
  std::map<std::string, std::vector<size_t>> operations;
  for (size_t i = 0; i < npu.layers.size(); ++i) {
    std::vector<size_t>& of_layer = operations[npu.layers[i].name];
    if (of_layer.empty()) names.push_back(npu.layers[i].name);
    of_layer.push_back(i);
  }
  if (names.size() * simulated.timeline.size() > kMaxSteps) return;
  for (const std::string& name : names) {
    std::vector<bool> left_out(simulated.operations.size());
    for (const size_t i : operations[name]) left_out[i] = true;
    npu.saved_cycles.emplace_back(name, npu.cycles - static_cast<int64_t>(cycles_without(simulated, left_out)));
  }
}

std::vector<simulate::KnownStream> known_streams(const npu::CompiledNetwork& network) {
  std::vector<simulate::KnownStream> streams;
  streams.reserve(network.streams.size());
  for (const npu::StreamNote& note : network.streams)
    streams.push_back(
        {.bytes = std::span(network.weights).subspan(static_cast<size_t>(note.offset), static_cast<size_t>(note.bytes)),
         .values = note.values});
  return streams;
}

Result<simulate::Report> simulated(const npu::CompiledNetwork& network, const plan::Target& target,
                                   simulate::Occupied occupied, simulate::Execution execution) {
  const ZeroedPages scratch(static_cast<size_t>(network.scratch_bytes));
  const ZeroedPages fast(static_cast<size_t>(network.fast_scratch_bytes));
  const simulate::Memory memory = network_memory(network, {.scratch = scratch.bytes(), .fast_scratch = fast.bytes()});
  const simulate::Options options{.timing = simulate::Timing::kOn,
                                  .execution = execution,
                                  .occupied = occupied,
                                  .own_system_config = target.system,
                                  .own_memory_mode = target.memory,
                                  .known_streams = known_streams(network)};
  return simulate::run(network.command_payload, memory, options);
}

}  // namespace

// A network that writes weights itself must be executed, because the time for decoding them depends on their values.
// Other networks are only timed.
Result<simulate::Report> time_network(const npu::CompiledNetwork& network, const plan::Target& target,
                                      simulate::Occupied occupied) {
  auto timed = simulated(network, target, occupied, simulate::Execution::kTimeOnly);
  return timed ? std::move(timed) : simulated(network, target, occupied, simulate::Execution::kFull);
}

results::NpuReport npu_report(const simulate::Report& simulated, const npu::CompiledNetwork& network,
                              const plan::Target& target, simulate::Occupied occupied, const ir::Graph* tosa,
                              size_t other_weight_bytes) {
  const int macs_per_cycle = target.accelerator.macs_per_cycle;
  results::NpuReport npu{.target = std::string(target.accelerator.name),
                         .system_config = std::string(target.system.name),
                         .memory_mode = std::string(target.memory.name),
                         .clock_hz = static_cast<int64_t>(target.system.core_clock_hz),
                         .cycles = static_cast<int64_t>(simulated.cycles.total),
                         .macs = static_cast<int64_t>(simulated.macs),
                         .utilization = utilization(static_cast<int64_t>(simulated.macs),
                                                    static_cast<int64_t>(simulated.cycles.total), macs_per_cycle),
                         .layers = {},
                         .traffic_bytes = traffic(simulated.traffic),
                         .pmu = {},
                         .macs_per_cycle = macs_per_cycle,
                         .bytes_per_cycle = port_rates(target),
                         .memories = memory_uses(simulated, network, target, other_weight_bytes),
                         .constants_memory = port_memory(target, target.memory.constants_port),
                         .arena_memory = port_memory(target, target.memory.arena_port),
                         .memory_cycles = memory_cycles(simulated)};
  for (const simulate::OperationReport& operation : simulated.operations) {
    const npu::LayerNote* note = note_at(network, operation.word_offset);
    results::LayerReport layer = layer_report(operation, note, macs_per_cycle);
    if (occupied == simulate::Occupied::kOn)
      layer.held_sram_bytes =
          static_cast<int64_t>(operation.held_bytes[static_cast<size_t>(simulate::MemoryKind::kSram)]);
    if (tosa != nullptr && note != nullptr && note->node) layer.tosa_op = tosa->nodes[*note->node].op.name();
    npu.layers.push_back(std::move(layer));
  }
  if (tosa != nullptr) add_views(npu.layers, *tosa);
  add_saved_cycles(npu, simulated);
  for (const simulate::PmuCounter& counter : simulated.pmu) {
    if (counter.count > 0) npu.pmu.emplace_back(std::string(counter.name), static_cast<int64_t>(counter.count));
  }
  return npu;
}

int64_t memory_cycles(const simulate::Report& simulated) {
  uint64_t waited = simulated.cycles.exposed_dma;
  for (const simulate::OperationReport& op : simulated.operations) {
    const auto slowest = std::ranges::max_element(op.cycles.access);
    if (slowest == op.cycles.access.begin() + static_cast<int>(simulate::MemoryKind::kSram)) continue;
    const uint64_t computed = op.cycles.npu + op.cycles.exposed_dma;
    waited += op.cycles.total - std::min(op.cycles.total, computed);
  }
  return static_cast<int64_t>(waited);
}

std::vector<int64_t> cycles_by_node(const simulate::Report& simulated, const npu::CompiledNetwork& network,
                                    size_t nodes) {
  std::vector<int64_t> cycles(nodes + 1, 0);
  auto rest = static_cast<int64_t>(simulated.cycles.total);
  for (const simulate::OperationReport& operation : simulated.operations) {
    const npu::LayerNote* note = note_at(network, operation.word_offset);
    if (note == nullptr || !note->node || *note->node >= nodes) continue;
    cycles[*note->node] += static_cast<int64_t>(operation.cycles.total);
    rest -= static_cast<int64_t>(operation.cycles.total);
  }
  cycles[nodes] = rest;
  return cycles;
}

}  // namespace carina::estimate
