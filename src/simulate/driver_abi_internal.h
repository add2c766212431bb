#pragma once

// A C interface with the shape of Arm's Ethos-U core driver, implemented by the simulator. Firmware and other runtimes
// link it instead of the driver. All names have the prefix carina_, so that both can be in one program. A program that
// replaces the driver defines CARINA_ETHOSU_REPLACE_DRIVER first; the macros below then map ethosu_x to
// carina_ethosu_x.
//
// Return values are those of the driver: 0 done, 1 still running, -1 fault or time-out, -2 nothing was started. Base
// pointers are host addresses. carina_ethosu_wait() with block = false may return 1; results are complete after 0.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct carina_ethosu_driver;

struct carina_ethosu_driver_version {
  uint8_t major;
  uint8_t minor;
  uint8_t patch;
};

struct carina_ethosu_hw_info {
  uint32_t config_word;  // of the CONFIG register
  uint32_t id_word;      // of the ID register
  uint32_t macs_per_cycle;
  char name[32];  // "ethos-u55-128"
};

// Creates an NPU of this name. `fast_memory`, if given, replaces base pointer 2. Returns NULL if there is no such NPU.
struct carina_ethosu_driver* carina_ethosu_init(const char* npu_name, void* fast_memory, size_t fast_memory_size);
void carina_ethosu_deinit(struct carina_ethosu_driver* driver);
int carina_ethosu_soft_reset(struct carina_ethosu_driver* driver);
int carina_ethosu_request_power(struct carina_ethosu_driver* driver);
void carina_ethosu_release_power(struct carina_ethosu_driver* driver);
void carina_ethosu_get_driver_version(struct carina_ethosu_driver_version* version);
void carina_ethosu_get_hw_info(struct carina_ethosu_driver* driver, struct carina_ethosu_hw_info* info);

// Runs a driver payload with these base addresses and sizes (at most 8). Inputs and outputs are where the stream
// expects them.
int carina_ethosu_invoke_v3(struct carina_ethosu_driver* driver, const void* payload, int payload_size,
                            uint64_t* const base_addr, const size_t* base_addr_size, int base_addr_count,
                            void* user_arg);
int carina_ethosu_invoke_async(struct carina_ethosu_driver* driver, const void* payload, int payload_size,
                               uint64_t* const base_addr, const size_t* base_addr_size, int base_addr_count,
                               void* user_arg);
int carina_ethosu_wait(struct carina_ethosu_driver* driver, bool block);

// Reserves one of the drivers that carina_ethosu_init() made. Waits until one is free.
struct carina_ethosu_driver* carina_ethosu_reserve_driver(void);
void carina_ethosu_release_driver(struct carina_ethosu_driver* driver);

// Called around each inference, if set.
struct carina_ethosu_hooks {
  void (*inference_begin)(struct carina_ethosu_driver* driver, void* user_arg);
  void (*inference_end)(struct carina_ethosu_driver* driver, void* user_arg);
};
void carina_ethosu_set_hooks(const struct carina_ethosu_hooks* hooks);

// The text of the last fault, or "" if there is none. It is valid until the next call on this driver.
const char* carina_ethosu_last_error(const struct carina_ethosu_driver* driver);
// STATUS[31:16]: masks of the STOP and IRQ commands of the last inference.
uint16_t carina_ethosu_irq_history(const struct carina_ethosu_driver* driver);

// Performance monitors: counters of all inferences since the reset. They are estimates (docs/cycle-model.md).
void carina_ethosu_pmu_enable(struct carina_ethosu_driver* driver);
void carina_ethosu_pmu_disable(struct carina_ethosu_driver* driver);
uint32_t carina_ethosu_pmu_get_num_event_counters(const struct carina_ethosu_driver* driver);
// `event` is the driver's number (facts/npu_pmu.def). Returns false for an unknown counter, or an event that the model
// does not estimate.
bool carina_ethosu_pmu_set_event_type(struct carina_ethosu_driver* driver, uint32_t counter, uint16_t event);
uint64_t carina_ethosu_pmu_get_event_counter(const struct carina_ethosu_driver* driver, uint32_t counter);
uint64_t carina_ethosu_pmu_get_cycle_counter(const struct carina_ethosu_driver* driver);
void carina_ethosu_pmu_counters_reset(struct carina_ethosu_driver* driver);

#ifdef CARINA_ETHOSU_REPLACE_DRIVER
#define ethosu_driver carina_ethosu_driver
#define ethosu_deinit carina_ethosu_deinit
#define ethosu_soft_reset carina_ethosu_soft_reset
#define ethosu_request_power carina_ethosu_request_power
#define ethosu_release_power carina_ethosu_release_power
#define ethosu_invoke_v3 carina_ethosu_invoke_v3
#define ethosu_invoke_async carina_ethosu_invoke_async
#define ethosu_wait carina_ethosu_wait
#define ethosu_reserve_driver carina_ethosu_reserve_driver
#define ethosu_release_driver carina_ethosu_release_driver
#endif

#ifdef __cplusplus
}
#endif
