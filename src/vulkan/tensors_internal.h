#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "frontend/vgf/container.h"
#include "vulkan/device_internal.h"

namespace carina::vulkan {

// Memory of a device that the host sees at the same time. Errors: none of these types that the host sees; none left.
struct Memory {
  VkDeviceMemory handle = VK_NULL_HANDLE;
  std::span<std::byte> bytes;
};
Result<Memory> allocate(const OpenDevice& device, const VkMemoryRequirements& needed, const std::string& where);

// A tensor's shape and type, in the memory that the description of Vulkan points into.
class Description {
 public:
  // Packed, for graphs. Scalars are of one axis there.
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
  std::span<std::byte> bytes;  // of the tensor's packed elements
};

// The tensors of a file that are no constants, each in memory; those of one alias group share theirs.
class Tensors {
 public:
  explicit Tensors(const OpenDevice& device) : device_(device) {}
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;
  ~Tensors();

  // Errors: resources that are no tensors of TOSA; what Vulkan says.
  Result<void> add_all(const vgf::Container& file, const std::string& where);
  // By the index of the resource.
  [[nodiscard]] const Bound& operator[](uint32_t resource) const { return bound_.at(resource); }

 private:
  Result<void> add(const vgf::Container& file, uint32_t index, const std::string& where);
  Result<void> bind(uint32_t index, uint32_t group, const VkMemoryRequirements& needed, size_t bytes,
                    const std::string& where);

  const OpenDevice& device_;
  std::map<uint32_t, Bound> bound_;
  std::map<uint32_t, std::pair<Memory, VkDeviceSize>> groups_;  // and how much each takes
  std::vector<VkDeviceMemory> memories_;
};

}  // namespace carina::vulkan
