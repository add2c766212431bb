#include "execute/vgf_delegate.h"

#include <chrono>
#include <memory>

#include "base/guarded.h"
#include "execute/interpreted_graph.h"
#include "facts/executorch.h"
#include "files/tosa_file.h"
#include "frontend/vgf/container.h"
#include "vulkan/device.h"

namespace carina::execute {

namespace {

Result<VgfGraph> interpreted(const ir::Module& module, const std::string& where, int threads) {
  CARINA_TRY(InterpretedGraph made, InterpretedGraph::create(module, threads, where));
  return
      [graph = std::make_shared<InterpretedGraph>(std::move(made))](runtime::Arguments arguments) -> Result<int64_t> {
        const auto start = std::chrono::steady_clock::now();
        CARINA_CHECKED(graph->run(arguments));
        return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
      };
}

Result<int64_t> run_on_device(vulkan::Graph& graph, size_t inputs, runtime::Arguments arguments) {
  std::vector<std::span<const std::byte>> given;
  std::vector<std::span<std::byte>> made;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i]->is_tensor())
      return fail({.where = std::string(kVgfBackendId), .what = "an argument of the delegate call is not a tensor"});
    const runtime::Tensor& tensor = arguments[i]->tensor;
    const std::span bytes(static_cast<std::byte*>(tensor.data), tensor.bytes());
    i < inputs ? given.emplace_back(bytes) : made.emplace_back(bytes);
  }
  CARINA_CHECKED(graph.run(given, made));
  return graph.nanoseconds();
}

// Checks the file before a driver reads it.
Result<VgfGraph> on_device(const vulkan::Device& device, std::span<const std::byte> file, const std::string& where) {
  CARINA_TRY(const vgf::Container container, vgf::read_container(Buffer::copy_of(file), where));
  CARINA_CHECKED(files::sound_vgf(container, where));
  CARINA_TRY(vulkan::Graph made, device.load(container, where));
  return [graph = std::make_shared<vulkan::Graph>(std::move(made)), inputs = container.inputs.size()](
             runtime::Arguments arguments) { return run_on_device(*graph, inputs, arguments); };
}

}  // namespace

VgfLoader vgf_on_interpreter(int threads) {
  return [threads](std::span<const std::byte> file, const std::string& where) -> Result<VgfGraph> {
    CARINA_TRY(const vgf::Container container, vgf::read_container(Buffer::copy_of(file), where));
    CARINA_TRY(const ir::Module module, files::sound_vgf(container, where));
    return interpreted(module, where, threads);
  };
}

VgfLoader tosa_on_interpreter(int threads) {
  return [threads](std::span<const std::byte> file, const std::string& where) -> Result<VgfGraph> {
    CARINA_TRY(const ir::Module module, files::sound_tosa(Buffer::copy_of(file), where, "8K"));
    return interpreted(module, where, threads);
  };
}

Result<VgfLoader> vgf_on_vulkan() {
  CARINA_TRY(vulkan::Device opened, vulkan::Device::open());
  return [device = std::make_shared<const vulkan::Device>(std::move(opened))](
             std::span<const std::byte> file, const std::string& where) -> Result<VgfGraph> {
    CARINA_TRY(VgfGraph graph, on_device(*device, file, where));
    return [device, graph](runtime::Arguments arguments) { return graph(arguments); };
  };
}

results::VulkanReport vulkan_devices() {
  const vulkan::Survey found = vulkan::survey();
  results::VulkanReport report{.loader = found.loader, .failure = found.failure, .devices = {}};
  for (const vulkan::Candidate& device : found.devices)
    report.devices.push_back({.name = device.name, .missing = device.missing});
  return report;
}

runtime::Error GraphDelegates::init(std::span<const std::byte> blob, std::span<const runtime::CompileSpec> /*specs*/,
                                    runtime::Arena& /*arena*/, void** handle) {
  // Exceptions must not pass through the runtime between here and the caller, which is compiled without them.
  auto graph = guarded([&] { return loader_(blob, std::string(id_) + " delegate " + std::to_string(graphs_.size())); });
  if (!graph) {
    failure_ = std::move(graph).error();
    return runtime::Error::kInvalidProgram;
  }
  *handle = &graphs_.emplace_back(*std::move(graph));
  return runtime::Error::kOk;
}

runtime::Error GraphDelegates::execute(void* handle, runtime::Arguments arguments, runtime::Arena& /*scratch*/) {
  const auto time = guarded([&] { return (*static_cast<VgfGraph*>(handle))(arguments); });
  if (!time) {
    failure_ = time.error();
    return runtime::Error::kDelegateFailed;
  }
  times_.push_back(*time);
  return runtime::Error::kOk;
}

}  // namespace carina::execute
