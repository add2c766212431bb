#pragma once

// The performance monitors, with the names of Arm's core driver. The values of events are those of the hardware's
// registers.

#include <stddef.h>
#include <stdint.h>

#include "ethosu_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

// The driver takes the product from the NPU, so the events of all products are declared.
#define CARINA_FIRMWARE_ALL_PRODUCTS 1

#define ETHOSU_PMU_CCNT_Msk (1UL << 31)  // the cycle counter; bit n is event counter n

enum ethosu_pmu_event_type {
#define CARINA_NPU_PMU_EVENT(name, number, products) ETHOSU_PMU_##name = number,
#include "facts/npu_pmu.def"
#undef CARINA_NPU_PMU_EVENT
};

void ETHOSU_PMU_Enable(struct ethosu_driver* drv);
void ETHOSU_PMU_Disable(struct ethosu_driver* drv);
uint32_t ETHOSU_PMU_Get_NumEventCounters(void);
void ETHOSU_PMU_CNTR_Enable(struct ethosu_driver* drv, uint32_t mask);
void ETHOSU_PMU_Set_EVTYPER(struct ethosu_driver* drv, uint32_t num, enum ethosu_pmu_event_type type);
void ETHOSU_PMU_CYCCNT_Reset(struct ethosu_driver* drv);
void ETHOSU_PMU_EVCNTR_ALL_Reset(struct ethosu_driver* drv);
uint64_t ETHOSU_PMU_Get_CCNTR(struct ethosu_driver* drv);
uint32_t ETHOSU_PMU_Get_EVCNTR(struct ethosu_driver* drv, uint32_t num);

#ifdef __cplusplus
}
#endif
