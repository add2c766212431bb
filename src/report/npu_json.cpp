#include "report/report_parts_internal.h"

namespace carina::report {

namespace npu_facts = carina::npu;  // `npu` is a parameter

Json interval_json(const npu::CycleInterval& interval) {
  return {{"lowest", interval.lowest},
          {"highest", interval.highest},
          {"waits_for_memory", interval.waits_for_memory},
          {"basis", interval.basis}};
}

Json npu_json(const results::NpuReport& npu) {
  Json layers = Json::array();
  for (const results::LayerReport& layer : npu.layers) {
    layers.push_back({{"name", layer.name},
                      {"operation", layer.operation},
                      {"macs", layer.macs},
                      {"cycles", layer.cycles},
                      {"breakdown", pairs(layer.breakdown)},
                      {"causes", pairs(layer.causes)},
                      {"bottleneck", layer.bottleneck},
                      {"utilization", layer.utilization},
                      {"tosa_op", layer.tosa_op},
                      {"source", layer.source},
                      {"start_cycle", layer.start_cycle},
                      {"npu_cycles", layer.npu_cycles},
                      {"access_cycles", pairs(layer.access_cycles)},
                      {"traffic_bytes", pairs(layer.traffic_bytes)},
                      {"held_sram_bytes", layer.held_sram_bytes ? Json(*layer.held_sram_bytes) : Json(nullptr)}});
  }
  return {{"target", npu.target},
          {"system_config", npu.system_config},
          {"memory_mode", npu.memory_mode},
          {"clock_hz", npu.clock_hz},
          {"cycles", npu.cycles},
          {"cycles_interval", interval_json(npu_facts::cycle_interval(npu.target, npu.cycles, npu.memory_cycles))},
          {"macs", npu.macs},
          {"utilization", npu.utilization},
          {"layers", layers},
          {"saved_cycles", pairs(npu.saved_cycles)},
          {"traffic_bytes", pairs(npu.traffic_bytes)},
          {"pmu", pairs(npu.pmu)},
          {"macs_per_cycle", npu.macs_per_cycle},
          {"bytes_per_cycle", pairs(npu.bytes_per_cycle)}};
}

}  // namespace carina::report
