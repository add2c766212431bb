#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <cstdint>

// The parts of VK_ARM_tensors (revision 2), VK_ARM_data_graph (revision 1) and VK_EXT_shader_replicated_composites that
// Carina uses, for Vulkan headers that are older. Layouts and numbers are those of the Vulkan registry, 1.4.359;
// members have the registry's order.
namespace carina::vulkan::arm {

inline constexpr const char* kTensors = "VK_ARM_tensors";
inline constexpr const char* kDataGraph = "VK_ARM_data_graph";

// VkStructureType
enum Structure : uint32_t {
  kTensorCreateInfo = 1000460000,
  kTensorViewCreateInfo = 1000460001,
  kBindTensorMemoryInfo = 1000460002,
  kWriteDescriptorSetTensor = 1000460003,
  kTensorDescription = 1000460006,
  kTensorMemoryRequirementsInfo = 1000460007,
  kTensorFeatures = 1000460009,
  kMaintenance5Features = 1000470000,
  kPipelineCreateInfo = 1000507000,
  kSessionCreateInfo = 1000507001,
  kResourceInfo = 1000507002,
  kConstant = 1000507003,
  kSessionMemoryRequirementsInfo = 1000507004,
  kBindSessionMemoryInfo = 1000507005,
  kDataGraphFeatures = 1000507006,
  kShaderModuleCreateInfo = 1000507007,
  kBindPointRequirementsInfo = 1000507011,
  kBindPointRequirement = 1000507012,
  kReplicatedCompositesFeatures = 1000564000,
};
constexpr VkStructureType type_of(Structure structure) {
  return static_cast<VkStructureType>(structure);
}

inline constexpr uint32_t kDescriptorTypeTensor = 1000460000;
inline constexpr uint32_t kPipelineBindPointDataGraph = 1000507000;
inline constexpr VkQueueFlags kQueueDataGraph = 0x400;
inline constexpr uint64_t kTensorUsageDataGraph = 0x20;
inline constexpr uint32_t kTilingLinear = 1;

using Tensor = uint64_t;  // non-dispatchable handles
using TensorView = uint64_t;
using Session = uint64_t;

struct TensorDescription {
  VkStructureType type;
  const void* next;
  uint32_t tiling;
  VkFormat format;
  uint32_t dimension_count;
  const int64_t* dimensions;
  const int64_t* strides;  // nullptr: packed
  uint64_t usage;
};

struct TensorCreateInfo {
  VkStructureType type;
  const void* next;
  uint64_t flags;
  const TensorDescription* description;
  VkSharingMode sharing_mode;
  uint32_t queue_family_count;
  const uint32_t* queue_families;
};

struct TensorViewCreateInfo {
  VkStructureType type;
  const void* next;
  uint64_t flags;
  Tensor tensor;
  VkFormat format;
};

struct TensorMemoryRequirementsInfo {
  VkStructureType type;
  const void* next;
  Tensor tensor;
};

struct BindTensorMemoryInfo {
  VkStructureType type;
  const void* next;
  Tensor tensor;
  VkDeviceMemory memory;
  VkDeviceSize offset;
};

struct WriteDescriptorSetTensor {
  VkStructureType type;
  const void* next;
  uint32_t view_count;
  const TensorView* views;
};

struct TensorFeatures {
  VkStructureType type;
  void* next;
  VkBool32 non_packed;
  VkBool32 shader_access;
  VkBool32 array_dynamic_indexing;
  VkBool32 array_non_uniform_indexing;
  VkBool32 update_after_bind;
  VkBool32 tensors;
};

struct DataGraphFeatures {
  VkStructureType type;
  void* next;
  VkBool32 data_graph;
  VkBool32 update_after_bind;
  VkBool32 specialization_constants;
  VkBool32 descriptor_buffer;
  VkBool32 shader_module;
};

struct OneFeature {  // of VK_KHR_maintenance5 and VK_EXT_shader_replicated_composites
  VkStructureType type;
  void* next;
  VkBool32 on;
};

struct Constant {
  VkStructureType type;
  const void* next;  // its TensorDescription
  uint32_t id;
  const void* data;
};

struct ResourceInfo {
  VkStructureType type;
  const void* next;  // its TensorDescription
  uint32_t set;
  uint32_t binding;
  uint32_t array_element;
};

struct ShaderModuleCreateInfo {
  VkStructureType type;
  const void* next;
  VkShaderModule module;
  const char* name;
  const VkSpecializationInfo* specialization;
  uint32_t constant_count;
  const Constant* constants;
};

struct PipelineCreateInfo {
  VkStructureType type;
  const void* next;  // its ShaderModuleCreateInfo
  uint64_t flags;
  VkPipelineLayout layout;
  uint32_t resource_count;
  const ResourceInfo* resources;
};

struct SessionCreateInfo {
  VkStructureType type;
  const void* next;
  uint64_t flags;
  VkPipeline pipeline;
};

struct BindPointRequirementsInfo {
  VkStructureType type;
  const void* next;
  Session session;
};

struct BindPointRequirement {
  VkStructureType type;
  void* next;
  uint32_t bind_point;
  uint32_t bind_point_type;  // 0: memory
  uint32_t object_count;
};

struct SessionMemoryRequirementsInfo {
  VkStructureType type;
  const void* next;
  Session session;
  uint32_t bind_point;
  uint32_t object;
};

struct BindSessionMemoryInfo {
  VkStructureType type;
  const void* next;
  Session session;
  uint32_t bind_point;
  uint32_t object;
  VkDeviceMemory memory;
  VkDeviceSize offset;
};

using CreateTensor = VkResult (*)(VkDevice, const TensorCreateInfo*, const VkAllocationCallbacks*, Tensor*);
using DestroyTensor = void (*)(VkDevice, Tensor, const VkAllocationCallbacks*);
using CreateTensorView = VkResult (*)(VkDevice, const TensorViewCreateInfo*, const VkAllocationCallbacks*, TensorView*);
using DestroyTensorView = void (*)(VkDevice, TensorView, const VkAllocationCallbacks*);
using GetTensorMemoryRequirements = void (*)(VkDevice, const TensorMemoryRequirementsInfo*, VkMemoryRequirements2*);
using BindTensorMemory = VkResult (*)(VkDevice, uint32_t, const BindTensorMemoryInfo*);
using CreateDataGraphPipelines = VkResult (*)(VkDevice, uint64_t deferred, VkPipelineCache, uint32_t,
                                              const PipelineCreateInfo*, const VkAllocationCallbacks*, VkPipeline*);
using CreateSession = VkResult (*)(VkDevice, const SessionCreateInfo*, const VkAllocationCallbacks*, Session*);
using DestroySession = void (*)(VkDevice, Session, const VkAllocationCallbacks*);
using GetBindPointRequirements = VkResult (*)(VkDevice, const BindPointRequirementsInfo*, uint32_t*,
                                              BindPointRequirement*);
using GetSessionMemoryRequirements = void (*)(VkDevice, const SessionMemoryRequirementsInfo*, VkMemoryRequirements2*);
using BindSessionMemory = VkResult (*)(VkDevice, uint32_t, const BindSessionMemoryInfo*);
using CmdDispatchDataGraph = void (*)(VkCommandBuffer, Session, const void*);

}  // namespace carina::vulkan::arm
