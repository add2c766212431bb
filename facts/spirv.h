#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace carina {

// The part of SPIR-V that graphs use. Sources: SPIR-V specification 1.6; SPV_ARM_tensors, SPV_ARM_graph,
// SPV_EXT_float8, SPV_KHR_bfloat16.

// NOLINTBEGIN: the names of the specification
enum class SpirvOp : uint16_t {
#define CARINA_SPIRV_OP(name, number, operands) name = number,
#include "facts/spirv_ops.def"
#undef CARINA_SPIRV_OP
};
// NOLINTEND

struct SpirvOpRow {
  SpirvOp op;
  std::string_view name;
  std::string_view operands;  // letters: facts/spirv_ops.def
};
inline constexpr auto kSpirvOps = std::to_array<SpirvOpRow>({
#define CARINA_SPIRV_OP(name, number, operands) {SpirvOp::name, #name, operands},
#include "facts/spirv_ops.def"
#undef CARINA_SPIRV_OP
});

constexpr const SpirvOpRow* find_spirv_op(uint32_t opcode) {
  for (const SpirvOpRow& row : kSpirvOps) {
    if (static_cast<uint32_t>(row.op) == opcode) return &row;
  }
  return nullptr;
}

// The first words of a module: magic, version, generator, bound of the ids, 0.
inline constexpr uint32_t kSpirvMagic = 0x07230203;
inline constexpr size_t kSpirvHeaderWords = 5;
inline constexpr uint32_t kSpirvVersion1_5 = 0x00010500;
inline constexpr uint32_t kSpirvVersion1_6 = 0x00010600;  // the newest
inline constexpr uint32_t kSpirvMaxBound = 0x3FFFFF;      // section 2.17, universal limits
inline constexpr size_t kSpirvMaxWords = 0xFFFF;          // of one instruction, whose count has 16 bits

enum class SpirvCapability : uint32_t {
  kMatrix = 0,
  kShader = 1,
  kFloat16 = 9,
  kInt64 = 11,
  kInt16 = 22,
  kInt8 = 39,
  kTensors = 4174,
  kGraph = 4191,
  kFloat8 = 4212,
  kBFloat16 = 5116,
  kVulkanMemoryModel = 5345,
  kReplicatedComposites = 6024,
};

struct SpirvCapabilityRow {
  SpirvCapability capability;
  std::string_view name;
  std::string_view extension;  // that defines it; empty: the core
};
inline constexpr auto kSpirvCapabilities = std::to_array<SpirvCapabilityRow>({
    {SpirvCapability::kMatrix, "Matrix", ""},
    {SpirvCapability::kShader, "Shader", ""},
    {SpirvCapability::kFloat16, "Float16", ""},
    {SpirvCapability::kInt64, "Int64", ""},
    {SpirvCapability::kInt16, "Int16", ""},
    {SpirvCapability::kInt8, "Int8", ""},
    {SpirvCapability::kTensors, "TensorsARM", "SPV_ARM_tensors"},
    {SpirvCapability::kGraph, "GraphARM", "SPV_ARM_graph"},
    {SpirvCapability::kFloat8, "Float8EXT", "SPV_EXT_float8"},
    {SpirvCapability::kBFloat16, "BFloat16TypeKHR", "SPV_KHR_bfloat16"},
    {SpirvCapability::kVulkanMemoryModel, "VulkanMemoryModel", "SPV_KHR_vulkan_memory_model"},
    {SpirvCapability::kReplicatedComposites, "ReplicatedCompositesEXT", "SPV_EXT_replicated_composites"},
});

enum class SpirvDecoration : uint32_t { kBinding = 33, kDescriptorSet = 34 };
inline constexpr uint32_t kSpirvStorageUniformConstant = 0;
inline constexpr uint32_t kSpirvAddressingLogical = 0;
inline constexpr uint32_t kSpirvMemoryModelVulkan = 3;

// The third word of OpTypeFloat, if it has one.
inline constexpr uint32_t kSpirvEncodingBFloat16 = 0;
inline constexpr uint32_t kSpirvEncodingFloat8E4M3 = 4214;
inline constexpr uint32_t kSpirvEncodingFloat8E5M2 = 4215;

}  // namespace carina
