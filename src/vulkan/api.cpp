#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/system/shared_library.h"
#include "vulkan/api_internal.h"

namespace carina::vulkan {

namespace {

constexpr std::array kLibraries{"libvulkan.so.1", "libvulkan.so", "libvulkan.dylib"};

template <typename Function>
bool find(Function& function, PFN_vkVoidFunction found) {
  function = reinterpret_cast<Function>(found);
  return function != nullptr;
}

std::unexpected<Diagnostics> lacks(std::string_view what, const std::vector<std::string>& missing) {
  return fail({.where = "Vulkan",
               .what = fmt::format("the {} does not have all functions", what),
               .got = fmt::format("no {}", fmt::join(missing, ", ")),
               .hint = "a newer Vulkan loader and driver, or other layers in VK_INSTANCE_LAYERS"});
}

}  // namespace

Loader open_loader() {
  for (const char* name : kLibraries) {
    void* library = open_library(name);
    if (library == nullptr) continue;
    return {.path = name,
            .function = reinterpret_cast<PFN_vkGetInstanceProcAddr>(function_of(library, "vkGetInstanceProcAddr"))};
  }
  return {};
}

Result<InstanceApi> create_instance(const Loader& loader) {
  if (loader.function == nullptr)
    return fail({.where = "Vulkan",
                 .what = "there is no Vulkan loader on this machine",
                 .expected = "libvulkan.so.1",
                 .hint = "install it (Debian: libvulkan1), and a driver with VK_ARM_tensors and VK_ARM_data_graph",
                 .fault = Fault::kEnvironment});
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(loader.function(nullptr, "vkCreateInstance"));
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "carina";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  InstanceApi api;
  CARINA_CHECKED(vulkan_ok(create(&info, nullptr, &api.instance), "Vulkan", "vkCreateInstance"));
  std::vector<std::string> missing;
#define CARINA_FIND(member, type, name) \
  if (!find(api.member, loader.function(api.instance, name))) missing.emplace_back(name);
  CARINA_VULKAN_INSTANCE(CARINA_FIND)
#undef CARINA_FIND
  if (!missing.empty()) return lacks("instance", missing);
  return api;
}

Result<DeviceApi> device_api(const InstanceApi& instance, VkDevice device) {
  DeviceApi api{.device = device};
  std::vector<std::string> missing;
#define CARINA_FIND(member, type, name) \
  if (!find(api.member, instance.device_function(device, name))) missing.emplace_back(name);
  CARINA_VULKAN_DEVICE(CARINA_FIND)
#undef CARINA_FIND
  if (!missing.empty()) return lacks("device", missing);
  return api;
}

std::string name_of(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_LAYER_NOT_PRESENT:
      return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT:
      return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
    default:
      return fmt::format("VkResult {}", static_cast<int>(result));
  }
}

Result<void> vulkan_ok(VkResult result, const std::string& where, std::string_view call) {
  if (result == VK_SUCCESS) return {};
  return fail({.where = where,
               .what = fmt::format("{} failed", call),
               .expected = "VK_SUCCESS",
               .got = name_of(result),
               .fault = Fault::kEnvironment});
}

}  // namespace carina::vulkan
