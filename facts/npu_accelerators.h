#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "facts/npu_enums.h"

// The NPU configurations. Sources: public files of ethos-u-vela 5.2.0 (architecture_features.py) and of Arm's core
// driver; the U85 tables from the public mirror of Vela's regor.
namespace carina::npu {

// A block of a feature map in elements.
struct Block3 {
  int height;
  int width;
  int depth;
  bool operator==(const Block3&) const = default;
};

// The shared buffer of U55 and U65 (per core): banks of kShramBankBytes, which are allocated in granules that depend on
// their use.
inline constexpr int kShramBankBytes = 1024;
inline constexpr int kShramOutputBanks = 2;  // banks 0 and 1: output buffer; the IFM buffer follows
inline constexpr int kShramLutBanks = 2;     // the last 2 KiB of the shared buffer hold lookup tables
inline constexpr int kLutSlotBytes = 256;
inline constexpr int kLutBytes = 2048;

struct Shram {
  int banks;
  int reserved_end_banks;  // reserved for lookup tables even if none is used (parts with more than 16 banks)
  // Allocation granules in banks, by use: 8- and 16-bit IFM, 8- and 16-bit IFM of elementwise operations, 32-bit IFM,
  // accumulators.
  int ifm8_granule_banks;
  int ifm16_granule_banks;
  int ifm8_elementwise_granule_banks;
  int ifm16_elementwise_granule_banks;
  int ifm32_granule_banks;
  int acc16_granule_banks;
  int acc32_granule_banks;
  int acc40_granule_banks;
};

// The internal memories of U85. They are 0 on the other products.
struct U85Rams {
  int ifm_bytes;
  int accumulator_bytes;
  int output_buffer_bytes;
  int chaining_buffer_bytes;
  // Words of 16 bytes in the read buffer of each channel.
  int read_buffer_mem_to_mem_words;
  int read_buffer_ifm_stream_words;
  int read_buffer_weights_words;
  int read_buffer_fast_weights_words;
  int read_buffer_ifm_words;
  int read_buffer_scale_words;
};

// A microblock of U85: its shape and its number in ACC_FORMAT.
struct OfmUblock {
  Block3 block;
  Microblock code;
};

struct AcceleratorConfig {
  std::string_view name;  // "ethos-u55-128"
  Product product;
  int macs_per_cycle;  // 8x8-bit, all cores together
  int cores;
  int weight_decoders;  // per core; U85: weight streams per operation
  int sram_ports;       // AXI ports of 8 (U55) or 16 (U65, U85) bytes
  int ext_ports;
  int ofm_ublock_count;
  std::array<OfmUblock, 3> ofm_ublocks;  // U55 and U65 have one, without a number
  Block3 ifm_ublock;
  Shram shram;
  U85Rams u85;
  int shram_bytes_all_cores;
  uint32_t config_word;  // CONFIG register, as in payloads
  uint32_t id_word;      // ID register
};

// CONFIG and ID registers: bit positions.
struct ConfigWord {
  static constexpr uint32_t macs_log2(uint32_t word) { return word & 0xF; }
  static constexpr uint32_t stream_version(uint32_t word) { return word >> 4 & 0xF; }
  static constexpr uint32_t shram_kib(uint32_t word) { return word >> 8 & 0xFF; }           // U55, U65
  static constexpr uint32_t sram_ports_log2(uint32_t word) { return word >> 8 & 3; }        // U85
  static constexpr uint32_t ext_ports_log2(uint32_t word) { return word >> 10 & 1; }        // U85
  static constexpr uint32_t weight_decoders_log2(uint32_t word) { return word >> 12 & 3; }  // U85
  static constexpr uint32_t custom_dma(uint32_t word) { return word >> 27 & 1; }
  static constexpr uint32_t product(uint32_t word) { return word >> 28; }  // 0 U55, 1 U65, 2 U85
};
struct IdWord {
  static constexpr uint32_t product_major(uint32_t word) { return word >> 12 & 0xF; }
  static constexpr uint32_t arch_patch(uint32_t word) { return word >> 16 & 0xF; }
  static constexpr uint32_t arch_minor(uint32_t word) { return word >> 20 & 0xFF; }
  static constexpr uint32_t arch_major(uint32_t word) { return word >> 28; }
};

namespace detail {
// Architecture 1.0.6, product 6; architecture 2.0.0, product 7.
inline constexpr uint32_t kIdU55U65 = 0x10066001;
inline constexpr uint32_t kIdU85 = 0x20007000;

struct U55Shape {
  int macs_per_cycle;
  Block3 ofm_ublock;
  Block3 ifm_ublock;
  Shram shram;
};
constexpr AcceleratorConfig u55(std::string_view name, const U55Shape& shape, uint32_t config_word) {
  return {.name = name,
          .product = Product::kU55,
          .macs_per_cycle = shape.macs_per_cycle,
          .cores = 1,
          .weight_decoders = 1,
          .sram_ports = 1,
          .ext_ports = 1,
          .ofm_ublock_count = 1,
          .ofm_ublocks = {{{.block = shape.ofm_ublock, .code = Microblock::U1X1}}},
          .ifm_ublock = shape.ifm_ublock,
          .shram = shape.shram,
          .u85 = {},
          .shram_bytes_all_cores = shape.shram.banks * kShramBankBytes,
          .config_word = config_word,
          .id_word = kIdU55U65};
}

// Source: accelerator_configs of architecture_features.py.
inline constexpr Shram kShram16Banks32Macs{.banks = 16,  // ethos-u55-32
                                           .reserved_end_banks = 0,
                                           .ifm8_granule_banks = 2,
                                           .ifm16_granule_banks = 2,
                                           .ifm8_elementwise_granule_banks = 2,
                                           .ifm16_elementwise_granule_banks = 2,
                                           .ifm32_granule_banks = 4,
                                           .acc16_granule_banks = 4,
                                           .acc32_granule_banks = 4,
                                           .acc40_granule_banks = 4};
inline constexpr Shram kShram16Banks64Macs{.banks = 16,  // ethos-u55-64
                                           .reserved_end_banks = 0,
                                           .ifm8_granule_banks = 2,
                                           .ifm16_granule_banks = 2,
                                           .ifm8_elementwise_granule_banks = 2,
                                           .ifm16_elementwise_granule_banks = 2,
                                           .ifm32_granule_banks = 4,
                                           .acc16_granule_banks = 4,
                                           .acc32_granule_banks = 4,
                                           .acc40_granule_banks = 8};
inline constexpr Shram kShram24Banks{.banks = 24,  // ethos-u55-128
                                     .reserved_end_banks = 2,
                                     .ifm8_granule_banks = 4,
                                     .ifm16_granule_banks = 4,
                                     .ifm8_elementwise_granule_banks = 4,
                                     .ifm16_elementwise_granule_banks = 4,
                                     .ifm32_granule_banks = 8,
                                     .acc16_granule_banks = 4,
                                     .acc32_granule_banks = 8,
                                     .acc40_granule_banks = 12};
inline constexpr Shram kShram48Banks{.banks = 48,  // ethos-u55-256 and ethos-u65
                                     .reserved_end_banks = 2,
                                     .ifm8_granule_banks = 8,
                                     .ifm16_granule_banks = 8,
                                     .ifm8_elementwise_granule_banks = 8,
                                     .ifm16_elementwise_granule_banks = 8,
                                     .ifm32_granule_banks = 16,
                                     .acc16_granule_banks = 8,
                                     .acc32_granule_banks = 16,
                                     .acc40_granule_banks = 20};

struct U65Shape {
  int cores;
};
constexpr AcceleratorConfig u65(std::string_view name, const U65Shape& shape, uint32_t config_word) {
  constexpr Block3 kUblock{.height = 2, .width = 2, .depth = 8};
  return {.name = name,
          .product = Product::kU65,
          .macs_per_cycle = 256 * shape.cores,
          .cores = shape.cores,
          .weight_decoders = 1,
          .sram_ports = 1,
          .ext_ports = 1,
          .ofm_ublock_count = 1,
          .ofm_ublocks = {{{.block = kUblock, .code = Microblock::U2X2}}},
          .ifm_ublock = kUblock,
          .shram = kShram48Banks,
          .u85 = {},
          .shram_bytes_all_cores = kShram48Banks.banks * kShramBankBytes * shape.cores,
          .config_word = config_word,
          .id_word = kIdU55U65};
}

struct U85Shape {
  int macs_per_cycle;
  int weight_decoders;
  int sram_ports;
  int ext_ports;
  int ofm_ublock_count;
  std::array<OfmUblock, 3> ofm_ublocks;
};
constexpr OfmUblock ublock(Microblock code, Block3 block) {
  return {.block = block, .code = code};
}
// The IFM allocation unit of U85 depends on the operation (kU85IfmAllocation), so ifm_ublock is not used there.
constexpr AcceleratorConfig u85(std::string_view name, const U85Shape& shape, const U85Rams& rams,
                                uint32_t config_word) {
  return {.name = name,
          .product = Product::kU85,
          .macs_per_cycle = shape.macs_per_cycle,
          .cores = 1,
          .weight_decoders = shape.weight_decoders,
          .sram_ports = shape.sram_ports,
          .ext_ports = shape.ext_ports,
          .ofm_ublock_count = shape.ofm_ublock_count,
          .ofm_ublocks = shape.ofm_ublocks,
          .ifm_ublock = {},
          .shram = {},
          .u85 = rams,
          .shram_bytes_all_cores = 0,
          .config_word = config_word,
          .id_word = kIdU85};
}
}  // namespace detail

// Sources: accelerator_configs of architecture_features.py (U55, U65), ethos_u85.cpp of regor (U85).
inline constexpr auto kAccelerators = std::to_array<AcceleratorConfig>({
    detail::u55("ethos-u55-32",
                {.macs_per_cycle = 32,
                 .ofm_ublock = {.height = 1, .width = 1, .depth = 4},
                 .ifm_ublock = {.height = 1, .width = 1, .depth = 8},
                 .shram = detail::kShram16Banks32Macs},
                0x00001005),
    detail::u55("ethos-u55-64",
                {.macs_per_cycle = 64,
                 .ofm_ublock = {.height = 1, .width = 1, .depth = 8},
                 .ifm_ublock = {.height = 1, .width = 1, .depth = 8},
                 .shram = detail::kShram16Banks64Macs},
                0x00001006),
    detail::u55("ethos-u55-128",
                {.macs_per_cycle = 128,
                 .ofm_ublock = {.height = 1, .width = 2, .depth = 8},
                 .ifm_ublock = {.height = 1, .width = 2, .depth = 8},
                 .shram = detail::kShram24Banks},
                0x00001807),
    detail::u55("ethos-u55-256",
                {.macs_per_cycle = 256,
                 .ofm_ublock = {.height = 2, .width = 2, .depth = 8},
                 .ifm_ublock = {.height = 2, .width = 2, .depth = 8},
                 .shram = detail::kShram48Banks},
                0x00003008),
    detail::u65("ethos-u65-256", {.cores = 1}, 0x10003008),
    detail::u65("ethos-u65-512", {.cores = 2}, 0x10006009),
    detail::u85("ethos-u85-128",
                {.macs_per_cycle = 128,
                 .weight_decoders = 1,
                 .sram_ports = 2,
                 .ext_ports = 1,
                 .ofm_ublock_count = 2,
                 .ofm_ublocks = {{detail::ublock(Microblock::U1X2, {.height = 1, .width = 2, .depth = 8}),
                                  detail::ublock(Microblock::U1X1, {.height = 1, .width = 1, .depth = 16})}}},
                {.ifm_bytes = 8192,
                 .accumulator_bytes = 8192,
                 .output_buffer_bytes = 2048,
                 .chaining_buffer_bytes = 768,
                 .read_buffer_mem_to_mem_words = 64,
                 .read_buffer_ifm_stream_words = 64,
                 .read_buffer_weights_words = 128,
                 .read_buffer_fast_weights_words = 128,
                 .read_buffer_ifm_words = 104,
                 .read_buffer_scale_words = 16},
                0x20000117),
    detail::u85("ethos-u85-256",
                {.macs_per_cycle = 256,
                 .weight_decoders = 1,
                 .sram_ports = 2,
                 .ext_ports = 1,
                 .ofm_ublock_count = 3,
                 .ofm_ublocks = {{detail::ublock(Microblock::U2X2, {.height = 2, .width = 2, .depth = 8}),
                                  detail::ublock(Microblock::U1X4, {.height = 1, .width = 4, .depth = 8}),
                                  detail::ublock(Microblock::U1X2, {.height = 1, .width = 2, .depth = 16})}}},
                {.ifm_bytes = 16384,
                 .accumulator_bytes = 16384,
                 .output_buffer_bytes = 2048,
                 .chaining_buffer_bytes = 1536,
                 .read_buffer_mem_to_mem_words = 104,
                 .read_buffer_ifm_stream_words = 104,
                 .read_buffer_weights_words = 128,
                 .read_buffer_fast_weights_words = 128,
                 .read_buffer_ifm_words = 128,
                 .read_buffer_scale_words = 16},
                0x20000118),
    detail::u85("ethos-u85-512",
                {.macs_per_cycle = 512,
                 .weight_decoders = 2,
                 .sram_ports = 2,
                 .ext_ports = 1,
                 .ofm_ublock_count = 2,
                 .ofm_ublocks = {{detail::ublock(Microblock::U2X2, {.height = 2, .width = 2, .depth = 16}),
                                  detail::ublock(Microblock::U1X4, {.height = 1, .width = 4, .depth = 16})}}},
                {.ifm_bytes = 16384,
                 .accumulator_bytes = 32768,
                 .output_buffer_bytes = 4096,
                 .chaining_buffer_bytes = 3072,
                 .read_buffer_mem_to_mem_words = 128,
                 .read_buffer_ifm_stream_words = 128,
                 .read_buffer_weights_words = 256,
                 .read_buffer_fast_weights_words = 256,
                 .read_buffer_ifm_words = 128,
                 .read_buffer_scale_words = 16},
                0x20001119),
    detail::u85("ethos-u85-1024",
                {.macs_per_cycle = 1024,
                 .weight_decoders = 4,
                 .sram_ports = 2,
                 .ext_ports = 2,
                 .ofm_ublock_count = 3,
                 .ofm_ublocks = {{detail::ublock(Microblock::U2X2, {.height = 2, .width = 2, .depth = 32}),
                                  detail::ublock(Microblock::U1X4, {.height = 1, .width = 4, .depth = 32}),
                                  detail::ublock(Microblock::U2X4, {.height = 2, .width = 4, .depth = 16})}}},
                {.ifm_bytes = 16384,
                 .accumulator_bytes = 65536,
                 .output_buffer_bytes = 4096,
                 .chaining_buffer_bytes = 6144,
                 .read_buffer_mem_to_mem_words = 256,
                 .read_buffer_ifm_stream_words = 256,
                 .read_buffer_weights_words = 416,
                 .read_buffer_fast_weights_words = 208,
                 .read_buffer_ifm_words = 256,
                 .read_buffer_scale_words = 16},
                0x2000251A),
    detail::u85("ethos-u85-2048",
                {.macs_per_cycle = 2048,
                 .weight_decoders = 4,
                 .sram_ports = 4,
                 .ext_ports = 2,
                 .ofm_ublock_count = 3,
                 .ofm_ublocks = {{detail::ublock(Microblock::U2X2, {.height = 2, .width = 2, .depth = 64}),
                                  detail::ublock(Microblock::U1X4, {.height = 1, .width = 4, .depth = 64}),
                                  detail::ublock(Microblock::U4X4, {.height = 4, .width = 4, .depth = 16})}}},
                {.ifm_bytes = 32768,
                 .accumulator_bytes = 131072,
                 .output_buffer_bytes = 8192,
                 .chaining_buffer_bytes = 12288,
                 .read_buffer_mem_to_mem_words = 256,
                 .read_buffer_ifm_stream_words = 256,
                 .read_buffer_weights_words = 512,
                 .read_buffer_fast_weights_words = 256,
                 .read_buffer_ifm_words = 256,
                 .read_buffer_scale_words = 16},
                0x2000261B),
});

// The configuration with this name ("ethos-u55-128") or this CONFIG word; nullptr if there is none.
constexpr const AcceleratorConfig* find_accelerator(std::string_view name) {
  for (const AcceleratorConfig& config : kAccelerators) {
    if (config.name == name) return &config;
  }
  return nullptr;
}
// The driver's comparison: product, MACs, stream version and, on U85, the AXI ports. The size of the shared buffer is
// not compared.
constexpr bool same_hardware(const AcceleratorConfig& config, uint32_t config_word) {
  const uint32_t compared = config.product == Product::kU85 ? 0xF00007FFu : 0xF00000FFu;
  return (config.config_word & compared) == (config_word & compared);
}
constexpr const AcceleratorConfig* find_accelerator_of_word(uint32_t config_word) {
  for (const AcceleratorConfig& config : kAccelerators) {
    if (same_hardware(config, config_word)) return &config;
  }
  return nullptr;
}

}  // namespace carina::npu
