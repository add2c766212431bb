#pragma once

// The functions of Arm's Ethos-U core driver that a program needs for inferences, with the driver's names. An image
// links either these functions, with a simulated NPU, or a vendor's driver (docs/porting.md).

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ETHOSU_PMU_COUNTERS 8  // maximum

#ifdef __cplusplus
extern "C" {
#endif

struct ethosu_driver_version {
  uint8_t major;
  uint8_t minor;
  uint8_t patch;
};

struct ethosu_id {
  uint32_t version_status;
  uint32_t version_minor;
  uint32_t version_major;
  uint32_t product_major;
  uint32_t arch_patch_rev;
  uint32_t arch_minor_rev;
  uint32_t arch_major_rev;
};

struct ethosu_config {
  uint32_t macs_per_cc;  // log2
  uint32_t cmd_stream_version;
  uint32_t custom_dma;
};

struct ethosu_hw_info {
  struct ethosu_id version;
  struct ethosu_config cfg;
};

// The state of a driver, in the caller's memory. ethosu_init() initializes it. Callers must not use the members.
struct ethosu_driver {
  void* fast_memory;
  size_t fast_memory_bytes;
  uint32_t config_word;
  uint32_t id_word;
  struct ethosu_driver* next;  // next driver in the list of all initialized drivers
  bool reserved;
  bool started;
  int result;
  bool pmu_enabled;
  uint64_t cycles;
  uint16_t events[ETHOSU_PMU_COUNTERS];
  uint64_t counts[ETHOSU_PMU_COUNTERS];
};

// Initializes a driver. Returns 0, or -1 if no NPU answers. `base_address` and the security flags are not used here;
// the fast memory replaces base address 2.
int ethosu_init(struct ethosu_driver* drv, void* base_address, const void* fast_memory, size_t fast_memory_size,
                uint32_t secure_enable, uint32_t privilege_enable);
void ethosu_deinit(struct ethosu_driver* drv);
int ethosu_soft_reset(struct ethosu_driver* drv);
int ethosu_request_power(struct ethosu_driver* drv);
void ethosu_release_power(struct ethosu_driver* drv);
void ethosu_get_driver_version(struct ethosu_driver_version* version);
void ethosu_get_hw_info(struct ethosu_driver* drv, struct ethosu_hw_info* hw);

// Runs a payload ("COP1") with at most 8 base addresses, 16-byte aligned. Returns 0, or -1 for a fault, which is
// printed on the console.
int ethosu_invoke_v3(struct ethosu_driver* drv, const void* custom_data_ptr, int custom_data_size, uint64_t* base_addr,
                     const size_t* base_addr_size, int num_base_addr, void* user_arg);
// The same in two steps. Wait returns 0: done; 1: still running (does not occur here); -1: a fault; -2: no inference
// was started.
int ethosu_invoke_async(struct ethosu_driver* drv, const void* custom_data_ptr, int custom_data_size,
                        uint64_t* base_addr, const size_t* base_addr_size, int num_base_addr, void* user_arg);
int ethosu_wait(struct ethosu_driver* drv, bool block);
#define ethosu_invoke(drv, custom_data_ptr, custom_data_size, base_addr, base_addr_size, num_base_addr) \
  ethosu_invoke_v3(drv, custom_data_ptr, custom_data_size, base_addr, base_addr_size, num_base_addr, NULL)

// Is called in the NPU's interrupt. A simulated NPU has none.
void ethosu_irq_handler(struct ethosu_driver* drv);

// Reserves an initialized driver that is not reserved. It waits as ethosu_semaphore_take() does. Returns NULL if there
// is none, or if the semaphore was not taken.
struct ethosu_driver* ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver* drv);

// Hooks that an application with several tasks defines, with the names of Arm's driver. The driver has a mutex around
// its list of NPUs and a semaphore that counts free NPUs. Without an application's, a semaphore that is 0 is not waited
// for: ethosu_semaphore_take() returns -1.
#define ETHOSU_SEMAPHORE_WAIT_FOREVER UINT64_MAX
void* ethosu_mutex_create(void);
void ethosu_mutex_destroy(void* mutex);
int ethosu_mutex_lock(void* mutex);
int ethosu_mutex_unlock(void* mutex);
void* ethosu_semaphore_create(void);
void ethosu_semaphore_destroy(void* sem);
int ethosu_semaphore_take(void* sem, uint64_t timeout);
int ethosu_semaphore_give(void* sem);

// Hooks that are called before and after each inference. The application may define its own.
void ethosu_inference_begin(struct ethosu_driver* drv, void* user_arg);
void ethosu_inference_end(struct ethosu_driver* drv, void* user_arg);

#ifdef __cplusplus
}
#endif
