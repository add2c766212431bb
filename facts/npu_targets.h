#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "facts/npu_enums.h"

// The NPU configurations, and the system configurations and memory modes that the usual vela.ini offers.
// Sources: public files of ethos-u-vela 5.2.0 (architecture_features.py, config_files/Arm/vela.ini) and of Arm's core
// driver; the U85 tables from the public mirror of Vela's regor.
namespace carina::npu {

// A block of a feature map in elements.
struct Block3 {
  int height;
  int width;
  int depth;
  bool operator==(const Block3&) const = default;
};

// The shared buffer of U55 and U65 (per core): banks of kShramBankBytes, handed out in granules per use.
inline constexpr int kShramBankBytes = 1024;
inline constexpr int kShramOutputBanks = 2;  // banks 0 and 1: output buffer; the IFM buffer starts behind
inline constexpr int kShramLutBanks = 2;     // 2 KiB of lookup tables end the shared buffer
inline constexpr int kLutSlotBytes = 256;
inline constexpr int kLutBytes = 2048;

struct Shram {
  int banks;
  int reserved_end_banks;  // kept for lookup tables even when none is used (parts with more than 16 banks)
  // Allocation granules in banks, by use: 8- and 16-bit IFM, the same of elementwise operations, 32-bit IFM,
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

// The internal memories of U85. Zeros on the other products.
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

// A microblock that U85 can compute with: its shape and its number in ACC_FORMAT.
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
  std::array<OfmUblock, 3> ofm_ublocks;  // U55 and U65 have one, and no code for it
  Block3 ifm_ublock;
  Shram shram;
  U85Rams u85;
  int shram_bytes_all_cores;
  uint32_t config_word;  // CONFIG register, as payloads carry it
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

constexpr AcceleratorConfig u55(std::string_view name, int macs, Block3 ofm, Block3 ifm, Shram shram, uint32_t config) {
  return {.name = name,
          .product = Product::kU55,
          .macs_per_cycle = macs,
          .cores = 1,
          .weight_decoders = 1,
          .sram_ports = 1,
          .ext_ports = 1,
          .ofm_ublock_count = 1,
          .ofm_ublocks = {{{ofm, Microblock::U1X1}}},
          .ifm_ublock = ifm,
          .shram = shram,
          .u85 = {},
          .shram_bytes_all_cores = shram.banks * kShramBankBytes,
          .config_word = config,
          .id_word = kIdU55U65};
}

inline constexpr Shram kShram16Banks32Macs{16, 0, 2, 2, 2, 2, 4, 4, 4, 4};
inline constexpr Shram kShram16Banks64Macs{16, 0, 2, 2, 2, 2, 4, 4, 4, 8};
inline constexpr Shram kShram24Banks{24, 2, 4, 4, 4, 4, 8, 4, 8, 12};
inline constexpr Shram kShram48Banks{48, 2, 8, 8, 8, 8, 16, 8, 16, 20};

constexpr AcceleratorConfig u65(std::string_view name, int cores, uint32_t config) {
  return {.name = name,
          .product = Product::kU65,
          .macs_per_cycle = 256 * cores,
          .cores = cores,
          .weight_decoders = 1,
          .sram_ports = 1,
          .ext_ports = 1,
          .ofm_ublock_count = 1,
          .ofm_ublocks = {{{{2, 2, 8}, Microblock::U2X2}}},
          .ifm_ublock = {2, 2, 8},
          .shram = kShram48Banks,
          .u85 = {},
          .shram_bytes_all_cores = 48 * kShramBankBytes * cores,
          .config_word = config,
          .id_word = kIdU55U65};
}

struct U85Shape {
  int macs;
  int decoders;
  int sram_ports;
  int ext_ports;
  int ublock_count;
  std::array<OfmUblock, 3> ublocks;
};
// The IFM allocation unit of U85 depends on the operation (kU85IfmAllocation), so ifm_ublock is not used there.
constexpr AcceleratorConfig u85(std::string_view name, const U85Shape& shape, const U85Rams& rams, uint32_t config) {
  return {.name = name,
          .product = Product::kU85,
          .macs_per_cycle = shape.macs,
          .cores = 1,
          .weight_decoders = shape.decoders,
          .sram_ports = shape.sram_ports,
          .ext_ports = shape.ext_ports,
          .ofm_ublock_count = shape.ublock_count,
          .ofm_ublocks = shape.ublocks,
          .ifm_ublock = {},
          .shram = {},
          .u85 = rams,
          .shram_bytes_all_cores = 0,
          .config_word = config,
          .id_word = kIdU85};
}
}  // namespace detail

inline constexpr auto kAccelerators = std::to_array<AcceleratorConfig>({
    detail::u55("ethos-u55-32", 32, {1, 1, 4}, {1, 1, 8}, detail::kShram16Banks32Macs, 0x00001005),
    detail::u55("ethos-u55-64", 64, {1, 1, 8}, {1, 1, 8}, detail::kShram16Banks64Macs, 0x00001006),
    detail::u55("ethos-u55-128", 128, {1, 2, 8}, {1, 2, 8}, detail::kShram24Banks, 0x00001807),
    detail::u55("ethos-u55-256", 256, {2, 2, 8}, {2, 2, 8}, detail::kShram48Banks, 0x00003008),
    detail::u65("ethos-u65-256", 1, 0x10003008),
    detail::u65("ethos-u65-512", 2, 0x10006009),
    detail::u85("ethos-u85-128", {128, 1, 2, 1, 2, {{{{1, 2, 8}, Microblock::U1X2}, {{1, 1, 16}, Microblock::U1X1}}}},
                {8192, 8192, 2048, 768, 64, 64, 128, 128, 104, 16}, 0x20000117),
    detail::u85("ethos-u85-256",
                {256,
                 1,
                 2,
                 1,
                 3,
                 {{{{2, 2, 8}, Microblock::U2X2}, {{1, 4, 8}, Microblock::U1X4}, {{1, 2, 16}, Microblock::U1X2}}}},
                {16384, 16384, 2048, 1536, 104, 104, 128, 128, 128, 16}, 0x20000118),
    detail::u85("ethos-u85-512", {512, 2, 2, 1, 2, {{{{2, 2, 16}, Microblock::U2X2}, {{1, 4, 16}, Microblock::U1X4}}}},
                {16384, 32768, 4096, 3072, 128, 128, 256, 256, 128, 16}, 0x20001119),
    detail::u85("ethos-u85-1024",
                {1024,
                 4,
                 2,
                 2,
                 3,
                 {{{{2, 2, 32}, Microblock::U2X2}, {{1, 4, 32}, Microblock::U1X4}, {{2, 4, 16}, Microblock::U2X4}}}},
                {16384, 65536, 4096, 6144, 256, 256, 416, 208, 256, 16}, 0x2000251A),
    detail::u85("ethos-u85-2048",
                {2048,
                 4,
                 4,
                 2,
                 3,
                 {{{{2, 2, 64}, Microblock::U2X2}, {{1, 4, 64}, Microblock::U1X4}, {{4, 4, 16}, Microblock::U4X4}}}},
                {32768, 131072, 8192, 12288, 256, 256, 512, 256, 256, 16}, 0x2000261B),
});

// The configuration of this name ("ethos-u55-128"), or of this CONFIG word.
constexpr const AcceleratorConfig* find_accelerator(std::string_view name) {
  for (const AcceleratorConfig& config : kAccelerators) {
    if (config.name == name) return &config;
  }
  return nullptr;
}
// What the driver compares: product, MACs, stream version and, on U85, the AXI ports. Not the shared buffer's size.
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

// ---- U85: the unit in which the IFM memory is handed out (H x W x D, D in units of 128 bits of channels) ----
struct U85IfmAllocation {
  int macs_per_cycle;
  Microblock microblock;
  // For an IFM block depth of at most 128 bits, at most 256 bits, and more.
  std::array<Block3, 3> units;
};
inline constexpr auto kU85IfmAllocation = std::to_array<U85IfmAllocation>({
    {128, Microblock::U1X2, {{{1, 2, 1}, {1, 1, 2}, {1, 1, 2}}}},
    {128, Microblock::U1X1, {{{1, 2, 1}, {1, 1, 2}, {1, 1, 2}}}},
    {256, Microblock::U2X2, {{{2, 2, 1}, {1, 2, 2}, {1, 1, 4}}}},
    {256, Microblock::U1X2, {{{2, 2, 1}, {1, 2, 2}, {1, 1, 4}}}},
    {256, Microblock::U1X4, {{{1, 4, 1}, {1, 2, 2}, {1, 1, 4}}}},
    {512, Microblock::U2X2, {{{2, 2, 1}, {1, 2, 2}, {1, 1, 4}}}},
    {512, Microblock::U1X4, {{{1, 4, 1}, {1, 2, 2}, {1, 1, 4}}}},
    {1024, Microblock::U2X2, {{{2, 4, 1}, {2, 2, 2}, {1, 2, 4}}}},
    {1024, Microblock::U2X4, {{{2, 4, 1}, {2, 2, 2}, {1, 2, 4}}}},
    {1024, Microblock::U1X4, {{{2, 4, 1}, {1, 4, 2}, {1, 2, 4}}}},
    {2048, Microblock::U2X2, {{{4, 4, 1}, {2, 4, 2}, {2, 2, 4}}}},
    {2048, Microblock::U4X4, {{{4, 4, 1}, {2, 4, 2}, {2, 2, 4}}}},
    {2048, Microblock::U1X4, {{{4, 4, 1}, {2, 4, 2}, {1, 4, 4}}}},
});

// ---- U85: which microblock an operation may use, by IFM width ----
enum class U85OpClass : uint8_t {
  kConv,
  kMatmul,
  kFullyConnected,
  kDepthwise,
  kPool,
  kReduceSum,
  kElementwise,
  kReduceMinMax,
  kArgmax,
  kResize
};
constexpr uint16_t u85_op_bit(U85OpClass op) {
  return static_cast<uint16_t>(1u << static_cast<unsigned>(op));
}

struct U85UblockUse {
  int macs_per_cycle;
  Microblock microblock;
  uint16_t ops_ifm8;  // sets of u85_op_bit()
  uint16_t ops_ifm16;
  uint16_t ops_ifm32;
};
namespace detail {
template <typename... Ops>
constexpr uint16_t u85_ops(Ops... ops) {
  return static_cast<uint16_t>((0u | ... | u85_op_bit(ops)));
}
using enum U85OpClass;
inline constexpr uint16_t kU85AllOps = 0x3FF;
inline constexpr uint16_t kU85AllButMatmul = static_cast<uint16_t>(kU85AllOps & ~u85_op_bit(kMatmul));
inline constexpr uint16_t kU85Deep8 = u85_ops(kDepthwise, kPool, kElementwise, kReduceMinMax, kArgmax, kResize);
// 16-bit convolutions may use the deep microblock only with a 1x1 kernel, depth first: the planner checks that.
inline constexpr uint16_t kU85Deep16 = u85_ops(kConv, kFullyConnected, kElementwise, kResize);
inline constexpr uint16_t kU85Deep32 = u85_ops(kElementwise, kResize);
inline constexpr uint16_t kU85Flat8 = u85_ops(kConv, kMatmul, kFullyConnected, kReduceSum, kElementwise, kResize);
inline constexpr uint16_t kU85Wide32 = u85_ops(kReduceSum, kElementwise, kReduceMinMax, kResize);
inline constexpr uint16_t kU85Mac = u85_ops(kConv, kMatmul, kFullyConnected, kElementwise);
}  // namespace detail
inline constexpr auto kU85UblockUse = std::to_array<U85UblockUse>({
    {128, Microblock::U1X2, detail::kU85Flat8, detail::kU85AllOps, detail::kU85Wide32},
    {128, Microblock::U1X1, detail::kU85Deep8, detail::kU85Deep16, detail::kU85Deep32},
    {256, Microblock::U2X2, detail::kU85Flat8, detail::kU85AllOps, detail::kU85Wide32},
    {256, Microblock::U1X4, detail::kU85Flat8, detail::kU85AllOps, detail::kU85Wide32},
    {256, Microblock::U1X2, detail::kU85Deep8, detail::kU85Deep16, detail::kU85Deep32},
    {512, Microblock::U2X2, detail::kU85AllOps, detail::kU85AllOps, detail::kU85Wide32},
    {512, Microblock::U1X4, detail::kU85AllOps, detail::kU85AllOps, detail::kU85Wide32},
    {1024, Microblock::U2X2, detail::kU85Mac, detail::kU85Mac, u85_op_bit(U85OpClass::kElementwise)},
    {1024, Microblock::U1X4, detail::kU85Mac, detail::kU85Mac, u85_op_bit(U85OpClass::kElementwise)},
    {1024, Microblock::U2X4, detail::kU85AllButMatmul, detail::kU85AllButMatmul, detail::kU85Wide32},
    {2048, Microblock::U2X2, detail::kU85Mac, detail::kU85Mac, u85_op_bit(U85OpClass::kElementwise)},
    {2048, Microblock::U1X4, detail::kU85Mac, detail::kU85Mac, u85_op_bit(U85OpClass::kElementwise)},
    {2048, Microblock::U4X4, detail::kU85AllButMatmul, detail::kU85AllButMatmul, detail::kU85Wide32},
});

// ---- Limits ----
struct ProductLimits {
  Product product;
  Block3 max_ofm_block;  // in elements
  int max_blockdep;
  int max_outstanding_kernels;  // that Vela's hazard analysis assumes
  int max_outstanding_dmas;
  int64_t max_weight_stream_bytes;
  int scale_length_bits;
  int axi_port_bytes;  // per cycle
};
inline constexpr auto kLimits = std::to_array<ProductLimits>({
    {Product::kU55, {32, 64, 128}, 3, 2, 1, 0xFFFFFFFF, 20, 8},
    {Product::kU65, {32, 64, 128}, 3, 2, 2, 0xFFFFFFFF, 20, 16},
    {Product::kU85, {128, 128, 1024}, 7, 2, 4, 0xFFFFFFFF, 20, 16},
});
constexpr const ProductLimits& limits_of(Product product) {
  return kLimits[static_cast<size_t>(product)];
}

inline constexpr int kMaxKernelHeight = 64;  // convolutions; and height * width:
inline constexpr int kMaxKernelElements = 4096;
inline constexpr int kMaxPoolHeight = 256;
inline constexpr int kMaxPoolElements = 65536;
inline constexpr int kMaxPaddedAveragePoolSize = 8;  // per axis
inline constexpr int kMaxStride = 3;
inline constexpr int kMaxDilation = 2;
inline constexpr int kMaxAxis = 65536;
inline constexpr int kSubkernelSize = 8;        // kernels run in sub-kernels of at most 8x8 (dilated) taps
inline constexpr int kBrickDepth = 16;          // NHCWB16
inline constexpr int kBaseAlignmentBytes = 16;  // base pointers, brick bases, streams and tables
inline constexpr int kWeightStreamAlignmentBytes = 16;
inline constexpr int kMaxRegions = 8;
// Sums of |weight| per output channel below which no accumulator overflows, as Vela guarantees.
inline constexpr int64_t kMaxWeightSum8 = int64_t{127} * 65536;
inline constexpr int64_t kMaxWeightSumU85Ifm16 = 2130706432;
// U85 chaining: buffers, operations in a chain, external inputs of a chain.
inline constexpr int kChainingBuffers = 6;
inline constexpr int kMaxChainLength = 4;
inline constexpr int kMaxChainExternalInputs = 3;

// What the regions of a stream mean in programs made by Vela and by us.
enum class Region : uint8_t { kConstants = 0, kArena = 1, kFastScratch = 2, kInputs = 3, kOutputs = 4 };

// ---- Memories ----
enum class MemoryKind : uint8_t { kSram, kDram, kOnChipFlash, kOffChipFlash };
constexpr std::string_view name_of(MemoryKind kind) {
  constexpr std::array<std::string_view, 4> kNames{"Sram", "Dram", "OnChipFlash", "OffChipFlash"};
  return kNames[static_cast<size_t>(kind)];
}

struct MemoryPort {
  MemoryKind kind;
  double clock_scale;  // of the core clock
  int ports_used;      // AXI ports (U85); 1 elsewhere
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
  std::array<MemoryPort, 2> ports;  // [0] behind AXI port 0, always SRAM; [1] behind AXI port 1
};

inline constexpr auto kSystemConfigs = std::to_array<SystemConfig>({
    {"Ethos_U55_Deep_Embedded",
     Product::kU55,
     200e6,
     {{{MemoryKind::kSram, 1.0, 1, 32, 32, 32, 8, 8}, {MemoryKind::kOffChipFlash, 0.0625, 1, 128, 64, 0, 2, 0}}}},
    {"Ethos_U55_High_End_Embedded",
     Product::kU55,
     500e6,
     {{{MemoryKind::kSram, 1.0, 1, 32, 32, 32, 4, 4}, {MemoryKind::kOffChipFlash, 0.125, 1, 128, 64, 0, 2, 0}}}},
    {"Ethos_U65_Embedded",
     Product::kU65,
     500e6,
     {{{MemoryKind::kSram, 1.0, 1, 32, 32, 32, 8, 8}, {MemoryKind::kOffChipFlash, 0.0625, 1, 128, 64, 0, 2, 0}}}},
    {"Ethos_U65_Mid_End",
     Product::kU65,
     500e6,
     {{{MemoryKind::kSram, 1.0, 1, 32, 32, 32, 8, 8}, {MemoryKind::kDram, 0.46875, 1, 128, 500, 250, 12, 6}}}},
    {"Ethos_U65_High_End",
     Product::kU65,
     1e9,
     {{{MemoryKind::kSram, 1.0, 1, 32, 32, 32, 16, 16}, {MemoryKind::kDram, 0.234375, 1, 128, 500, 250, 24, 12}}}},
    {"Ethos_U65_Client_Server",
     Product::kU65,
     1e9,
     {{{MemoryKind::kSram, 1.0, 1, 32, 32, 32, 16, 16}, {MemoryKind::kDram, 0.75, 1, 128, 500, 250, 24, 12}}}},
    {"Ethos_U85_SYS_Flash_Low",
     Product::kU85,
     200e6,
     {{{MemoryKind::kSram, 1.0, 2, 64, 8, 8, 8, 8}, {MemoryKind::kOffChipFlash, 0.0625, 1, 128, 32, 0, 2, 0}}}},
    {"Ethos_U85_SYS_Flash_High",
     Product::kU85,
     500e6,
     {{{MemoryKind::kSram, 1.0, 2, 64, 32, 32, 8, 8}, {MemoryKind::kOffChipFlash, 0.0625, 1, 128, 64, 0, 2, 0}}}},
    {"Ethos_U85_SYS_DRAM_Low",
     Product::kU85,
     500e6,
     {{{MemoryKind::kSram, 1.0, 2, 64, 16, 16, 8, 8}, {MemoryKind::kDram, 0.46875, 1, 128, 500, 250, 24, 12}}}},
    {"Ethos_U85_SYS_DRAM_Mid",
     Product::kU85,
     1e9,
     {{{MemoryKind::kSram, 1.0, 2, 64, 32, 32, 8, 8}, {MemoryKind::kDram, 0.75, 1, 128, 500, 250, 64, 32}}}},
    {"Ethos_U85_SYS_DRAM_High",
     Product::kU85,
     1e9,
     {{{MemoryKind::kSram, 1.0, 4, 64, 32, 32, 8, 8}, {MemoryKind::kDram, 0.75, 2, 128, 500, 250, 64, 32}}}},
});

// Which AXI port the constants, the arena and the cache ("fast scratch") live behind; 0 is SRAM.
struct MemoryMode {
  std::string_view name;
  int constants_port;
  int arena_port;
  int cache_port;
  int64_t cache_bytes;  // arena_cache_size; 0: not given, so unlimited
};
inline constexpr auto kMemoryModes = std::to_array<MemoryMode>({
    {"Sram_Only", 0, 0, 0, 0},
    {"Shared_Sram", 1, 0, 0, 0},
    {"Dedicated_Sram", 1, 1, 0, 0},
    {"Dedicated_Sram_256KB", 1, 1, 0, 262144},
    {"Dedicated_Sram_384KB", 1, 1, 0, 393216},
    {"Dedicated_Sram_512KB", 1, 1, 0, 524288},
});
// The cache is memory of its own, beside the arena (region 2), only where the arena is not in SRAM itself.
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
    {Product::kU55, "Ethos_U55_High_End_Embedded", "Shared_Sram", "Ethos_U55_High_End_Embedded", "Shared_Sram"},
    {Product::kU65, "Ethos_U65_High_End", "Dedicated_Sram_384KB", "Ethos_U65_Client_Server", "Dedicated_Sram_384KB"},
    {Product::kU85, "Ethos_U85_SYS_DRAM_Mid", "Sram_Only", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"},
});
constexpr const FamilyDefaults& defaults_of(Product product) {
  return kFamilyDefaults[static_cast<size_t>(product)];
}

