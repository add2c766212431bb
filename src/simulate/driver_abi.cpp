#include "simulate/driver_abi_internal.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/guarded.h"
#include "facts/npu_pmu.h"
#include "facts/npu_targets.h"
#include "simulate/simulator.h"

using carina::simulate::Memory;
using carina::simulate::Options;
using carina::simulate::Report;
using carina::simulate::Simulator;
using carina::simulate::Timing;

struct carina_ethosu_driver {
  explicit carina_ethosu_driver(const carina::npu::AcceleratorConfig& config)
      : accelerator(config), simulator(Options{.timing = Timing::kOn, .config_word = config.config_word}) {}

  const carina::npu::AcceleratorConfig& accelerator;
  Simulator simulator;
  std::span<std::byte> fast_memory{};
  bool reserved = false;
  // The current inference runs in a thread of its own.
  std::optional<std::thread> worker{};
  std::mutex mutex{};
  std::condition_variable changed{};
  bool running = false;
  int result = 0;
  std::string error{};
  uint16_t irq_history = 0;
  bool pmu_enabled = false;
  uint64_t cycles = 0;
  std::array<uint16_t, 8> event_types{};
  std::array<uint64_t, 8> event_counts{};
};

namespace {

constexpr int kMaxRegions = 8;
constexpr carina_ethosu_driver_version kVersion{0, 1, 0};

// Drivers that can be reserved, in the order in which they were made.
struct Pool {
  std::mutex mutex;
  std::condition_variable released;
  std::deque<carina_ethosu_driver*> drivers;
};
Pool& pool() {
  static Pool instance;
  return instance;
}

carina_ethosu_hooks& hooks() {
  static carina_ethosu_hooks instance{};
  return instance;
}

void count(carina_ethosu_driver& driver, const Report& report) {
  driver.irq_history = report.irq_history;
  if (!driver.pmu_enabled) return;
  driver.cycles += report.cycles.total;
  for (size_t i = 0; i < driver.event_types.size(); ++i) {
    for (const carina::simulate::PmuCounter& counter : report.pmu) {
      if (driver.event_types[i] != 0 && counter.event == driver.event_types[i]) driver.event_counts[i] += counter.count;
    }
  }
}

// The inputs of one inference, copied: the caller's arrays need not exist until it ends.
struct Job {
  std::vector<std::byte> payload;
  Memory memory;
  void* user_arg = nullptr;
};

void run(carina_ethosu_driver& driver, const Job& job) {
  const auto report = carina::guarded([&] {
    if (hooks().inference_begin != nullptr) hooks().inference_begin(&driver, job.user_arg);
    return driver.simulator.run(job.payload, job.memory);
  });
  if (hooks().inference_end != nullptr) hooks().inference_end(&driver, job.user_arg);
  const std::lock_guard lock(driver.mutex);
  if (report) count(driver, *report);
  driver.error = report ? std::string() : carina::to_string(report.error());
  driver.result = report ? 0 : -1;
  driver.running = false;
  driver.changed.notify_all();
}

bool reject(carina_ethosu_driver& driver, const char* reason) {
  driver.error = reason;
  return false;
}

bool make_job(carina_ethosu_driver& driver, const void* payload, int payload_size, const uint64_t* base,
              const size_t* size, int base_count, Job& job) {
  if (payload == nullptr || payload_size <= 0 || payload_size % 4 != 0)
    return reject(driver, "the payload's size is no multiple of 4");
  if (base_count < 0 || base_count > kMaxRegions || (base_count > 0 && (base == nullptr || size == nullptr)))
    return reject(driver, "wrong base addresses");
  const auto* bytes = static_cast<const std::byte*>(payload);
  job.payload.assign(bytes, bytes + payload_size);
  for (int i = 0; i < base_count; ++i) {
    auto* data = reinterpret_cast<std::byte*>(static_cast<uintptr_t>(base[i]));
    if (static_cast<uintptr_t>(base[i]) % carina::npu::kBaseAlignmentBytes != 0)
      return reject(driver, "a base address is not 16-byte aligned");
    job.memory.regions[static_cast<size_t>(i)] = {data, size[i]};
  }
  if (!driver.fast_memory.empty()) {
    if (base_count > 2 && size[2] > driver.fast_memory.size())
      return reject(driver, "the fast memory is smaller than base pointer 2 asks for");
    job.memory.regions[2] = driver.fast_memory;
  }
  return true;
}

}  // namespace

