#include <fmt/format.h>

#include <algorithm>

#include "carina/check.h"
#include "frontend/vgf/vgf.h"
#include "frontend/vgf/write_graph_internal.h"
#include "ir/tosa_type.h"

namespace carina::vgf {

namespace {

// Vulkan formats for unsigned integers exist up to 32 bits.
uint32_t format_of(const TensorResource& resource) {
  const auto is_of_type = [&](const VkFormatRow& row) { return ir::dtype_of(row.type) == resource.dtype; };
  const auto exact = std::ranges::find_if(
      kVkFormats, [&](const VkFormatRow& row) { return is_of_type(row) && row.is_unsigned == resource.is_unsigned; });
  const auto row = exact != kVkFormats.end() ? exact : std::ranges::find_if(kVkFormats, is_of_type);
  CARINA_CHECK(row != kVkFormats.end(), "a resource of {}", name_of(resource.dtype));
  return row->format;
}

// Adds the resource and returns its index.
uint32_t add_resource(Container& container, const TensorResource& resource, VgfCategory category) {
  const auto dims = resource.shape.dims();
  container.resources.push_back(
      {.category = category,
       .descriptor_type = category == VgfCategory::kConstant ? kVgfNone : kVkDescriptorTypeTensor,
       .format = format_of(resource),
       .shape = {dims.begin(), dims.end()}});
  return static_cast<uint32_t>(container.resources.size() - 1);
}

void add_constants(Container& container, Segment& segment, const std::vector<GraphCode::Constant>& constants) {
  for (const GraphCode::Constant& constant : constants) {
    const auto index = static_cast<uint32_t>(container.constants.size());
    segment.constants.push_back({.id = index, .constant = index});
    container.constants.push_back(
        {.resource = add_resource(container, constant.resource, VgfCategory::kConstant), .data = constant.data});
  }
}

Container container_of(const ir::Graph& graph, GraphCode code) {
  Container out;
  Segment segment{.type = ModuleType::kGraph,
                  .name = "graph_segment_0",
                  .module = 0,
                  .sets = {},
                  .inputs = {},
                  .outputs = {},
                  .constants = {}};
  uint32_t binding = 0;
  for (const TensorResource& input : code.inputs)
    segment.inputs.push_back({.binding = binding++, .resource = add_resource(out, input, VgfCategory::kInput)});
  for (const TensorResource& output : code.outputs)
    segment.outputs.push_back({.binding = binding++, .resource = add_resource(out, output, VgfCategory::kOutput)});
  add_constants(out, segment, code.constants);
  out.inputs = segment.inputs;
  for (const size_t output : code.output_of) out.outputs.push_back(segment.outputs[output]);
  for (const ir::ValueId id : graph.inputs) out.input_names.push_back(graph[id].name);
  for (const ir::ValueId id : graph.outputs) out.output_names.push_back(graph[id].name);
  segment.sets.push_back({.index = 0, .bindings = segment.inputs});
  segment.sets.front().bindings.insert(segment.sets.front().bindings.end(), segment.outputs.begin(),
                                       segment.outputs.end());
  out.modules.push_back({.type = ModuleType::kGraph,
                         .name = "graph_partition_0",
                         .entry_point = graph.name,
                         .code = Spirv{std::move(code.words)}});
  out.segments.push_back(std::move(segment));
  return out;
}

Result<void> check_values(const ir::Graph& graph, const std::string& where) {
  Diagnostics errors;
  for (const ir::Value& value : graph.values) {
    const std::string here = fmt::format("{}: {}", where, value.name);
    if (!ir::tosa_type_of(value.dtype)) {
      errors.push_back(
          {.where = here, .what = "a type that TOSA 1.0 does not have", .got = std::string(name_of(value.dtype))});
    } else if (value.dtype != DType::kShape &&
               std::ranges::any_of(value.shape.dims(), [](int64_t size) { return size < 1 || size > INT32_MAX; })) {
      errors.push_back({.where = here,
                        .what = "a shape that VGF does not have",
                        .expected = "sizes from 1 to 2147483647",
                        .got = to_string(value.shape)});
    }
  }
  for (const std::vector<ir::ValueId>& list : {graph.inputs, graph.outputs}) {
    for (const ir::ValueId id : list) {
      if (graph[id].dtype == DType::kShape)
        errors.push_back({.where = fmt::format("{}: {}", where, graph[id].name), .what = "VGF's shapes are constants"});
    }
  }
  return errors.empty() ? Result<void>() : fail(std::move(errors));
}

}  // namespace

Result<std::vector<std::byte>> write_vgf(const ir::Module& module, const std::string& where) {
  CARINA_CHECK(!module.graphs.empty(), "a module without graphs");
  ir::Graph graph = module.main();
  ir::remove_dead(graph);
  // The name of an entry point ends at its first zero and must not be truncated.
  constexpr size_t kMaxName = 1024;
  if (graph.name.empty() || graph.name.size() > kMaxName || graph.name.find('\0') != std::string::npos)
    graph.name = "main";
  CARINA_CHECKED(check_values(graph, where));
  CARINA_TRY(GraphCode code, write_graph(graph, where));
  return write_container(container_of(graph, std::move(code)));
}

}  // namespace carina::vgf
