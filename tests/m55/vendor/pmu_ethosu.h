#pragma once

// As ethosu_driver.h beside this file. The values count up there; only the names matter to the runner.
#include <stdint.h>

#include "ethosu_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ethosu_pmu_event_type {
  ETHOSU_PMU_NO_EVENT = 0,
  ETHOSU_PMU_CYCLE,
  ETHOSU_PMU_NPU_IDLE,
  ETHOSU_PMU_MAC_ACTIVE,
  ETHOSU_PMU_WD_ACTIVE,
  ETHOSU_PMU_AXI0_RD_DATA_BEAT_RECEIVED,
  ETHOSU_PMU_AXI0_WR_DATA_BEAT_WRITTEN,
  ETHOSU_PMU_AXI1_RD_DATA_BEAT_RECEIVED,
  ETHOSU_PMU_SRAM_RD_DATA_BEAT_RECEIVED,
  ETHOSU_PMU_SRAM_WR_DATA_BEAT_WRITTEN,
  ETHOSU_PMU_EXT_RD_DATA_BEAT_RECEIVED,
  ETHOSU_PMU_EXT_WR_DATA_BEAT_WRITTEN,
};

void ETHOSU_PMU_Enable(struct ethosu_driver* drv);
void ETHOSU_PMU_Disable(struct ethosu_driver* drv);
uint32_t ETHOSU_PMU_Get_NumEventCounters(void);
void ETHOSU_PMU_Set_EVTYPER(struct ethosu_driver* drv, uint32_t num, enum ethosu_pmu_event_type type);
void ETHOSU_PMU_CYCCNT_Reset(struct ethosu_driver* drv);
void ETHOSU_PMU_EVCNTR_ALL_Reset(struct ethosu_driver* drv);
uint64_t ETHOSU_PMU_Get_CCNTR(struct ethosu_driver* drv);
uint32_t ETHOSU_PMU_Get_EVCNTR(struct ethosu_driver* drv, uint32_t num);

#ifdef __cplusplus
}
#endif
