#include "vulkan/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "vulkan/device_internal.h"

namespace carina::vulkan {

namespace {

constexpr std::array kNeeded{arm::kTensors, arm::kDataGraph};
// Optional extensions. Drivers may require them; newer versions of Vulkan have them in the core.
constexpr std::array kWelcome{"VK_KHR_maintenance5", "VK_KHR_deferred_host_operations", "VK_KHR_dynamic_rendering",
                              "VK_EXT_shader_replicated_composites", "VK_ARM_data_graph_instruction_set_tosa"};

// Calls a vkEnumerate... or vkGet... function twice: for the number of items, then for the items.
template <typename Item, typename Call>
std::vector<Item> listed(const Call& call) {
  uint32_t count = 0;
  call(&count, nullptr);
  std::vector<Item> items(count);
  call(&count, items.data());
  items.resize(count);
  return items;
}

std::vector<std::string> extensions_of(const InstanceApi& api, VkPhysicalDevice device) {
  std::vector<std::string> names;
  const auto rows = listed<VkExtensionProperties>(
      [&](uint32_t* count, VkExtensionProperties* out) { api.extensions(device, nullptr, count, out); });
  for (const VkExtensionProperties& row : rows) names.emplace_back(row.extensionName);
  return names;
}

std::vector<VkQueueFamilyProperties> queues_of(const InstanceApi& api, VkPhysicalDevice device) {
  return listed<VkQueueFamilyProperties>(
      [&](uint32_t* count, VkQueueFamilyProperties* out) { api.queue_families(device, count, out); });
}

std::optional<uint32_t> graph_queue(const InstanceApi& api, VkPhysicalDevice device) {
  const auto families = queues_of(api, device);
  for (uint32_t i = 0; i < families.size(); ++i) {
    if ((families[i].queueFlags & arm::kQueueDataGraph) != 0) return i;
  }
  return std::nullopt;
}

VkPhysicalDeviceProperties properties_of(const InstanceApi& api, VkPhysicalDevice device) {
  VkPhysicalDeviceProperties properties{};
  api.properties(device, &properties);
  return properties;
}

Candidate candidate_of(const InstanceApi& api, VkPhysicalDevice device) {
  const VkPhysicalDeviceProperties properties = properties_of(api, device);
  Candidate candidate{.name = properties.deviceName, .missing = {}};
  if (properties.apiVersion < VK_API_VERSION_1_3)
    candidate.missing.push_back(fmt::format("Vulkan 1.3 (it has {}.{})", VK_API_VERSION_MAJOR(properties.apiVersion),
                                            VK_API_VERSION_MINOR(properties.apiVersion)));
  const std::vector<std::string> extensions = extensions_of(api, device);
  for (const char* needed : kNeeded) {
    if (std::ranges::find(extensions, needed) == extensions.end())
      candidate.missing.push_back(fmt::format("extension {}", needed));
  }
  if (!graph_queue(api, device)) candidate.missing.emplace_back("a queue for data graphs");
  return candidate;
}

std::vector<VkPhysicalDevice> devices_of(const InstanceApi& api) {
  return listed<VkPhysicalDevice>(
      [&](uint32_t* count, VkPhysicalDevice* out) { api.enumerate_devices(api.instance, count, out); });
}

// The device features to enable: all features that graphs may need and the device has.
class Features {
 public:
  Features() {
    link(tensors_, arm::type_of(arm::kTensorFeatures));
    link(graphs_, arm::type_of(arm::kDataGraphFeatures));
    link(replicated_, arm::type_of(arm::kReplicatedCompositesFeatures));
    link(maintenance5_, arm::type_of(arm::kMaintenance5Features));
    v11_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    v12_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    v13_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    all_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    v11_.pNext = next_;
    v12_.pNext = &v11_;
    v13_.pNext = &v12_;
    all_.pNext = &v13_;
  }
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;

  // Returns the features of the device.
  const void* of(const InstanceApi& api, VkPhysicalDevice device) {
    api.features(device, &all_);
    all_.features.robustBufferAccess = VK_FALSE;  // slow, and has no effect on graphs
    return &all_;
  }