// ---- What must hold of the tables ----
namespace detail {
// Not by find_*(): g++ 12 with -fsanitize=undefined does not take a table row's address for a constant.
constexpr bool names_a_row(const auto& table, std::string_view name) {
  for (const auto& row : table) {
    if (row.name == name) return true;
  }
  return false;
}
constexpr bool accelerators_are_consistent() {
  for (const AcceleratorConfig& c : kAccelerators) {
    if (1 << ConfigWord::macs_log2(c.config_word) != c.macs_per_cycle) return false;
    if (ConfigWord::product(c.config_word) != static_cast<uint32_t>(c.product)) return false;
    for (const AcceleratorConfig& other : kAccelerators) {
      if (other.name != c.name && same_hardware(other, c.config_word)) return false;
    }
    if (c.product != Product::kU85) {
      if (static_cast<int>(ConfigWord::shram_kib(c.config_word)) * 1024 != c.shram_bytes_all_cores) return false;
      continue;
    }
    if (1 << ConfigWord::sram_ports_log2(c.config_word) != c.sram_ports) return false;
    if (1 << ConfigWord::ext_ports_log2(c.config_word) != c.ext_ports) return false;
    if (1 << ConfigWord::weight_decoders_log2(c.config_word) != c.weight_decoders) return false;
  }
  for (const FamilyDefaults& d : kFamilyDefaults) {
    if (!names_a_row(kSystemConfigs, d.system_config) || !names_a_row(kMemoryModes, d.memory_mode)) return false;
    if (!names_a_row(kSystemConfigs, d.vela_system_config) || !names_a_row(kMemoryModes, d.vela_memory_mode))
      return false;
  }
  return true;
}
}  // namespace detail
static_assert(detail::accelerators_are_consistent());

}  // namespace carina::npu
