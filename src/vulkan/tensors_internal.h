#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "frontend/vgf/container.h"
#include "vulkan/device_internal.h"

namespace carina::vulkan {

// Device memory that is mapped on the host. Errors: no memory of these types is visible to the host; out of memory.
struct Memory {
  VkDeviceMemory handle = VK_NULL_HANDLE;
  std::span<std::byte> bytes;
};
Result<Memory> allocate(const OpenDevice& device, const VkMemoryRequirements& needed, const std::string& where);

// The shape and type of a tensor. It owns the memory that Vulkan's description points to.
class Description {
 public:
  // A packed tensor for graphs. A scalar becomes a tensor with one axis.
  explicit Description(const vgf::Resource& resource);
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  [[nodiscard]] const arm::TensorDescription& get() const { return description_; }

 private:
  std::vector<int64_t> shape_;
  arm::TensorDescription description_{};
};

struct Bound {
  arm::Tensor tensor = 0;
  arm::TensorView view = 0;
  std::span<std::byte> bytes;  // the tensor's packed elements
};

// The tensors of a file that are not constants, with their memory. Tensors of one alias group share memory.
class Tensors {
 public:
  explicit Tensors(const OpenDevice& device) : device_(device) {}
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;
  ~Tensors();

  // Errors: resources that are not TOSA tensors; Vulkan's errors.
  Result<void> add_all(const vgf::Container& file, const std::string& where);
  // Returns the tensor of a resource, by the resource's index.
  [[nodiscard]] const Bound& operator[](uint32_t resource) const { return bound_.at(resource); }

 private:
  Result<void> add(const vgf::Container& file, uint32_t index, const std::string& where);
  Result<void> bind(uint32_t index, uint32_t group, const VkMemoryRequirements& needed, size_t bytes,
                    const std::string& where);

  const OpenDevice& device_;
  std::map<uint32_t, Bound> bound_;
  std::map<uint32_t, std::pair<Memory, VkDeviceSize>> groups_;  // by alias group: its memory and the size of that
                                                                // memory
  std::vector<VkDeviceMemory> memories_;
};

}  // namespace carina::vulkan