 private:
  template <typename Feature>
  void link(Feature& feature, VkStructureType type) {
    feature.type = type;
    feature.next = next_;
    next_ = &feature;
  }

  void* next_ = nullptr;
  arm::TensorFeatures tensors_{};
  arm::DataGraphFeatures graphs_{};
  arm::OneFeature replicated_{};
  arm::OneFeature maintenance5_{};
  VkPhysicalDeviceVulkan11Features v11_{};
  VkPhysicalDeviceVulkan12Features v12_{};
  VkPhysicalDeviceVulkan13Features v13_{};
  VkPhysicalDeviceFeatures2 all_{};
};

std::vector<const char*> wanted_extensions(const std::vector<std::string>& has) {
  std::vector<const char*> wanted(kNeeded.begin(), kNeeded.end());
  std::ranges::copy_if(kWelcome, std::back_inserter(wanted),
                       [&](const char* name) { return std::ranges::find(has, name) != has.end(); });
  return wanted;
}

Result<VkDevice> create_device(const InstanceApi& api, VkPhysicalDevice physical, uint32_t family) {
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  const std::vector<std::string> has = extensions_of(api, physical);
  const std::vector<const char*> extensions = wanted_extensions(has);
  Features features;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = features.of(api, physical);
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  VkDevice device = nullptr;
  auto made = vulkan_ok(api.create_device(physical, &info, nullptr, &device), "Vulkan", "vkCreateDevice");
  if (!made) {
    made.error().front().hint =
        "with Arm's emulation layers on an old loader, the manifest of the graph layer must stand in the first folder "
        "of "
        "VK_LAYER_PATH";
    return std::unexpected(std::move(made).error());
  }
  return device;
}

std::string text_of(const Candidate& candidate) {
  return fmt::format("{} lacks {}", candidate.name, fmt::join(candidate.missing, ", "));
}

}  // namespace

Survey survey() {
  const Loader loader = open_loader();
  Survey found{.loader = loader.path, .failure = {}, .devices = {}};
  const auto api = create_instance(loader);
  if (!api) {
    found.failure = to_string(api.error());
    return found;
  }
  for (const VkPhysicalDevice device : devices_of(*api)) found.devices.push_back(candidate_of(*api, device));
  api->destroy_instance(api->instance, nullptr);
  return found;
}

Result<Device> Device::open() {
  auto state = std::make_unique<OpenDevice>();
  CARINA_TRY(state->instance, create_instance(open_loader()));
  std::vector<std::string> lacking;
  for (const VkPhysicalDevice physical : devices_of(state->instance)) {
    const Candidate candidate = candidate_of(state->instance, physical);
    if (!candidate.missing.empty()) {
      lacking.push_back(text_of(candidate));
      continue;
    }
    state->name = candidate.name;
    state->physical = physical;
    state->queue_family = *graph_queue(state->instance, physical);
    state->has_timestamps = queues_of(state->instance, physical)[state->queue_family].timestampValidBits > 0;
    state->nanoseconds_per_tick = static_cast<double>(properties_of(state->instance, physical).limits.timestampPeriod);
    CARINA_TRY(const VkDevice device, create_device(state->instance, physical, state->queue_family));
    CARINA_TRY(state->api, device_api(state->instance, device));
    state->api.device_queue(device, state->queue_family, 0, &state->queue);
    return Device(std::move(state));
  }
  return fail({.where = "Vulkan",
               .what = "no device runs graphs of the ML extensions",
               .expected = fmt::format("a device with {} and {}", arm::kTensors, arm::kDataGraph),
               .got = lacking.empty() ? "no device" : fmt::format("{}", fmt::join(lacking, "; ")),
               .hint = "a driver that has them, or Arm's emulation layers (ai-ml-emulation-layer-for-vulkan) in "
                       "VK_INSTANCE_LAYERS; `python -m carina.vgf.check_env` looks",
               .fault = Fault::kEnvironment});
}

const std::string& Device::name() const {
  return device_->name;
}

Device::Device(std::unique_ptr<OpenDevice> device) : device_(std::move(device)) {}
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;
Device::~Device() = default;

}  // namespace carina::vulkan
