#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstring>
#include <deque>

#include "vulkan/device.h"
#include "vulkan/stage_internal.h"

// A VGF file as commands of a Vulkan device: one pipeline for each segment, barriers between them, and the run of an
// inference with its time.
namespace carina::vulkan {

namespace {

constexpr uint64_t kPatience = uint64_t{10} * 60 * 1'000'000'000;  // nanoseconds; the maximum duration of an inference

}  // namespace

struct Graph::State {
  const OpenDevice& device;
  std::string where;
  Tensors tensors;
  std::deque<Stage> stages;
  std::vector<uint32_t> inputs;  // indices of resources
  std::vector<uint32_t> outputs;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = nullptr;
  VkFence fence = VK_NULL_HANDLE;
  VkQueryPool queries = VK_NULL_HANDLE;
  int64_t nanoseconds = 0;

  State(const OpenDevice& on, std::string called) : device(on), where(std::move(called)), tensors(on) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    const DeviceApi& api = device.api;
    api.destroy_queries(api.device, queries, nullptr);
    api.destroy_fence(api.device, fence, nullptr);
    api.destroy_command_pool(api.device, pool, nullptr);
  }

  Result<void> create(const vgf::Container& file) {
    for (const vgf::Slot& slot : file.inputs) inputs.push_back(slot.resource);
    for (const vgf::Slot& slot : file.outputs) outputs.push_back(slot.resource);
    CARINA_CHECKED(tensors.add_all(file, where));
    for (const vgf::Segment& segment : file.segments)
      CARINA_CHECKED(stages.emplace_back(device).create(file, segment, tensors,
                                                        fmt::format("{}: segment {}", where, segment.name)));
    CARINA_CHECKED(create_commands());
    return record();
  }

  Result<void> create_commands() {
    const DeviceApi& api = device.api;
    VkCommandPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    info.queueFamilyIndex = device.queue_family;
    CARINA_CHECKED(vulkan_ok(api.create_command_pool(api.device, &info, nullptr, &pool), where, "vkCreateCommandPool"));
    VkCommandBufferAllocateInfo buffer{};
    buffer.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    buffer.commandPool = pool;
    buffer.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    buffer.commandBufferCount = 1;
    CARINA_CHECKED(vulkan_ok(api.allocate_commands(api.device, &buffer, &commands), where, "vkAllocateCommandBuffers"));
    VkFenceCreateInfo done{};
    done.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    CARINA_CHECKED(vulkan_ok(api.create_fence(api.device, &done, nullptr, &fence), where, "vkCreateFence"));
    if (!device.has_timestamps) return {};
    VkQueryPoolCreateInfo times{};
    times.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    times.queryType = VK_QUERY_TYPE_TIMESTAMP;
    times.queryCount = 2;
    return vulkan_ok(api.create_queries(api.device, &times, nullptr, &queries), where, "vkCreateQueryPool");
  }

  // Makes all writes before the barrier visible to all commands after it.
  void record_barrier() const {
    VkMemoryBarrier2 barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
    barrier.srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    barrier.srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT;
    barrier.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT;
    barrier.dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT | VK_ACCESS_2_HOST_READ_BIT;
    VkDependencyInfo dependency{};
    dependency.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
    dependency.memoryBarrierCount = 1;
    dependency.pMemoryBarriers = &barrier;
    device.api.barrier(commands, &dependency);
  }

  void record_time(uint32_t query) const {
    if (queries != VK_NULL_HANDLE)
      device.api.write_timestamp(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, queries, query);
  }

  Result<void> record() {
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    CARINA_CHECKED(vulkan_ok(device.api.begin_commands(commands, &begin), where, "vkBeginCommandBuffer"));
    if (queries != VK_NULL_HANDLE) device.api.reset_queries(commands, queries, 0, 2);
    record_time(0);
    for (const Stage& stage : stages) {
      stage.record(commands);
      record_barrier();
    }
    record_time(1);
    return vulkan_ok(device.api.end_commands(commands), where, "vkEndCommandBuffer");
  }

  Result<void> submit() {
    const DeviceApi& api = device.api;
    const auto start = std::chrono::steady_clock::now();
    CARINA_CHECKED(vulkan_ok(api.reset_fences(api.device, 1, &fence), where, "vkResetFences"));
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    CARINA_CHECKED(vulkan_ok(api.submit(device.queue, 1, &info, fence), where, "vkQueueSubmit"));
    CARINA_CHECKED(vulkan_ok(api.wait_for_fences(api.device, 1, &fence, VK_TRUE, kPatience), where, "vkWaitForFences"));
    nanoseconds = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    return read_times();
  }

  Result<void> read_times() {
    if (queries == VK_NULL_HANDLE) return {};
    std::array<uint64_t, 2> ticks{};
    CARINA_CHECKED(vulkan_ok(device.api.query_results(device.api.device, queries, 0, 2, sizeof(ticks), ticks.data(),
                                                      sizeof(uint64_t), VK_QUERY_RESULT_64_BIT),
                             where, "vkGetQueryPoolResults"));
    nanoseconds = static_cast<int64_t>(static_cast<double>(ticks[1] - ticks[0]) * device.nanoseconds_per_tick);
    return {};
  }

  // Errors: the number or the sizes of the tensors differ from the file's.
  template <typename Spans>
  Result<void> check(const Spans& given, const std::vector<uint32_t>& resources, std::string_view what) const {
    bool fits = given.size() == resources.size();
    for (size_t i = 0; fits && i < given.size(); ++i) fits = given[i].size() == tensors[resources[i]].bytes.size();
    if (fits) return {};
    std::vector<size_t> expected, got;
    for (const uint32_t resource : resources) expected.push_back(tensors[resource].bytes.size());
    for (const auto& span : given) got.push_back(span.size());
    return fail({.where = where,
                 .what = fmt::format("the {} do not fit", what),
                 .expected = fmt::format("{} bytes", fmt::join(expected, ", ")),
                 .got = fmt::format("{} bytes", fmt::join(got, ", "))});
  }
};

Result<void> Graph::run(std::span<const std::span<const std::byte>> inputs,
                        std::span<const std::span<std::byte>> outputs) {
  CARINA_CHECKED(state_->check(inputs, state_->inputs, "inputs"));
  CARINA_CHECKED(state_->check(outputs, state_->outputs, "outputs"));
  for (size_t i = 0; i < inputs.size(); ++i)
    std::memcpy(state_->tensors[state_->inputs[i]].bytes.data(), inputs[i].data(), inputs[i].size());
  CARINA_CHECKED(state_->submit());
  for (size_t i = 0; i < outputs.size(); ++i)
    std::memcpy(outputs[i].data(), state_->tensors[state_->outputs[i]].bytes.data(), outputs[i].size());
  return {};
}

int64_t Graph::nanoseconds() const {
  return state_->nanoseconds;
}

Result<Graph> Device::load(const vgf::Container& file, const std::string& where) const {
  auto state = std::make_unique<Graph::State>(*device_, where);
  CARINA_CHECKED(state->create(file));
  return Graph(std::move(state));
}

Graph::Graph(std::unique_ptr<State> state) : state_(std::move(state)) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

}  // namespace carina::vulkan
