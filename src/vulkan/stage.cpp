#include "vulkan/stage_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace carina::vulkan {

namespace {

constexpr uint32_t kMaxSets = 32;  // per file; devices need not support more

// Returns the bindings of each descriptor set, by its index. Sets that the file does not use are empty.
std::vector<std::vector<vgf::Slot>> slots_by_set(const vgf::Segment& segment) {
  std::vector<std::vector<vgf::Slot>> slots;
  for (const vgf::DescriptorSet& set : segment.sets) {
    if (slots.size() <= set.index) slots.resize(set.index + 1);
    slots[set.index] = set.bindings;
  }
  return slots;
}

// Arrays that the structures for creating a pipeline point to.
struct PipelineTables {
  std::deque<Description> descriptions;
  std::vector<arm::ResourceInfo> resources;
  std::vector<arm::Constant> constants;

  PipelineTables(const vgf::Container& file, const vgf::Segment& segment) {
    for (const vgf::DescriptorSet& set : segment.sets) {
      for (const vgf::Slot& slot : set.bindings)
        resources.push_back({.type = arm::type_of(arm::kResourceInfo),
                             .next = &descriptions.emplace_back(file.resources[slot.resource]).get(),
                             .set = set.index,
                             .binding = slot.binding,
                             .array_element = 0});
    }
    for (const vgf::GraphConstant& bound : segment.constants) {
      const vgf::Constant& constant = file.constants[bound.constant];
      constants.push_back({.type = arm::type_of(arm::kConstant),
                           .next = &descriptions.emplace_back(file.resources[constant.resource]).get(),
                           .id = bound.id,
                           .data = constant.data.bytes().data()});
    }
  }
};

Result<void> check_segment(const vgf::Container& file, const vgf::Segment& segment, const std::string& where) {
  const vgf::CodeModule& module = file.modules[segment.module];
  if (segment.type != vgf::ModuleType::kGraph)
    return fail({.where = where,
                 .what = fmt::format("a compute shader (entry point {}) cannot be executed", module.entry_point),
                 .hint = "`carina inspect` and `carina disasm` show it; only graph segments are run"});
  if (!std::holds_alternative<vgf::Spirv>(module.code))
    return fail({.where = where, .what = "the graph's module has no SPIR-V"});
  for (const vgf::DescriptorSet& set : segment.sets) {
    if (set.index >= kMaxSets)
      return fail({.where = where,
                   .what = "the index of a descriptor set is too large",
                   .expected = fmt::format("less than {}", kMaxSets),
                   .got = std::to_string(set.index)});
  }
  return {};
}

}  // namespace

Stage::~Stage() {
  const DeviceApi& api = device_.api;
  if (session_ != 0) api.destroy_session(api.device, session_, nullptr);
  for (const VkDeviceMemory memory : memories_) api.free_memory(api.device, memory, nullptr);
  api.destroy_pipeline(api.device, pipeline_, nullptr);
  api.destroy_module(api.device, module_, nullptr);
  api.destroy_pool(api.device, pool_, nullptr);
  api.destroy_layout(api.device, layout_, nullptr);
  for (const VkDescriptorSetLayout layout : set_layouts_) api.destroy_set_layout(api.device, layout, nullptr);
}

Result<void> Stage::create(const vgf::Container& file, const vgf::Segment& segment, const Tensors& tensors,
                           const std::string& where) {
  where_ = where;
  CARINA_CHECKED(check_segment(file, segment, where));
  CARINA_CHECKED(create_layout(segment));
  CARINA_CHECKED(bind_tensors(segment, tensors));
  CARINA_CHECKED(create_pipeline(file, segment));
  return create_session();
}

Result<void> Stage::create_layout(const vgf::Segment& segment) {
  const DeviceApi& api = device_.api;
  for (const std::vector<vgf::Slot>& slots : slots_by_set(segment)) {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (const vgf::Slot& slot : slots)
      bindings.push_back({.binding = slot.binding,
                          .descriptorType = static_cast<VkDescriptorType>(arm::kDescriptorTypeTensor),
                          .descriptorCount = 1,
                          .stageFlags = VK_SHADER_STAGE_ALL,
                          .pImmutableSamplers = nullptr});
    VkDescriptorSetLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.bindingCount = static_cast<uint32_t>(bindings.size());
    info.pBindings = bindings.data();
    CARINA_CHECKED(
        vulkan_ok(api.create_set_layout(api.device, &info, nullptr, &set_layouts_.emplace_back(VK_NULL_HANDLE)), where_,
                  "vkCreateDescriptorSetLayout"));
  }
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.setLayoutCount = static_cast<uint32_t>(set_layouts_.size());
  info.pSetLayouts = set_layouts_.data();
  return vulkan_ok(api.create_layout(api.device, &info, nullptr, &layout_), where_, "vkCreatePipelineLayout");
}