extern "C" {

struct carina_ethosu_driver* carina_ethosu_init(const char* npu_name, void* fast_memory, size_t fast_memory_size) {
  const carina::npu::AcceleratorConfig* config =
      npu_name == nullptr ? nullptr : carina::npu::find_accelerator(npu_name);
  if (config == nullptr) return nullptr;
  auto driver = std::make_unique<carina_ethosu_driver>(*config);
  driver->fast_memory = {static_cast<std::byte*>(fast_memory), fast_memory == nullptr ? 0 : fast_memory_size};
  const std::lock_guard lock(pool().mutex);
  pool().drivers.push_back(driver.get());
  pool().released.notify_all();
  return driver.release();
}

void carina_ethosu_deinit(struct carina_ethosu_driver* driver) {
  if (driver == nullptr) return;
  carina_ethosu_wait(driver, true);
  {
    const std::lock_guard lock(pool().mutex);
    std::erase(pool().drivers, driver);
  }
  delete driver;
}

int carina_ethosu_soft_reset(struct carina_ethosu_driver* driver) {
  carina_ethosu_wait(driver, true);
  driver->irq_history = 0;
  driver->error.clear();
  return 0;
}

int carina_ethosu_request_power(struct carina_ethosu_driver*) {
  return 0;
}
void carina_ethosu_release_power(struct carina_ethosu_driver*) {}
void carina_ethosu_get_driver_version(struct carina_ethosu_driver_version* version) {
  *version = kVersion;
}

void carina_ethosu_get_hw_info(struct carina_ethosu_driver* driver, struct carina_ethosu_hw_info* info) {
  *info = {};
  info->config_word = driver->accelerator.config_word;
  info->id_word = driver->accelerator.id_word;
  info->macs_per_cycle = static_cast<uint32_t>(driver->accelerator.macs_per_cycle);
  const std::string_view name = driver->accelerator.name;
  std::memcpy(info->name, name.data(), std::min(name.size(), sizeof(info->name) - 1));
}

int carina_ethosu_invoke_async(struct carina_ethosu_driver* driver, const void* payload, int payload_size,
                               uint64_t* const base_addr, const size_t* base_addr_size, int base_addr_count,
                               void* user_arg) {
  if (driver->worker) {
    const std::lock_guard lock(driver->mutex);  // the inference writes it when it ends
    driver->error = "an inference is under way";
    return -1;
  }
  Job job{.payload = {}, .memory = {}, .user_arg = user_arg};
  // Copying the payload or starting a thread may fail. A C caller cannot handle an exception.
  const auto started = carina::guarded([&]() -> carina::Result<int> {
    if (!make_job(*driver, payload, payload_size, base_addr, base_addr_size, base_addr_count, job)) return -1;
    driver->running = true;
    driver->worker.emplace([driver, held = std::move(job)] { run(*driver, held); });
    return 0;
  });
  if (!started) {
    driver->running = false;
    driver->error = carina::to_string(started.error());
  }
  return started.value_or(-1);
}

int carina_ethosu_wait(struct carina_ethosu_driver* driver, bool block) {
  if (!driver->worker) return -2;
  {
    std::unique_lock lock(driver->mutex);
    if (driver->running && !block) return 1;
    driver->changed.wait(lock, [driver] { return !driver->running; });
  }
  driver->worker->join();
  driver->worker.reset();
  return driver->result;
}

int carina_ethosu_invoke_v3(struct carina_ethosu_driver* driver, const void* payload, int payload_size,
                            uint64_t* const base_addr, const size_t* base_addr_size, int base_addr_count,
                            void* user_arg) {
  const int started =
      carina_ethosu_invoke_async(driver, payload, payload_size, base_addr, base_addr_size, base_addr_count, user_arg);
  return started != 0 ? started : carina_ethosu_wait(driver, true);
}

struct carina_ethosu_driver* carina_ethosu_reserve_driver(void) {
  std::unique_lock lock(pool().mutex);
  const auto free_driver = [] {
    const auto it = std::ranges::find_if(pool().drivers, [](const carina_ethosu_driver* d) { return !d->reserved; });
    return it == pool().drivers.end() ? nullptr : *it;
  };
  if (pool().drivers.empty()) return nullptr;
  pool().released.wait(lock, [&] { return pool().drivers.empty() || free_driver() != nullptr; });
  carina_ethosu_driver* driver = free_driver();
  if (driver != nullptr) driver->reserved = true;
  return driver;
}

void carina_ethosu_release_driver(struct carina_ethosu_driver* driver) {
  const std::lock_guard lock(pool().mutex);
  if (driver != nullptr) driver->reserved = false;
  pool().released.notify_all();
}

void carina_ethosu_set_hooks(const struct carina_ethosu_hooks* given) {
  hooks() = given == nullptr ? carina_ethosu_hooks{} : *given;
}
const char* carina_ethosu_last_error(const struct carina_ethosu_driver* driver) {
  return driver->error.c_str();
}
uint16_t carina_ethosu_irq_history(const struct carina_ethosu_driver* driver) {
  return driver->irq_history;
}

void carina_ethosu_pmu_enable(struct carina_ethosu_driver* driver) {
  driver->pmu_enabled = true;
}
void carina_ethosu_pmu_disable(struct carina_ethosu_driver* driver) {
  driver->pmu_enabled = false;
}

uint32_t carina_ethosu_pmu_get_num_event_counters(const struct carina_ethosu_driver* driver) {
  return static_cast<uint32_t>(carina::npu::pmu_counters(driver->accelerator.product));
}

bool carina_ethosu_pmu_set_event_type(struct carina_ethosu_driver* driver, uint32_t counter, uint16_t event) {
  if (counter >= carina_ethosu_pmu_get_num_event_counters(driver)) return false;
  const bool known =
      carina::npu::name_of(static_cast<carina::npu::PmuEvent>(event), driver->accelerator.product) != "?";
  if (known) driver->event_types[counter] = event;
  return known;
}

uint64_t carina_ethosu_pmu_get_event_counter(const struct carina_ethosu_driver* driver, uint32_t counter) {
  return counter < driver->event_counts.size() ? driver->event_counts[counter] : 0;
}
uint64_t carina_ethosu_pmu_get_cycle_counter(const struct carina_ethosu_driver* driver) {
  return driver->cycles;
}
void carina_ethosu_pmu_counters_reset(struct carina_ethosu_driver* driver) {
  driver->cycles = 0;
  driver->event_counts = {};
}

}  // extern "C"
