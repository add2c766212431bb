#include <algorithm>

#include "facts/npu_accelerators.h"
#include "facts/npu_pmu.h"
#include "firmware/driver/any_driver.h"
#include "firmware/driver/pmu_ethosu.h"

namespace carina::firmware {

namespace {

// All NPUs of an image are of one product, as in Arm's driver.
uint32_t event_counters() {
  const ethosu_driver* driver = any_driver();
  if (driver == nullptr) return 0;
  const uint32_t product = npu::ConfigWord::product(driver->config_word);
  return static_cast<uint32_t>(npu::pmu_counters(static_cast<npu::Product>(product)));
}

}  // namespace

}  // namespace carina::firmware

extern "C" {

void ETHOSU_PMU_Enable(ethosu_driver* drv) {
  drv->pmu_enabled = true;
}
void ETHOSU_PMU_Disable(ethosu_driver* drv) {
  drv->pmu_enabled = false;
}
uint32_t ETHOSU_PMU_Get_NumEventCounters() {
  return carina::firmware::event_counters();
}
void ETHOSU_PMU_Set_EVTYPER(ethosu_driver* drv, uint32_t num, ethosu_pmu_event_type type) {
  if (num < ETHOSU_PMU_COUNTERS) drv->events[num] = static_cast<uint16_t>(type);
}
// The simulated counters always count.
void ETHOSU_PMU_CNTR_Enable(ethosu_driver* /*drv*/, uint32_t /*mask*/) {}
void ETHOSU_PMU_CYCCNT_Reset(ethosu_driver* drv) {
  drv->cycles = 0;
}
void ETHOSU_PMU_EVCNTR_ALL_Reset(ethosu_driver* drv) {
  std::ranges::fill(drv->counts, 0);
}
uint64_t ETHOSU_PMU_Get_CCNTR(ethosu_driver* drv) {
  return drv->cycles;
}
uint32_t ETHOSU_PMU_Get_EVCNTR(ethosu_driver* drv, uint32_t num) {
  return num < ETHOSU_PMU_COUNTERS ? static_cast<uint32_t>(drv->counts[num]) : 0;
}
}