Result<void> Stage::bind_tensors(const vgf::Segment& segment, const Tensors& tensors) {
  const DeviceApi& api = device_.api;
  const auto slots = slots_by_set(segment);
  uint32_t count = 0;
  for (const auto& set : slots) count += static_cast<uint32_t>(set.size());
  const VkDescriptorPoolSize size{.type = static_cast<VkDescriptorType>(arm::kDescriptorTypeTensor),
                                  .descriptorCount = std::max(count, 1U)};
  VkDescriptorPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = static_cast<uint32_t>(std::max<size_t>(slots.size(), 1));
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  CARINA_CHECKED(vulkan_ok(api.create_pool(api.device, &pool, nullptr, &pool_), where_, "vkCreateDescriptorPool"));
  sets_.resize(slots.size());
  VkDescriptorSetAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = pool_;
  info.descriptorSetCount = static_cast<uint32_t>(sets_.size());
  info.pSetLayouts = set_layouts_.data();
  CARINA_CHECKED(vulkan_ok(api.allocate_sets(api.device, &info, sets_.data()), where_, "vkAllocateDescriptorSets"));
  for (size_t set = 0; set < slots.size(); ++set) {
    for (const vgf::Slot& slot : slots[set]) {
      const arm::WriteDescriptorSetTensor view{.type = arm::type_of(arm::kWriteDescriptorSetTensor),
                                               .next = nullptr,
                                               .view_count = 1,
                                               .views = &tensors[slot.resource].view};
      VkWriteDescriptorSet write{};
      write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
      write.pNext = &view;
      write.dstSet = sets_[set];
      write.dstBinding = slot.binding;
      write.descriptorCount = 1;
      write.descriptorType = static_cast<VkDescriptorType>(arm::kDescriptorTypeTensor);
      api.update_sets(api.device, 1, &write, 0, nullptr);
    }
  }
  return {};
}

Result<void> Stage::create_pipeline(const vgf::Container& file, const vgf::Segment& segment) {
  const DeviceApi& api = device_.api;
  const vgf::CodeModule& code = file.modules[segment.module];
  const auto& words = std::get<vgf::Spirv>(code.code).words;
  VkShaderModuleCreateInfo module{};
  module.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module.codeSize = words.size() * sizeof(uint32_t);
  module.pCode = words.data();
  CARINA_CHECKED(vulkan_ok(api.create_module(api.device, &module, nullptr, &module_), where_, "vkCreateShaderModule"));
  const PipelineTables tables(file, segment);
  const arm::ShaderModuleCreateInfo shader{.type = arm::type_of(arm::kShaderModuleCreateInfo),
                                           .next = nullptr,
                                           .module = module_,
                                           .name = code.entry_point.c_str(),
                                           .specialization = nullptr,
                                           .constant_count = static_cast<uint32_t>(tables.constants.size()),
                                           .constants = tables.constants.data()};
  const arm::PipelineCreateInfo info{.type = arm::type_of(arm::kPipelineCreateInfo),
                                     .next = &shader,
                                     .flags = 0,
                                     .layout = layout_,
                                     .resource_count = static_cast<uint32_t>(tables.resources.size()),
                                     .resources = tables.resources.data()};
  return vulkan_ok(api.create_graph_pipelines(api.device, 0, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_), where_,
                   "vkCreateDataGraphPipelinesARM");
}

Result<void> Stage::create_session() {
  const DeviceApi& api = device_.api;
  const arm::SessionCreateInfo info{
      .type = arm::type_of(arm::kSessionCreateInfo), .next = nullptr, .flags = 0, .pipeline = pipeline_};
  CARINA_CHECKED(vulkan_ok(api.create_session(api.device, &info, nullptr, &session_), where_,
                           "vkCreateDataGraphPipelineSessionARM"));
  const arm::BindPointRequirementsInfo asked{
      .type = arm::type_of(arm::kBindPointRequirementsInfo), .next = nullptr, .session = session_};
  uint32_t count = 0;
  constexpr std::string_view kBindPoints = "vkGetDataGraphPipelineSessionBindPointRequirementsARM";
  CARINA_CHECKED(vulkan_ok(api.bind_points(api.device, &asked, &count, nullptr), where_, kBindPoints));
  std::vector<arm::BindPointRequirement> points(count, {.type = arm::type_of(arm::kBindPointRequirement),
                                                        .next = nullptr,
                                                        .bind_point = 0,
                                                        .bind_point_type = 0,
                                                        .object_count = 0});
  CARINA_CHECKED(vulkan_ok(api.bind_points(api.device, &asked, &count, points.data()), where_, kBindPoints));
  for (const arm::BindPointRequirement& point : points) {
    for (uint32_t object = 0; object < point.object_count; ++object) {
      const arm::SessionMemoryRequirementsInfo of{.type = arm::type_of(arm::kSessionMemoryRequirementsInfo),
                                                  .next = nullptr,
                                                  .session = session_,
                                                  .bind_point = point.bind_point,
                                                  .object = object};
      VkMemoryRequirements2 needed{};
      needed.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
      api.session_memory(api.device, &of, &needed);
      CARINA_TRY(const Memory memory, allocate(device_, needed.memoryRequirements, where_));
      memories_.push_back(memory.handle);
      const arm::BindSessionMemoryInfo bind{.type = arm::type_of(arm::kBindSessionMemoryInfo),
                                            .next = nullptr,
                                            .session = session_,
                                            .bind_point = point.bind_point,
                                            .object = object,
                                            .memory = memory.handle,
                                            .offset = 0};
      CARINA_CHECKED(
          vulkan_ok(api.bind_session(api.device, 1, &bind), where_, "vkBindDataGraphPipelineSessionMemoryARM"));
    }
  }
  return {};
}

void Stage::record(VkCommandBuffer commands) const {
  const auto point = static_cast<VkPipelineBindPoint>(arm::kPipelineBindPointDataGraph);
  device_.api.bind_pipeline(commands, point, pipeline_);
  device_.api.bind_sets(commands, point, layout_, 0, static_cast<uint32_t>(sets_.size()), sets_.data(), 0, nullptr);
  device_.api.dispatch_graph(commands, session_, nullptr);
}

}  // namespace carina::vulkan
