#include "simulate/pmu_internal.h"

#include <algorithm>
#include <array>

#include "facts/npu_pmu.h"

namespace carina::simulate {

namespace {

using npu::PmuEvent;

// What one run counted, before it is put under event numbers.
struct Counts {
  uint64_t total = 0;
  uint64_t mac = 0;
  uint64_t mac16 = 0;
  uint64_t output = 0;
  uint64_t output16 = 0;
  uint64_t weight_decode = 0;
  uint64_t mac_waits_for_weights = 0;
  std::array<uint64_t, 2> read_bytes{};  // SRAM's port, the other port
  std::array<uint64_t, 2> write_bytes{};
};

Counts counts_of(const Report& report) {
  Counts counts{.total = report.cycles.total};
  for (const OperationReport& op : report.operations) {
    counts.mac += op.cycles.mac;
    counts.output += op.cycles.output;
    counts.weight_decode += op.cycles.weight_decode;
    counts.mac_waits_for_weights += op.cycles.weight_decode - std::min(op.cycles.weight_decode, op.cycles.mac);
    if (op.ifm_bits == 16) counts.mac16 += op.cycles.mac;
    if (op.ofm_bits == 16) counts.output16 += op.cycles.output;
  }
  for (int m = 0; m < kMemoryKinds; ++m) {
    if (m == static_cast<int>(MemoryKind::kInternal)) continue;
    const size_t port = m == static_cast<int>(MemoryKind::kSram) ? 0 : 1;
    counts.read_bytes[port] += report.traffic[static_cast<size_t>(m)].read_bytes();
    counts.write_bytes[port] += report.traffic[static_cast<size_t>(m)].write_bytes();
  }
  return counts;
}

struct EventRow {
  PmuEvent event;
  npu::Products products;
  uint64_t (*count)(const Counts&, uint64_t beat_bytes);
};
constexpr std::array kEvents = {
    EventRow{PmuEvent::CYCLE, npu::Products::kAll, [](const Counts& c, uint64_t) { return c.total; }},
    EventRow{PmuEvent::NPU_IDLE, npu::Products::kAll, [](const Counts&, uint64_t) { return uint64_t{0}; }},
    EventRow{PmuEvent::NPU_ACTIVE, npu::Products::kAll, [](const Counts& c, uint64_t) { return c.total; }},
    EventRow{PmuEvent::MAC_ACTIVE, npu::Products::kAll, [](const Counts& c, uint64_t) { return c.mac; }},
    EventRow{PmuEvent::MAC_ACTIVE_8BIT, npu::Products::kU55U65,
             [](const Counts& c, uint64_t) { return c.mac - c.mac16; }},
    EventRow{PmuEvent::MAC_ACTIVE_16BIT, npu::Products::kU55U65, [](const Counts& c, uint64_t) { return c.mac16; }},
    EventRow{PmuEvent::MAC_DPU_ACTIVE, npu::Products::kAll, [](const Counts& c, uint64_t) { return c.mac; }},
    EventRow{PmuEvent::MAC_STALLED_BY_W, npu::Products::kU85,
             [](const Counts& c, uint64_t) { return c.mac_waits_for_weights; }},
    EventRow{PmuEvent::AO_ACTIVE, npu::Products::kAll, [](const Counts& c, uint64_t) { return c.output; }},
    EventRow{PmuEvent::AO_ACTIVE_8BIT, npu::Products::kU55U65,
             [](const Counts& c, uint64_t) { return c.output - c.output16; }},
    EventRow{PmuEvent::AO_ACTIVE_16BIT, npu::Products::kU55U65, [](const Counts& c, uint64_t) { return c.output16; }},
    EventRow{PmuEvent::WD_ACTIVE, npu::Products::kAll, [](const Counts& c, uint64_t) { return c.weight_decode; }},
    EventRow{PmuEvent::AXI0_RD_DATA_BEAT_RECEIVED, npu::Products::kAll,
             [](const Counts& c, uint64_t beat) { return c.read_bytes[0] / beat; }},
    EventRow{PmuEvent::AXI0_WR_DATA_BEAT_WRITTEN, npu::Products::kAll,
             [](const Counts& c, uint64_t beat) { return c.write_bytes[0] / beat; }},
    EventRow{PmuEvent::AXI1_RD_DATA_BEAT_RECEIVED, npu::Products::kAll,
             [](const Counts& c, uint64_t beat) { return c.read_bytes[1] / beat; }},
    EventRow{PmuEvent::AXI1_WR_DATA_BEAT_WRITTEN, npu::Products::kAll,
             [](const Counts& c, uint64_t beat) { return c.write_bytes[1] / beat; }},
};

}  // namespace

std::vector<PmuCounter> count_events(const Report& report, const npu::AcceleratorConfig& accelerator) {
  const Counts counts = counts_of(report);
  const auto beat_bytes = static_cast<uint64_t>(npu::limits_of(accelerator.product).axi_port_bytes);
  std::vector<PmuCounter> counters;
  for (const EventRow& row : kEvents) {
    if (!npu::contains(row.products, accelerator.product)) continue;
    counters.push_back({.event = static_cast<uint16_t>(row.event),
                        .name = npu::name_of(row.event, accelerator.product),
                        .count = row.count(counts, beat_bytes)});
  }
  return counters;
}

}  // namespace carina::simulate
