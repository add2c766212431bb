#pragma once

// The shapes of Arm's core driver that the runner may rely on, as its public headers have them: the runner compiles
// against these too, so a vendor's driver can take the place of ours (docs/porting.md).
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ethosu_device {
  volatile void* reg;
  uint32_t secure;
  uint32_t privileged;
};

struct ethosu_driver {
  struct ethosu_device dev;
  struct ethosu_driver* next;
  void* semaphore;
  uint64_t fast_memory;
  size_t fast_memory_size;
  uint32_t power_request_counter;
  bool status_error;
  bool reserved;
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
  uint32_t macs_per_cc;
  uint32_t cmd_stream_version;
  uint32_t custom_dma;
};
struct ethosu_hw_info {
  struct ethosu_id version;
  struct ethosu_config cfg;
};

int ethosu_init(struct ethosu_driver* drv, void* const base_address, const void* fast_memory,
                const size_t fast_memory_size, uint32_t secure_enable, uint32_t privilege_enable);
void ethosu_get_hw_info(struct ethosu_driver* drv, struct ethosu_hw_info* hw);
int ethosu_invoke_v3(struct ethosu_driver* drv, const void* custom_data_ptr, const int custom_data_size,
                     uint64_t* const base_addr, const size_t* base_addr_size, const int num_base_addr, void* user_arg);
struct ethosu_driver* ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver* drv);
void ethosu_irq_handler(struct ethosu_driver* drv);
void ethosu_inference_begin(struct ethosu_driver* drv, void* user_arg);
void ethosu_inference_end(struct ethosu_driver* drv, void* user_arg);

#ifdef __cplusplus
}
#endif
