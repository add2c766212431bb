// The functions of the core driver for a simulated NPU. There is one caller and no interrupt: an inference is complete
// when its invocation returns.
#include <algorithm>
#include <string_view>

#include "facts/npu_accelerators.h"
#include "firmware/board/board.h"
#include "firmware/board/console.h"
#include "firmware/driver/any_driver.h"
#include "firmware/driver/ethosu_driver.h"
#include "firmware/driver/npu.h"
#include "firmware/driver/payload.h"

namespace carina::firmware {

namespace {

constexpr size_t kFastMemoryRegion = 2;
constexpr size_t kAlignment = 16;
constexpr ethosu_driver_version kDriverVersion{.major = 0, .minor = 1, .patch = 0};

ethosu_driver* drivers = nullptr;
void* mutex = nullptr;      // of `drivers`
void* semaphore = nullptr;  // counts drivers that are not reserved
int default_semaphore = 0;

bool reject(std::string_view why) {
  error().text("ethosu: ").text(why);
  return false;
}

bool set_regions(const ethosu_driver& drv, const uint64_t* addresses, const size_t* bytes, int count, NpuJob& job) {
  if (count < 0 || count > static_cast<int>(kNpuRegions)) return reject("more than 8 base addresses");
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    if (addresses[i] % kAlignment != 0) return reject("a base address is not aligned to 16 bytes");
    job.regions[i] = {reinterpret_cast<std::byte*>(static_cast<uintptr_t>(addresses[i])), bytes[i]};
  }
  if (drv.fast_memory_bytes == 0) return true;
  if (job.regions[kFastMemoryRegion].size() > drv.fast_memory_bytes) return reject("the fast memory is too small");
  job.regions[kFastMemoryRegion] = {static_cast<std::byte*>(drv.fast_memory), drv.fast_memory_bytes};
  return true;
}

void count(ethosu_driver& drv, const NpuFigures& figures) {
  if (!drv.pmu_enabled) return;
  drv.cycles += figures.cycles;
  for (size_t i = 0; i < kNpuCounters; ++i) drv.counts[i] += figures.counts[i];
}

// Runs a job and sets the clock to the time that a real NPU would have taken. The time of a simulation is unrelated to
// it.
bool run_on_clock(const NpuJob& job, NpuFigures& figures) {
  const uint64_t start = board_cycles();
  const bool done = run_npu(job, figures);
  board_set_cycles(start + figures.cycles);
  return done;
}

bool invoke(ethosu_driver& drv, NpuJob& job) {
  DriverPayload payload;
  if (reinterpret_cast<uintptr_t>(job.payload.data()) % kAlignment != 0)
    return reject("the payload is not aligned to 16 bytes");
  if (!read_payload(job.payload, payload)) return false;
  if (!check_compatible(payload.words, {.config = drv.config_word, .id = drv.id_word})) return false;
  NpuFigures figures;
  if (!run_on_clock(job, figures)) return false;
  count(drv, figures);
  return true;
}

}  // namespace

const ethosu_driver* any_driver() {
  return drivers;
}

}  // namespace carina::firmware

using namespace carina::firmware;
using carina::npu::ConfigWord;
using carina::npu::IdWord;

