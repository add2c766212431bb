#pragma once

#include <string>

#include "vulkan/api_internal.h"
#include "vulkan/device.h"

namespace carina::vulkan {

// A physical device, its logical device, and the queue to which graphs are submitted.
struct OpenDevice {
  std::string name;
  InstanceApi instance;
  DeviceApi api;
  VkPhysicalDevice physical = nullptr;
  uint32_t queue_family = 0;
  bool has_timestamps = false;
  double nanoseconds_per_tick = 0;
  VkQueue queue = nullptr;

  OpenDevice() = default;
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;
  ~OpenDevice() {
    if (api.device != nullptr && api.destroy_device != nullptr) api.destroy_device(api.device, nullptr);
    if (instance.instance != nullptr) instance.destroy_instance(instance.instance, nullptr);
  }
};

}  // namespace carina::vulkan
