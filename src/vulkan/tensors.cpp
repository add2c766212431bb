#include "vulkan/tensors_internal.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked_math.h"
#include "ir/tosa_type.h"

namespace carina::vulkan {

namespace {

// Returns the size of the packed elements. Errors: the resource is not a TOSA tensor.
Result<size_t> bytes_of(const vgf::Resource& resource, const std::string& where) {
  const VkFormatRow* format = vgf::find_format(resource.format);
  if (resource.descriptor_type != kVkDescriptorTypeTensor || format == nullptr)
    return fail({.where = where,
                 .what = "the resource is no tensor of TOSA",
                 .got = fmt::format("descriptor type {}, format {}", resource.descriptor_type,
                                    vgf::format_name(resource.format)),
                 .hint = "images and buffers belong to compute shaders, which are not run"});
  const auto elements = checked_product(resource.shape);
  const auto element = static_cast<int64_t>(element_bytes(ir::dtype_of(format->type)));
  const auto bytes = elements ? checked_mul<int64_t>(*elements, element) : std::nullopt;
  if (!bytes || std::ranges::any_of(resource.shape, [](int64_t n) { return n < 1; }))
    return fail({.where = where, .what = "the tensor has no fixed size"});
  return static_cast<size_t>(*bytes);
}

}  // namespace

Result<Memory> allocate(const OpenDevice& device, const VkMemoryRequirements& needed, const std::string& where) {
  constexpr VkMemoryPropertyFlags kSeen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkPhysicalDeviceMemoryProperties properties{};
  device.instance.memory_properties(device.physical, &properties);
  for (uint32_t type = 0; type < properties.memoryTypeCount; ++type) {
    const bool allowed = (needed.memoryTypeBits >> type & 1) != 0;
    if (!allowed || (properties.memoryTypes[type].propertyFlags & kSeen) != kSeen) continue;
    VkMemoryAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.allocationSize = std::max<VkDeviceSize>(needed.size, 1);
    info.memoryTypeIndex = type;
    Memory memory;
    CARINA_CHECKED(vulkan_ok(device.api.allocate_memory(device.api.device, &info, nullptr, &memory.handle), where,
                             "vkAllocateMemory"));
    void* mapped = nullptr;
    const auto done = vulkan_ok(device.api.map_memory(device.api.device, memory.handle, 0, VK_WHOLE_SIZE, 0, &mapped),
                                where, "vkMapMemory");
    if (!done) {
      device.api.free_memory(device.api.device, memory.handle, nullptr);
      return std::unexpected(done.error());
    }
    memory.bytes = {static_cast<std::byte*>(mapped), static_cast<size_t>(info.allocationSize)};
    return memory;
  }
  return fail(
      {.where = where, .what = "the device has no memory for this that the host sees", .fault = Fault::kEnvironment});
}

Description::Description(const vgf::Resource& resource) : shape_(resource.shape) {
  if (shape_.empty()) shape_.push_back(1);
  description_.type = arm::type_of(arm::kTensorDescription);
  description_.tiling = arm::kTilingLinear;
  description_.format = static_cast<VkFormat>(resource.format);
  description_.dimension_count = static_cast<uint32_t>(shape_.size());
  description_.dimensions = shape_.data();
  description_.usage = arm::kTensorUsageDataGraph;
}

Tensors::~Tensors() {
  for (const auto& [index, bound] : bound_) {
    if (bound.view != 0) device_.api.destroy_tensor_view(device_.api.device, bound.view, nullptr);
    if (bound.tensor != 0) device_.api.destroy_tensor(device_.api.device, bound.tensor, nullptr);
  }
  for (const VkDeviceMemory memory : memories_) device_.api.free_memory(device_.api.device, memory, nullptr);
}

Result<void> Tensors::add_all(const vgf::Container& file, const std::string& where) {
  for (uint32_t i = 0; i < file.resources.size(); ++i) {
    if (file.resources[i].category == VgfCategory::kConstant) continue;
    CARINA_CHECKED(add(file, i, fmt::format("{}: resource {}", where, i)));
  }
  return {};
}

Result<void> Tensors::add(const vgf::Container& file, uint32_t index, const std::string& where) {
  const vgf::Resource& resource = file.resources[index];
  CARINA_TRY(const size_t bytes, bytes_of(resource, where));
  const Description description(resource);
  const DeviceApi& api = device_.api;
  const arm::TensorCreateInfo info{.type = arm::type_of(arm::kTensorCreateInfo),
                                   .next = nullptr,
                                   .flags = 0,
                                   .description = &description.get(),
                                   .sharing_mode = VK_SHARING_MODE_EXCLUSIVE,
                                   .queue_family_count = 0,
                                   .queue_families = nullptr};
  Bound& bound = bound_[index];
  CARINA_CHECKED(vulkan_ok(api.create_tensor(api.device, &info, nullptr, &bound.tensor), where, "vkCreateTensorARM"));
  const arm::TensorMemoryRequirementsInfo asked{
      .type = arm::type_of(arm::kTensorMemoryRequirementsInfo), .next = nullptr, .tensor = bound.tensor};
  VkMemoryRequirements2 needed{};
  needed.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
  api.tensor_memory(api.device, &asked, &needed);
  CARINA_CHECKED(bind(index, resource.alias_group, needed.memoryRequirements, bytes, where));
  const arm::TensorViewCreateInfo view{.type = arm::type_of(arm::kTensorViewCreateInfo),
                                       .next = nullptr,
                                       .flags = 0,
                                       .tensor = bound.tensor,
                                       .format = description.get().format};
  return vulkan_ok(api.create_tensor_view(api.device, &view, nullptr, &bound.view), where, "vkCreateTensorViewARM");
}

// Binds a tensor to memory. The first tensor of an alias group allocates the group's memory; in model-converter's files
// all tensors of a group have equal sizes.
Result<void> Tensors::bind(uint32_t index, uint32_t group, const VkMemoryRequirements& needed, size_t bytes,
                           const std::string& where) {
  Memory memory;
  const auto known = group == kVgfNone ? groups_.end() : groups_.find(group);
  if (known != groups_.end()) {
    if (known->second.second < needed.size)
      return fail({.where = where,
                   .what = "the tensor is larger than the one whose memory it shares",
                   .expected = fmt::format("at most {} bytes", known->second.second),
                   .got = fmt::format("{} bytes", needed.size)});
    memory = known->second.first;
  } else {
    CARINA_TRY(memory, allocate(device_, needed, where));
    memories_.push_back(memory.handle);
    if (group != kVgfNone) groups_[group] = {memory, needed.size};
  }
  Bound& bound = bound_[index];
  bound.bytes = memory.bytes.first(std::min(bytes, memory.bytes.size()));
  const arm::BindTensorMemoryInfo info{.type = arm::type_of(arm::kBindTensorMemoryInfo),
                                       .next = nullptr,
                                       .tensor = bound.tensor,
                                       .memory = memory.handle,
                                       .offset = 0};
  return vulkan_ok(device_.api.bind_tensor(device_.api.device, 1, &info), where, "vkBindTensorMemoryARM");
}

}  // namespace carina::vulkan
