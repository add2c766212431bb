#pragma once

// The performance monitors as Arm's core driver declares them: for the one product of the build, which ETHOSU55,
// ETHOSU65 or ETHOSU85 names, and with the events of that product only. The values count up there; only the names
// matter to the runner. As ethosu_driver.h beside this file.
#include <stdint.h>

#include "ethosu_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ETHOSU_PMU_CCNT_Msk (1UL << 31)

#define CARINA_EVENT_OF_PRODUCT(name) ETHOSU_PMU_##name,
#define CARINA_EVENT_OF_ANOTHER(name)
#define CARINA_EVENT_kAll CARINA_EVENT_OF_PRODUCT
#if defined(ETHOSU85)
#define CARINA_EVENT_kU55U65 CARINA_EVENT_OF_ANOTHER
#define CARINA_EVENT_kU85 CARINA_EVENT_OF_PRODUCT
#else
#define CARINA_EVENT_kU55U65 CARINA_EVENT_OF_PRODUCT
#define CARINA_EVENT_kU85 CARINA_EVENT_OF_ANOTHER
#endif
enum ethosu_pmu_event_type {
#define CARINA_NPU_PMU_EVENT(name, number, products) CARINA_EVENT_##products(name)
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
