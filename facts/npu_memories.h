#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "facts/npu_enums.h"

// The system configurations and memory modes of the usual vela.ini, and the defaults. Source: the public files of
// ethos-u-vela 5.2.0 (config_files/Arm/vela.ini).
namespace carina::npu {

// ---- Memories ----
enum class MemoryKind : uint8_t { kSram, kDram, kOnChipFlash, kOffChipFlash };
constexpr std::string_view name_of(MemoryKind kind) {
  constexpr std::array<std::string_view, 4> kNames{"Sram", "Dram", "OnChipFlash", "OffChipFlash"};
  return kNames[static_cast<size_t>(kind)];
}

struct MemoryPort {
  MemoryKind kind;
  double clock_scale;  // of the core clock
  int ports_used;      // AXI ports (U85); 1 on other products
  int burst_bytes;     // longest burst
  int read_latency_cycles;
  int write_latency_cycles;
  int max_reads;  // outstanding
  int max_writes;
};

struct SystemConfig {
  std::string_view name;
  Product product;
  double core_clock_hz;
  std::array<MemoryPort, 2> ports;  // [0] on AXI port 0, always SRAM; [1] on AXI port 1
};

// Source: config_files/Arm/vela.ini.
inline constexpr auto kSystemConfigs = std::to_array<SystemConfig>({
    {.name = "Ethos_U55_Deep_Embedded",
     .product = Product::kU55,
     .core_clock_hz = 200e6,
     .ports = {{{.kind = MemoryKind::kSram,
                 .clock_scale = 1.0,
                 .ports_used = 1,
                 .burst_bytes = 32,
                 .read_latency_cycles = 32,
                 .write_latency_cycles = 32,
                 .max_reads = 8,
                 .max_writes = 8},
                {.kind = MemoryKind::kOffChipFlash,
                 .clock_scale = 0.0625,
                 .ports_used = 1,
                 .burst_bytes = 128,
                 .read_latency_cycles = 64,
                 .write_latency_cycles = 0,
                 .max_reads = 2,
                 .max_writes = 0}}}},
    {.name = "Ethos_U55_High_End_Embedded",
     .product = Product::kU55,
     .core_clock_hz = 500e6,
     .ports = {{{.kind = MemoryKind::kSram,
                 .clock_scale = 1.0,
                 .ports_used = 1,
                 .burst_bytes = 32,
                 .read_latency_cycles = 32,
                 .write_latency_cycles = 32,
                 .max_reads = 4,
                 .max_writes = 4},
                {.kind = MemoryKind::kOffChipFlash,
                 .clock_scale = 0.125,
                 .ports_used = 1,
                 .burst_bytes = 128,
                 .read_latency_cycles = 64,
                 .write_latency_cycles = 0,
                 .max_reads = 2,
                 .max_writes = 0}}}},
    {.name = "Ethos_U65_Embedded",
     .product = Product::kU65,
     .core_clock_hz = 500e6,
     .ports = {{{.kind = MemoryKind::kSram,
                 .clock_scale = 1.0,
                 .ports_used = 1,
                 .burst_bytes = 32,
                 .read_latency_cycles = 32,
                 .write_latency_cycles = 32,
                 .max_reads = 8,
                 .max_writes = 8},
                {.kind = MemoryKind::kOffChipFlash,
                 .clock_scale = 0.0625,
                 .ports_used = 1,
                 .burst_bytes = 128,
                 .read_latency_cycles = 64,
                 .write_latency_cycles = 0,
                 .max_reads = 2,
                 .max_writes = 0}}}},
    {.name = "Ethos_U65_Mid_End",
     .product = Product::kU65,
     .core_clock_hz = 500e6,
     .ports = {{{.kind = MemoryKind::kSram,
                 .clock_scale = 1.0,
                 .ports_used = 1,
                 .burst_bytes = 32,
                 .read_latency_cycles = 32,
                 .write_latency_cycles = 32,
                 .max_reads = 8,
                 .max_writes = 8},
                {.kind = MemoryKind::kDram,
                 .clock_scale = 0.46875,
                 .ports_used = 1,
                 .burst_bytes = 128,
                 .read_latency_cycles = 500,
                 .write_latency_cycles = 250,
                 .max_reads = 12,
                 .max_writes = 6}}}},
    {.name = "Ethos_U65_High_End",
     .product = Product::kU65,
     .core_clock_hz = 1e9,
     .ports = {{{.kind = MemoryKind::kSram,
                 .clock_scale = 1.0,
                 .ports_used = 1,
                 .burst_bytes = 32,
                 .read_latency_cycles = 32,
                 .write_latency_cycles = 32,
                 .max_reads = 16,
                 .max_writes = 16},
                {.kind = MemoryKind::kDram,
                 .clock_scale = 0.234375,
                 .ports_used = 1,
                 .burst_bytes = 128,
                 .read_latency_cycles = 500,
                 .write_latency_cycles = 250,
                 .max_reads = 24,
                 .max_writes = 12}}}},
    {.name = "Ethos_U65_Client_Server",
     .product = Product::kU65,
     .core_clock_hz = 1e9,
     .ports = {{{.kind = MemoryKind::kSram,
                 .clock_scale = 1.0,
                 .ports_used = 1,
                 .burst_bytes = 32,
                 .read_latency_cycles = 32,
                 .write_latency_cycles = 32,
                 .max_reads = 16,
                 .max_writes = 16},
                {.kind = MemoryKind::kDram,
                 .clock_scale = 0.75,
                 .ports_used = 1,
                 .burst_bytes = 128,
                 .read_latency_cycles = 500,
                 .write_latency_cycles = 250,
                 .max_reads = 24,
                 .max_writes = 12}}}},
    {.name = "Ethos_U85_SYS_Flash_Low",
     .product = Product::kU85,
     .core_clock_hz = 200e6,
     .ports = {{{.kind = MemoryKind::kSram,
                 .clock_scale = 1.0,
                 .ports_used = 2,
                 .burst_bytes = 64,
                 .read_latency_cycles = 8,
                 .write_latency_cycles = 8,
                 .max_reads = 8,
                 .max_writes = 8},
                {.kind = MemoryKind::kOffChipFlash,
                 .clock_scale = 0.0625,
                 .ports_used = 1,
                 .burst_bytes = 128,
                 .read_latency_cycles = 32,
                 .write_latency_cycles = 0,
                 .max_reads = 2,
                 .max_writes = 0}}}},
    {.name = "Ethos_U85_SYS_Flash_High",
     .product = Product::kU85,
     .core_clock_hz = 500e6,
     .ports = {{{.kind = MemoryKind::kSram,
                 .clock_scale = 1.0,
                 .ports_used = 2,
                 .burst_bytes = 64,
                 .read_latency_cycles = 32,
                 .write_latency_cycles = 32,
                 .max_reads = 8,
                 .max_writes = 8},
                {.kind = MemoryKind::kOffChipFlash,
                 .clock_scale = 0.0625,
                 .ports_used = 1,
                 .burst_bytes = 128,
                 .read_latency_cycles = 64,
                 .write_latency_cycles = 0,
                 .max_reads = 2,
                 .max_writes = 0}}}},
    {.name = "Ethos_U85_SYS_DRAM_Low",
     .product = Product::kU85,
     .core_clock_hz = 500e6,
     .ports = {{{.kind = MemoryKind::kSram,
                 .clock_scale = 1.0,
                 .ports_used = 2,
                 .burst_bytes = 64,
                 .read_latency_cycles = 16,
                 .write_latency_cycles = 16,
                 .max_reads = 8,
                 .max_writes = 8},
                {.kind = MemoryKind::kDram,
                 .clock_scale = 0.46875,
                 .ports_used = 1,
                 .burst_bytes = 128,
                 .read_latency_cycles = 500,
                 .write_latency_cycles = 250,
                 .max_reads = 24,
                 .max_writes = 12}}}},
    {.name = "Ethos_U85_SYS_DRAM_Mid",
     .product = Product::kU85,
     .core_clock_hz = 1e9,
     .ports = {{{.kind = MemoryKind::kSram,
                 .clock_scale = 1.0,
                 .ports_used = 2,
                 .burst_bytes = 64,
                 .read_latency_cycles = 32,
                 .write_latency_cycles = 32,
                 .max_reads = 8,
                 .max_writes = 8},
                {.kind = MemoryKind::kDram,
                 .clock_scale = 0.75,
                 .ports_used = 1,
                 .burst_bytes = 128,
                 .read_latency_cycles = 500,
                 .write_latency_cycles = 250,
                 .max_reads = 64,
                 .max_writes = 32}}}},
    {.name = "Ethos_U85_SYS_DRAM_High",
     .product = Product::kU85,
     .core_clock_hz = 1e9,
     .ports = {{{.kind = MemoryKind::kSram,
                 .clock_scale = 1.0,
                 .ports_used = 4,
                 .burst_bytes = 64,
                 .read_latency_cycles = 32,
                 .write_latency_cycles = 32,
                 .max_reads = 8,
                 .max_writes = 8},
                {.kind = MemoryKind::kDram,
                 .clock_scale = 0.75,
                 .ports_used = 2,
                 .burst_bytes = 128,
                 .read_latency_cycles = 500,
                 .write_latency_cycles = 250,
                 .max_reads = 64,
                 .max_writes = 32}}}},
});

// The AXI ports of the constants, the arena and the cache ("fast scratch"). Port 0 is SRAM.
struct MemoryMode {
  std::string_view name;
  int constants_port;
  int arena_port;
  int cache_port;
  int64_t cache_bytes;  // arena_cache_size; 0: not given, no limit
};
// Source: config_files/Arm/vela.ini.
inline constexpr auto kMemoryModes = std::to_array<MemoryMode>({
    {.name = "Sram_Only", .constants_port = 0, .arena_port = 0, .cache_port = 0, .cache_bytes = 0},
    {.name = "Shared_Sram", .constants_port = 1, .arena_port = 0, .cache_port = 0, .cache_bytes = 0},
    {.name = "Dedicated_Sram", .constants_port = 1, .arena_port = 1, .cache_port = 0, .cache_bytes = 0},
    {.name = "Dedicated_Sram_256KB", .constants_port = 1, .arena_port = 1, .cache_port = 0, .cache_bytes = 262144},
    {.name = "Dedicated_Sram_384KB", .constants_port = 1, .arena_port = 1, .cache_port = 0, .cache_bytes = 393216},
    {.name = "Dedicated_Sram_512KB", .constants_port = 1, .arena_port = 1, .cache_port = 0, .cache_bytes = 524288},
});
// Returns whether the cache is a separate memory from the arena (region 2), which is so only if the arena is not in
// SRAM.
constexpr bool has_fast_scratch(const MemoryMode& mode) {
  return mode.arena_port != mode.cache_port;
}

constexpr const SystemConfig* find_system_config(std::string_view name) {
  for (const SystemConfig& config : kSystemConfigs) {
    if (config.name == name) return &config;
  }
  return nullptr;
}
constexpr const MemoryMode* find_memory_mode(std::string_view name) {
  for (const MemoryMode& mode : kMemoryModes) {
    if (mode.name == name) return &mode;
  }
  return nullptr;
}

// The defaults per family: those of ExecuTorch's Arm backend 1.5 (EthosUCompileSpec), and Vela's own when run without
// flags.
struct FamilyDefaults {
  Product product;
  std::string_view system_config;
  std::string_view memory_mode;
  std::string_view vela_system_config;
  std::string_view vela_memory_mode;
};
inline constexpr auto kFamilyDefaults = std::to_array<FamilyDefaults>({
    {.product = Product::kU55,
     .system_config = "Ethos_U55_High_End_Embedded",
     .memory_mode = "Shared_Sram",
     .vela_system_config = "Ethos_U55_High_End_Embedded",
     .vela_memory_mode = "Shared_Sram"},
    {.product = Product::kU65,
     .system_config = "Ethos_U65_High_End",
     .memory_mode = "Dedicated_Sram_384KB",
     .vela_system_config = "Ethos_U65_Client_Server",
     .vela_memory_mode = "Dedicated_Sram_384KB"},
    {.product = Product::kU85,
     .system_config = "Ethos_U85_SYS_DRAM_Mid",
     .memory_mode = "Sram_Only",
     .vela_system_config = "Ethos_U85_SYS_DRAM_Mid",
     .vela_memory_mode = "Dedicated_Sram_384KB"},
});
constexpr const FamilyDefaults& defaults_of(Product product) {
  return kFamilyDefaults[static_cast<size_t>(product)];
}

}  // namespace carina::npu