extern "C" {

int ethosu_init(ethosu_driver* drv, void* /*base_address*/, const void* fast_memory, size_t fast_memory_size,
                uint32_t /*secure_enable*/, uint32_t /*privilege_enable*/) {
  *drv = {};
  NpuWords words;
  if (!identify_npu(words)) return -1;
  drv->fast_memory = const_cast<void*>(fast_memory);
  drv->fast_memory_bytes = fast_memory_size;
  drv->config_word = words.config;
  drv->id_word = words.id;
  if (mutex == nullptr) mutex = ethosu_mutex_create();
  if (semaphore == nullptr) semaphore = ethosu_semaphore_create();
  ethosu_mutex_lock(mutex);
  drv->next = drivers;
  drivers = drv;
  ethosu_mutex_unlock(mutex);
  ethosu_semaphore_give(semaphore);
  return 0;
}

void ethosu_irq_handler(ethosu_driver* /*drv*/) {}

void ethosu_deinit(ethosu_driver* drv) {
  bool there = false;
  ethosu_mutex_lock(mutex);
  for (ethosu_driver** link = &drivers; *link != nullptr; link = &(*link)->next) {
    if (*link != drv) continue;
    *link = drv->next;
    there = true;
    break;
  }
  ethosu_mutex_unlock(mutex);
  if (there) ethosu_semaphore_take(semaphore, ETHOSU_SEMAPHORE_WAIT_FOREVER);
}

int ethosu_soft_reset(ethosu_driver* drv) {
  drv->started = false;
  return 0;
}

int ethosu_request_power(ethosu_driver*) {
  return 0;
}
void ethosu_release_power(ethosu_driver*) {}

void ethosu_get_driver_version(ethosu_driver_version* version) {
  *version = kDriverVersion;
}

void ethosu_get_hw_info(ethosu_driver* drv, ethosu_hw_info* hw) {
  const uint32_t id = drv->id_word;
  hw->version = {.version_status = id & 0xF,
                 .version_minor = id >> 4 & 0xF,
                 .version_major = id >> 8 & 0xF,
                 .product_major = IdWord::product_major(id),
                 .arch_patch_rev = IdWord::arch_patch(id),
                 .arch_minor_rev = IdWord::arch_minor(id),
                 .arch_major_rev = IdWord::arch_major(id)};
  hw->cfg.macs_per_cc = ConfigWord::macs_log2(drv->config_word);
  hw->cfg.cmd_stream_version = ConfigWord::stream_version(drv->config_word);
  hw->cfg.custom_dma = ConfigWord::custom_dma(drv->config_word);
}

int ethosu_invoke_async(ethosu_driver* drv, const void* custom_data_ptr, int custom_data_size, uint64_t* base_addr,
                        const size_t* base_addr_size, int num_base_addr, void* user_arg) {
  NpuJob job{
      .payload = {static_cast<const std::byte*>(custom_data_ptr), static_cast<size_t>(std::max(custom_data_size, 0))},
      .regions = {},
      .events = std::to_array(drv->events)};
  if (!set_regions(*drv, base_addr, base_addr_size, num_base_addr, job)) return -1;
  ethosu_inference_begin(drv, user_arg);
  drv->result = invoke(*drv, job) ? 0 : -1;
  ethosu_inference_end(drv, user_arg);
  drv->started = true;
  return 0;
}

int ethosu_wait(ethosu_driver* drv, bool /*block*/) {
  if (!drv->started) return -2;
  drv->started = false;
  return drv->result;
}

int ethosu_invoke_v3(ethosu_driver* drv, const void* custom_data_ptr, int custom_data_size, uint64_t* base_addr,
                     const size_t* base_addr_size, int num_base_addr, void* user_arg) {
  const int started =
      ethosu_invoke_async(drv, custom_data_ptr, custom_data_size, base_addr, base_addr_size, num_base_addr, user_arg);
  return started != 0 ? started : ethosu_wait(drv, true);
}

ethosu_driver* ethosu_reserve_driver() {
  if (semaphore == nullptr || ethosu_semaphore_take(semaphore, ETHOSU_SEMAPHORE_WAIT_FOREVER) != 0) return nullptr;
  ethosu_mutex_lock(mutex);
  ethosu_driver* drv = drivers;
  while (drv != nullptr && drv->reserved) drv = drv->next;
  if (drv != nullptr) drv->reserved = true;
  ethosu_mutex_unlock(mutex);
  return drv;
}

void ethosu_release_driver(ethosu_driver* drv) {
  if (drv == nullptr || !drv->reserved) return;
  ethosu_mutex_lock(mutex);
  drv->reserved = false;
  ethosu_mutex_unlock(mutex);
  ethosu_semaphore_give(semaphore);
}

[[gnu::weak]] void* ethosu_mutex_create() {
  return nullptr;
}
[[gnu::weak]] void ethosu_mutex_destroy(void* /*mutex*/) {}
[[gnu::weak]] int ethosu_mutex_lock(void* /*mutex*/) {
  return 0;
}
[[gnu::weak]] int ethosu_mutex_unlock(void* /*mutex*/) {
  return 0;
}
[[gnu::weak]] void* ethosu_semaphore_create() {
  return &default_semaphore;
}
[[gnu::weak]] void ethosu_semaphore_destroy(void* /*sem*/) {}
[[gnu::weak]] int ethosu_semaphore_take(void* sem, uint64_t /*timeout*/) {
  int& count = *static_cast<int*>(sem);
  if (count == 0) return -1;
  --count;
  return 0;
}
[[gnu::weak]] int ethosu_semaphore_give(void* sem) {
  ++*static_cast<int*>(sem);
  return 0;
}

[[gnu::weak]] void ethosu_inference_begin(ethosu_driver*, void*) {}
[[gnu::weak]] void ethosu_inference_end(ethosu_driver*, void*) {}
}
