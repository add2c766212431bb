#pragma once

// The functions of Arm's Ethos-U core driver that a program needs to run inferences, by the driver's own names: an image
// links either these, with a simulated NPU behind them, or a vendor's driver (docs/porting.md).

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ETHOSU_PMU_COUNTERS 8  // at most

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

// What a driver remembers; the caller's memory, filled by ethosu_init(). Nobody else looks inside.
struct ethosu_driver {
  void* fast_memory;
  size_t fast_memory_bytes;
  uint32_t config_word;
  uint32_t id_word;
  struct ethosu_driver* next;  // in the list of all that were made
  bool reserved;
  bool started;
  int result;
  bool pmu_enabled;
  uint64_t cycles;
  uint16_t events[ETHOSU_PMU_COUNTERS];
  uint64_t counts[ETHOSU_PMU_COUNTERS];
};

// 0: done. -1: no NPU answers. `base_address` and the security flags are the hardware's and have no meaning here; the fast
// memory takes the place of base address 2.
int ethosu_init(struct ethosu_driver* drv, void* base_address, const void* fast_memory, size_t fast_memory_size,
                uint32_t secure_enable, uint32_t privilege_enable);
void ethosu_deinit(struct ethosu_driver* drv);
int ethosu_soft_reset(struct ethosu_driver* drv);
int ethosu_request_power(struct ethosu_driver* drv);
void ethosu_release_power(struct ethosu_driver* drv);
void ethosu_get_driver_version(struct ethosu_driver_version* version);
void ethosu_get_hw_info(struct ethosu_driver* drv, struct ethosu_hw_info* hw);

// Runs a payload ("COP1") on at most 8 base addresses, 16-byte aligned. 0: done, -1: a fault, said on the console.
int ethosu_invoke_v3(struct ethosu_driver* drv, const void* custom_data_ptr, int custom_data_size, uint64_t* base_addr,
                     const size_t* base_addr_size, int num_base_addr, void* user_arg);
// The same in two steps; wait gives 0: done, 1: still running (never here), -1: a fault, -2: nothing was started.
int ethosu_invoke_async(struct ethosu_driver* drv, const void* custom_data_ptr, int custom_data_size,
                        uint64_t* base_addr, const size_t* base_addr_size, int num_base_addr, void* user_arg);
int ethosu_wait(struct ethosu_driver* drv, bool block);
#define ethosu_invoke(drv, custom_data_ptr, custom_data_size, base_addr, base_addr_size, num_base_addr) \
  ethosu_invoke_v3(drv, custom_data_ptr, custom_data_size, base_addr, base_addr_size, num_base_addr, NULL)

// A driver that ethosu_init() made and nobody has reserved; NULL when there is none.
struct ethosu_driver* ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver* drv);

// Called around each inference; the application may have its own.
void ethosu_inference_begin(struct ethosu_driver* drv, void* user_arg);
void ethosu_inference_end(struct ethosu_driver* drv, void* user_arg);

#ifdef __cplusplus
}
#endif
