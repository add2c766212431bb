#pragma once

#include <string>
#include <vector>

#include "frontend/vgf/container.h"
#include "vulkan/tensors_internal.h"

namespace carina::vulkan {

// One graph segment of a file as a pipeline with its session and descriptor sets.
class Stage {
 public:
  explicit Stage(const OpenDevice& device) : device_(device) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

  // Errors: a compute segment; a module without SPIR-V; Vulkan's errors.
  Result<void> create(const vgf::Container& file, const vgf::Segment& segment, const Tensors& tensors,
                      const std::string& where);
  // Records one dispatch of the graph.
  void record(VkCommandBuffer commands) const;

 private:
  Result<void> create_layout(const vgf::Segment& segment);
  Result<void> bind_tensors(const vgf::Segment& segment, const Tensors& tensors);
  Result<void> create_pipeline(const vgf::Container& file, const vgf::Segment& segment);
  Result<void> create_session();

  const OpenDevice& device_;
  std::string where_;
  std::vector<VkDescriptorSetLayout> set_layouts_;  // by the index of the set
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorSet> sets_;
  VkShaderModule module_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  arm::Session session_ = 0;
  std::vector<VkDeviceMemory> memories_;
};

}  // namespace carina::vulkan
