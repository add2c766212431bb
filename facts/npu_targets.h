#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "facts/npu_accelerators.h"
#include "facts/npu_enums.h"
#include "facts/npu_memories.h"
#include "facts/npu_u85_blocks.h"

// The NPUs, the memories attached to them, and the limits of their operations. Sources: public files of ethos-u-vela
// 5.2.0 and of Arm's core driver.
namespace carina::npu {

// ---- Limits ----
struct ProductLimits {
  Product product;
  Block3 max_ofm_block;  // in elements
  int max_blockdep;
  int max_outstanding_kernels;  // assumed by Vela's hazard analysis
  int max_outstanding_dmas;
  int64_t max_weight_stream_bytes;
  int scale_length_bits;
  int axi_port_bytes;           // per cycle
  bool sparse_weights = false;  // convolutions that multiply only two of each four input channels
};
// Sources: architecture_features.py; ethos_u85.cpp of regor.
inline constexpr auto kLimits = std::to_array<ProductLimits>({
    {.product = Product::kU55,
     .max_ofm_block = {.height = 32, .width = 64, .depth = 128},
     .max_blockdep = 3,
     .max_outstanding_kernels = 2,
     .max_outstanding_dmas = 1,
     .max_weight_stream_bytes = 0xFFFFFFFF,
     .scale_length_bits = 20,
     .axi_port_bytes = 8},
    {.product = Product::kU65,
     .max_ofm_block = {.height = 32, .width = 64, .depth = 128},
     .max_blockdep = 3,
     .max_outstanding_kernels = 2,
     .max_outstanding_dmas = 2,
     .max_weight_stream_bytes = 0xFFFFFFFF,
     .scale_length_bits = 20,
     .axi_port_bytes = 16},
    {.product = Product::kU85,
     .max_ofm_block = {.height = 128, .width = 128, .depth = 1024},
     .max_blockdep = 7,
     .max_outstanding_kernels = 2,
     .max_outstanding_dmas = 4,
     .max_weight_stream_bytes = 0xFFFFFFFF,
     .scale_length_bits = 20,
     .axi_port_bytes = 16,
     .sparse_weights = true},
});
constexpr const ProductLimits& limits_of(Product product) {
  return kLimits[static_cast<size_t>(product)];
}

inline constexpr int kMaxKernelHeight = 64;  // of convolutions; and height * width:
inline constexpr int kMaxKernelElements = 4096;
inline constexpr int kMaxPoolHeight = 256;
inline constexpr int kMaxPoolElements = 65536;
inline constexpr int kMaxPaddedAveragePoolSize = 8;  // per axis
inline constexpr int kMaxStride = 3;
inline constexpr int kMaxPadBefore = 127;  // above and left of an image: the registers IFM_PAD_TOP and IFM_PAD_LEFT
inline constexpr int kMaxPadBehind = 255;  // below and right of it
inline constexpr int kMaxDilation = 2;
inline constexpr int kMaxAxis = 65536;
// The most input channels that U55 and U65 read together, by width of the IFM and order of the weights. Source:
// architecture_allocator.py.
inline constexpr int kIfmBlockDepth8Bit = 32;
inline constexpr int kIfmBlockDepth16Bit = 16;
inline constexpr int kIfmBlockDepthPartKernel = 16;
// The same limits of U85 (npu/cost/cost.h selects one). Source: regor's ethos_u85.cpp.
inline constexpr int kU85IfmBlockDepth = 64;
inline constexpr int kU85IfmBlockDepthSmall = 32;  // deep ublocks on parts of at most 256 MACs; 32 bits
inline constexpr int kU85IfmBlockDepthSparse = 128;
inline constexpr int kU85IfmBlockDepthPartKernel = 16;
inline constexpr int kU85PartKernelTapGroup = 5;
inline constexpr int kU85PartKernelTapGroupWide = 10;
inline constexpr int kIfmBlockDepthGranule16Bit = 4;  // 8 and 32 bits: the depth of the IFM ublock
inline constexpr int kSubkernelSize = 8;              // kernels are processed in sub-kernels of at most 8x8 (dilated)
                                                      // taps
inline constexpr int kBrickDepth = 16;                // NHCWB16
inline constexpr int kBaseAlignmentBytes = 16;        // base pointers, brick bases, streams and tables
inline constexpr int kMaxRegions = 8;
// Bounds of the sum of |weight| per output channel below which no accumulator overflows. Vela guarantees the same.
inline constexpr int64_t kMaxWeightSum8 = int64_t{127} * 65536;
inline constexpr int kChainingBuffers = 6;  // of U85

// The regions of a stream in programs made by Vela and by Carina.
enum class Region : uint8_t { kConstants = 0, kArena = 1, kFastScratch = 2, kInputs = 3, kOutputs = 4 };

// ---- Checks of the tables ----
namespace detail {
// find_*() is not used here: g++ 12 with -fsanitize=undefined does not treat a table row's address as a constant.
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
