#include "firmware/runner/perf.h"

#include <pmu_ethosu.h>

#include <array>
#include <string_view>

#include "firmware/board/console.h"

namespace carina::firmware {

namespace {

struct Event {
  ethosu_pmu_event_type type;
  std::string_view name;
};
#define CARINA_FIRMWARE_EVENT(name)        \
  Event {                                  \
    ETHOSU_PMU_##name, "ETHOSU_PMU_" #name \
  }

// Arm's driver is built for one product: it defines ETHOSU55, ETHOSU65 or ETHOSU85, and pmu_ethosu.h declares the
// events of that product only. Carina's driver takes the product from the NPU and declares the events of all.
#if defined(ETHOSU55) || defined(ETHOSU65) || defined(CARINA_FIRMWARE_ALL_PRODUCTS)
#define CARINA_FIRMWARE_AXI_PORTS 1
#endif
#if defined(ETHOSU85) || defined(CARINA_FIRMWARE_ALL_PRODUCTS)
#define CARINA_FIRMWARE_SRAM_AND_EXT_PORTS 1
#endif
#if !defined(CARINA_FIRMWARE_AXI_PORTS) && !defined(CARINA_FIRMWARE_SRAM_AND_EXT_PORTS)
#error "define ETHOSU55, ETHOSU65 or ETHOSU85, as the build of Arm's driver does"
#endif

// The events that ExecuTorch's runner counts. Source: its arm_perf_monitor.cpp.
#ifdef CARINA_FIRMWARE_AXI_PORTS
constexpr std::array kEvents4{CARINA_FIRMWARE_EVENT(AXI0_RD_DATA_BEAT_RECEIVED),
                              CARINA_FIRMWARE_EVENT(AXI1_RD_DATA_BEAT_RECEIVED),
                              CARINA_FIRMWARE_EVENT(AXI0_WR_DATA_BEAT_WRITTEN), CARINA_FIRMWARE_EVENT(NPU_IDLE)};
#endif
#ifdef CARINA_FIRMWARE_SRAM_AND_EXT_PORTS
constexpr std::array kEvents7{CARINA_FIRMWARE_EVENT(SRAM_RD_DATA_BEAT_RECEIVED),
                              CARINA_FIRMWARE_EVENT(SRAM_WR_DATA_BEAT_WRITTEN),
                              CARINA_FIRMWARE_EVENT(EXT_RD_DATA_BEAT_RECEIVED),
                              CARINA_FIRMWARE_EVENT(EXT_WR_DATA_BEAT_WRITTEN),
                              CARINA_FIRMWARE_EVENT(NPU_IDLE),
                              CARINA_FIRMWARE_EVENT(MAC_ACTIVE),
                              CARINA_FIRMWARE_EVENT(WD_ACTIVE)};
#endif
#undef CARINA_FIRMWARE_EVENT
constexpr size_t kMaxEvents = 7;

std::span<const Event> events_of_npu() {
#if defined(CARINA_FIRMWARE_AXI_PORTS) && defined(CARINA_FIRMWARE_SRAM_AND_EXT_PORTS)
  if (ETHOSU_PMU_Get_NumEventCounters() < kEvents7.size()) return kEvents4;
  return kEvents7;
#elif defined(CARINA_FIRMWARE_AXI_PORTS)
  return kEvents4;
#else
  return kEvents7;
#endif
}

// Sums over all delegate calls. They are global, because the driver's hooks have no context argument.
struct NpuTotals {
  std::span<const Event> events;
  uint32_t delegations = 0;
  uint64_t wait_cycles = 0;  // cycles of the CPU
  uint64_t started = 0;
  uint64_t cycles = 0;
  std::array<uint64_t, kMaxEvents> counts{};
};
NpuTotals totals;

// Prints "<name> : <cycles> <unit> (<average> per inference)".
void report_total(std::string_view name, uint64_t total, std::string_view unit, uint32_t inferences) {
  info()
      .text(name)
      .text(" : ")
      .number(static_cast<int64_t>(total))
      .text(unit)
      .text(" (")
      .fixed(static_cast<double>(total) / inferences, 2)
      .text(" per inference)");
}

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void report_events() {
  for (size_t i = 0; i < totals.events.size(); ++i)
    info()
        .text("ethosu_pmu_cntr")
        .number(static_cast<int64_t>(i))
        .text(" : ")
        .number(static_cast<int64_t>(totals.counts[i]));
  Line line = info();
  line.text("Ethos-U PMU Events:[");
  for (size_t i = 0; i < totals.events.size(); ++i) line.text(i == 0 ? "" : ", ").text(totals.events[i].name);
  line.text("]");
}

}  // namespace

extern "C" {

void ethosu_inference_begin(ethosu_driver* driver, void* /*user_arg*/) {
  ETHOSU_PMU_Enable(driver);
  ETHOSU_PMU_CNTR_Enable(driver, ETHOSU_PMU_CCNT_Msk | ((1U << totals.events.size()) - 1));
  ETHOSU_PMU_CYCCNT_Reset(driver);
  ETHOSU_PMU_EVCNTR_ALL_Reset(driver);
  totals.started = board_cycles();
}

void ethosu_inference_end(ethosu_driver* driver, void* /*user_arg*/) {
  ++totals.delegations;
  totals.wait_cycles += board_cycles() - totals.started;
  totals.cycles += ETHOSU_PMU_Get_CCNTR(driver);
  for (size_t i = 0; i < totals.events.size(); ++i)
    totals.counts[i] += ETHOSU_PMU_Get_EVCNTR(driver, static_cast<uint32_t>(i));
  ETHOSU_PMU_Disable(driver);
}
}

bool Perf::prepare(const runtime::Method& method, runtime::Arena& arena) {
  uint64_t* cycles = arena.make_array<uint64_t>(method.instructions());
  if (cycles == nullptr) return false;
  cycles_ = {cycles, method.instructions()};
  return true;
}

void Perf::choose_events(ethosu_driver& driver) {
  totals.events = events_of_npu();
  for (size_t i = 0; i < totals.events.size(); ++i)
    ETHOSU_PMU_Set_EVTYPER(&driver, static_cast<uint32_t>(i), totals.events[i].type);
}

void Perf::before(size_t /*instruction*/) {
  operator_start_ = board_cycles();
}

void Perf::after(size_t instruction) {
  cycles_[instruction] += board_cycles() - operator_start_;
}

void Perf::start() {
  run_start_ = board_cycles();
}

void Perf::stop() {
  run_cycles_ += board_cycles() - run_start_;
}

void Perf::report_operators(const runtime::Method& method, uint32_t inferences) const {
  info().text("Profiler report, CPU cycles per operator:");
  uint64_t all = 0;
  for (size_t i = 0; i < cycles_.size(); ++i) {
    all += cycles_[i];
    if (method.calls_delegate(i) || method.instruction_name(i).empty()) continue;
    info()
        .text(method.instruction_name(i))
        .text(" : cycle_cnt : ")
        .number(static_cast<int64_t>(cycles_[i]))
        .text(" cycles (")
        .fixed(static_cast<double>(cycles_[i]) / inferences, 2)
        .text(" per inference)");
  }
  report_total("ethos-u : cycle_cnt", totals.wait_cycles, " cycles", inferences);
  report_total("Operator(s) total", all, " CPU cycles", inferences);
}

void Perf::report_inference(uint32_t inferences) const {
  report_total("Inference runtime", run_cycles_, " CPU cycles total", inferences);
  info().text("NOTE: ").text(board_clock_note());
  info().text("NOTE: the ratios assume that CPU and NPU run at the same frequency");
  info().text("Inference CPU ratio: ").fixed(100.0 - percent(totals.wait_cycles, run_cycles_), 2).text(" %");
  info().text("Inference NPU ratio: ").fixed(percent(totals.wait_cycles, run_cycles_), 2).text(" %");
  report_total("cpu_wait_for_npu_cntr", totals.wait_cycles, " CPU cycles", inferences);
}

void Perf::report(const runtime::Method& method, uint32_t inferences) const {
  info().text("NPU Inferences : ").number(inferences);
  info()
      .text("NPU delegations: ")
      .number(totals.delegations)
      .text(" (")
      .fixed(static_cast<double>(totals.delegations) / inferences, 2)
      .text(" per inference)");
  report_operators(method, inferences);
  report_inference(inferences);
  info().text("Ethos-U PMU report:");
  info().text("ethosu_pmu_cycle_cntr : ").number(static_cast<int64_t>(totals.cycles));
  report_events();
}

}  // namespace carina::firmware
