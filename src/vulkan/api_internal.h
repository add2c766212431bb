#pragma once

#include <string>

#include "carina/result.h"
#include "vulkan/arm_extensions_internal.h"

namespace carina::vulkan {

// The Vulkan functions in use, by the object they belong to: X(member, type, name).
#define CARINA_VULKAN_INSTANCE(X)                                                                             \
  X(destroy_instance, PFN_vkDestroyInstance, "vkDestroyInstance")                                             \
  X(enumerate_devices, PFN_vkEnumeratePhysicalDevices, "vkEnumeratePhysicalDevices")                          \
  X(extensions, PFN_vkEnumerateDeviceExtensionProperties, "vkEnumerateDeviceExtensionProperties")             \
  X(properties, PFN_vkGetPhysicalDeviceProperties, "vkGetPhysicalDeviceProperties")                           \
  X(features, PFN_vkGetPhysicalDeviceFeatures2, "vkGetPhysicalDeviceFeatures2")                               \
  X(memory_properties, PFN_vkGetPhysicalDeviceMemoryProperties, "vkGetPhysicalDeviceMemoryProperties")        \
  X(queue_families, PFN_vkGetPhysicalDeviceQueueFamilyProperties, "vkGetPhysicalDeviceQueueFamilyProperties") \
  X(create_device, PFN_vkCreateDevice, "vkCreateDevice")                                                      \
  X(device_function, PFN_vkGetDeviceProcAddr, "vkGetDeviceProcAddr")

#define CARINA_VULKAN_DEVICE(X)                                                                              \
  X(destroy_device, PFN_vkDestroyDevice, "vkDestroyDevice")                                                  \
  X(device_queue, PFN_vkGetDeviceQueue, "vkGetDeviceQueue")                                                  \
  X(allocate_memory, PFN_vkAllocateMemory, "vkAllocateMemory")                                               \
  X(free_memory, PFN_vkFreeMemory, "vkFreeMemory")                                                           \
  X(map_memory, PFN_vkMapMemory, "vkMapMemory")                                                              \
  X(create_set_layout, PFN_vkCreateDescriptorSetLayout, "vkCreateDescriptorSetLayout")                       \
  X(destroy_set_layout, PFN_vkDestroyDescriptorSetLayout, "vkDestroyDescriptorSetLayout")                    \
  X(create_pool, PFN_vkCreateDescriptorPool, "vkCreateDescriptorPool")                                       \
  X(destroy_pool, PFN_vkDestroyDescriptorPool, "vkDestroyDescriptorPool")                                    \
  X(allocate_sets, PFN_vkAllocateDescriptorSets, "vkAllocateDescriptorSets")                                 \
  X(update_sets, PFN_vkUpdateDescriptorSets, "vkUpdateDescriptorSets")                                       \
  X(create_layout, PFN_vkCreatePipelineLayout, "vkCreatePipelineLayout")                                     \
  X(destroy_layout, PFN_vkDestroyPipelineLayout, "vkDestroyPipelineLayout")                                  \
  X(create_module, PFN_vkCreateShaderModule, "vkCreateShaderModule")                                         \
  X(destroy_module, PFN_vkDestroyShaderModule, "vkDestroyShaderModule")                                      \
  X(destroy_pipeline, PFN_vkDestroyPipeline, "vkDestroyPipeline")                                            \
  X(create_command_pool, PFN_vkCreateCommandPool, "vkCreateCommandPool")                                     \
  X(destroy_command_pool, PFN_vkDestroyCommandPool, "vkDestroyCommandPool")                                  \
  X(allocate_commands, PFN_vkAllocateCommandBuffers, "vkAllocateCommandBuffers")                             \
  X(begin_commands, PFN_vkBeginCommandBuffer, "vkBeginCommandBuffer")                                        \
  X(end_commands, PFN_vkEndCommandBuffer, "vkEndCommandBuffer")                                              \
  X(bind_pipeline, PFN_vkCmdBindPipeline, "vkCmdBindPipeline")                                               \
  X(bind_sets, PFN_vkCmdBindDescriptorSets, "vkCmdBindDescriptorSets")                                       \
  X(barrier, PFN_vkCmdPipelineBarrier2, "vkCmdPipelineBarrier2")                                             \
  X(create_queries, PFN_vkCreateQueryPool, "vkCreateQueryPool")                                              \
  X(destroy_queries, PFN_vkDestroyQueryPool, "vkDestroyQueryPool")                                           \
  X(reset_queries, PFN_vkCmdResetQueryPool, "vkCmdResetQueryPool")                                           \
  X(write_timestamp, PFN_vkCmdWriteTimestamp2, "vkCmdWriteTimestamp2")                                       \
  X(query_results, PFN_vkGetQueryPoolResults, "vkGetQueryPoolResults")                                       \
  X(create_fence, PFN_vkCreateFence, "vkCreateFence")                                                        \
  X(destroy_fence, PFN_vkDestroyFence, "vkDestroyFence")                                                     \
  X(reset_fences, PFN_vkResetFences, "vkResetFences")                                                        \
  X(wait_for_fences, PFN_vkWaitForFences, "vkWaitForFences")                                                 \
  X(submit, PFN_vkQueueSubmit, "vkQueueSubmit")                                                              \
  X(create_tensor, arm::CreateTensor, "vkCreateTensorARM")                                                   \
  X(destroy_tensor, arm::DestroyTensor, "vkDestroyTensorARM")                                                \
  X(create_tensor_view, arm::CreateTensorView, "vkCreateTensorViewARM")                                      \
  X(destroy_tensor_view, arm::DestroyTensorView, "vkDestroyTensorViewARM")                                   \
  X(tensor_memory, arm::GetTensorMemoryRequirements, "vkGetTensorMemoryRequirementsARM")                     \
  X(bind_tensor, arm::BindTensorMemory, "vkBindTensorMemoryARM")                                             \
  X(create_graph_pipelines, arm::CreateDataGraphPipelines, "vkCreateDataGraphPipelinesARM")                  \
  X(create_session, arm::CreateSession, "vkCreateDataGraphPipelineSessionARM")                               \
  X(destroy_session, arm::DestroySession, "vkDestroyDataGraphPipelineSessionARM")                            \
  X(bind_points, arm::GetBindPointRequirements, "vkGetDataGraphPipelineSessionBindPointRequirementsARM")     \
  X(session_memory, arm::GetSessionMemoryRequirements, "vkGetDataGraphPipelineSessionMemoryRequirementsARM") \
  X(bind_session, arm::BindSessionMemory, "vkBindDataGraphPipelineSessionMemoryARM")                         \
  X(dispatch_graph, arm::CmdDispatchDataGraph, "vkCmdDispatchDataGraphARM")

#define CARINA_VULKAN_MEMBER(member, type, name) type member = nullptr;

// The loader's library. It stays open until the process ends, because drivers and layers may crash when it is closed.
struct Loader {
  std::string path;  // empty if there is no loader
  PFN_vkGetInstanceProcAddr function = nullptr;
};
Loader open_loader();

struct InstanceApi {
  VkInstance instance = nullptr;
  CARINA_VULKAN_INSTANCE(CARINA_VULKAN_MEMBER)
};
struct DeviceApi {
  VkDevice device = nullptr;
  CARINA_VULKAN_DEVICE(CARINA_VULKAN_MEMBER)
};

// Creates an instance of Vulkan 1.3 with the layers that the environment requests. Errors: no loader; Vulkan's errors.
Result<InstanceApi> create_instance(const Loader& loader);
// Loads the functions of a device. Errors: the names of functions that the device does not have.
Result<DeviceApi> device_api(const InstanceApi& instance, VkDevice device);

// Returns the name of a result, "VK_ERROR_DEVICE_LOST", or its number if the name is unknown.
std::string name_of(VkResult result);
// Converts a Vulkan result to an error, unless it is a success.
Result<void> vulkan_ok(VkResult result, const std::string& where, std::string_view call);

}  // namespace carina::vulkan
