#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/checked_math.h"
#include "frontend/vgf/read_graph_internal.h"
#include "frontend/vgf/vgf.h"
#include "ir/tosa_type.h"

// Reads a VGF file as a TOSA module: the container's segments in order, each with the SPIR-V graph that it names. The
// resources give the types of inputs and outputs, the constants section their data.
namespace carina::vgf {

namespace {

std::string type_text(DType dtype, const Shape& shape) {
  return fmt::format("{} {}", name_of(dtype), to_string(shape));
}

// Reads the segments of a container in order.
class Reader {
 public:
  Reader(const Container& container, const std::string& where) : container_(container), where_(where) {}

  Result<ir::Module> read() {
    if (container_.segments.empty()) return error(where_, "the file has no segments");
    graph_.name = container_.modules[container_.segments.front().module].entry_point;
    if (graph_.name.empty() || container_.segments.size() > 1) graph_.name = "main";
    CARINA_CHECKED(check_types());
    CARINA_CHECKED(read_inputs());
    for (const Segment& segment : container_.segments) CARINA_CHECKED(read_segment(segment));
    CARINA_CHECKED(read_outputs());
    ir::Module out;
    out.graphs.push_back(std::move(graph_));
    return out;
  }

 private:
  static std::unexpected<Diagnostics> error(const std::string& where, std::string what, std::string expected = {},
                                            std::string got = {}, std::string hint = {}) {
    return fail({.where = where,
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .got = std::move(got),
                 .hint = std::move(hint)});
  }

  Result<void> check_types() const {
    for (const Segment& segment : container_.segments) {
      if (segment.type == ModuleType::kGraph) continue;
      return error(fmt::format("{}: segment {}", where_, segment.name),
                   fmt::format("a compute shader (entry point {}) cannot be executed",
                               container_.modules[segment.module].entry_point),
                   "", "", "`carina inspect` and `carina disasm` show it; only graph segments mean TOSA operators");
    }
    return {};
  }

  // Type and shape of a resource that a graph reads or writes. model-converter gives scalars rank 0 in the container
  // and shape [1] in the SPIR-V.
  Result<TensorType> type_of(uint32_t index) const {
    const Resource& resource = container_.resources[index];
    const std::string here = fmt::format("{}: resource {}", where_, index);
    const VkFormatRow* format = find_format(resource.format);
    if (resource.descriptor_type != kVkDescriptorTypeTensor)
      return error(here, "not a tensor", "", fmt::format("descriptor type {}", resource.descriptor_type));
    if (format == nullptr)
      return error(here, "a format that tensors of TOSA do not have", "", format_name(resource.format));
    if (resource.shape.size() > Shape::kMaxRank)
      return error(here, "too many axes", fmt::format("at most {}", Shape::kMaxRank),
                   std::to_string(resource.shape.size()));
    if (std::ranges::any_of(resource.shape, [](int64_t size) { return size < 1; }))
      return error(here, "an axis of unknown size", "", "", "only tensors of fixed shape are supported");
    const auto elements = checked_product(resource.shape);
    if (!elements || !checked_mul<int64_t>(*elements, 8)) return error(here, "the tensor's size overflows");
    return TensorType{.dtype = ir::dtype_of(format->type),
                      .shape = resource.shape.empty() ? Shape{1} : Shape(resource.shape)};
  }

  Result<void> read_inputs() {
    for (size_t i = 0; i < container_.inputs.size(); ++i) {
      const uint32_t resource = container_.inputs[i].resource;
      CARINA_TRY(const TensorType type, type_of(resource));
      const std::string name = container_.input_names.empty() ? fmt::format("input_{}", i) : container_.input_names[i];
      if (values_.contains(resource)) return error(where_, fmt::format("two inputs have resource {}", resource));
      values_[resource] = graph_.add_value(name, type.dtype, type.shape);
      graph_.inputs.push_back(values_[resource]);
    }
    return {};
  }

  Result<void> read_segment(const Segment& segment) {
    const std::string here = fmt::format("{}: segment {}", where_, segment.name);
    const CodeModule& module = container_.modules[segment.module];
    const auto* code = std::get_if<Spirv>(&module.code);
    if (code == nullptr) return error(here, "the graph's module has no SPIR-V");
    CARINA_TRY(const SpirvModule spirv, parse_spirv(code->words, here));
    CARINA_TRY(Interface interface, interface_of(spirv, module.entry_point, here));
    CARINA_TRY(interface.values, values_of(segment, interface, here));
    CARINA_TRY(interface.constants, constants_of(segment, here));
    CARINA_TRY(const std::vector<ir::ValueId> outputs, read_graph(graph_, spirv, interface, here));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const uint32_t resource = interface.resources[interface.values.size() + i];
      values_[resource] = outputs[i];
    }
    return {};
  }

  // The resources of the graph's variables, followed by the values of the graph's inputs.
  Result<std::vector<ir::ValueId>> values_of(const Segment& segment, Interface& interface,
                                             const std::string& here) const {
    for (const auto& [set, binding] : interface.bindings) {
      CARINA_TRY(interface.resources.emplace_back(), resource_of(segment, set, binding, here));
    }
    std::vector<ir::ValueId> out;
    for (size_t i = 0; i < interface.inputs; ++i) {
      const auto value = find_value(interface.resources[i]);
      if (!value) {
        return error(here, fmt::format("input {} reads resource {}, which no segment before it makes", i,
                                       interface.resources[i]));
      }
      out.push_back(*value);
    }
    return out;
  }

  static Result<uint32_t> resource_of(const Segment& segment, uint32_t set, uint32_t binding, const std::string& here) {
    for (const DescriptorSet& candidate : segment.sets) {
      if (candidate.index != set) continue;
      const auto slot = std::ranges::find(candidate.bindings, binding, &Slot::binding);
      if (slot != candidate.bindings.end()) return slot->resource;
    }
    return error(here, fmt::format("no resource is bound to binding {} of descriptor set {}", binding, set));
  }

  // The value that is stored in a resource.
  [[nodiscard]] std::optional<ir::ValueId> find_value(uint32_t resource) const {
    if (const auto found = values_.find(resource); found != values_.end()) return found->second;
    const uint32_t group = container_.resources[resource].alias_group;
    if (group == kVgfNone) return std::nullopt;
    for (uint32_t other = 0; other < container_.resources.size(); ++other) {
      const auto found = values_.find(other);
      if (container_.resources[other].alias_group == group && found != values_.end()) return found->second;
    }
    return std::nullopt;
  }

  // The data of the segment's constants, by graph constant id.
  Result<std::unordered_map<uint32_t, GraphConstantData>> constants_of(const Segment& segment,
                                                                       const std::string& here) {
    std::unordered_map<uint32_t, GraphConstantData> out;
    for (const GraphConstant& bound : segment.constants) {
      const Constant& constant = container_.constants[bound.constant];
      bound_bytes_ += constant.data.size();
      if (bound_bytes_ > max_bound_bytes()) return error(here, "constants are bound too often");
      const Resource& resource = container_.resources[constant.resource];
      if (resource.category != VgfCategory::kConstant)
        return error(here, fmt::format("resource {} of a constant is of category {}", constant.resource,
                                       kVgfCategoryNames[static_cast<size_t>(resource.category)]));
      if (!out.emplace(bound.id, GraphConstantData{.shape = resource.shape, .data = constant.data}).second)
        return error(here, fmt::format("graph constant {} has data twice", bound.id));
    }
    return out;
  }

  // The limit of bound bytes. Each binding is checked and may be copied, so a small file could cause a lot of work.
  [[nodiscard]] size_t max_bound_bytes() const {
    size_t bytes = 1024;
    for (const Constant& constant : container_.constants) bytes += constant.data.size();
    return 64 * bytes;
  }

  Result<void> read_outputs() {
    for (size_t i = 0; i < container_.outputs.size(); ++i) {
      const uint32_t resource = container_.outputs[i].resource;
      CARINA_TRY(const TensorType type, type_of(resource));
      const auto value = find_value(resource);
      if (!value) return error(where_, fmt::format("no segment makes resource {} of output {}", resource, i));
      const ir::Value& made = graph_[*value];
      if (TensorType{.dtype = made.dtype, .shape = made.shape} != type) {
        return error(where_, fmt::format("output {} and its resource {} differ", i, resource),
                     type_text(type.dtype, type.shape), type_text(made.dtype, made.shape));
      }
      graph_.outputs.push_back(*value);
    }
    if (graph_.outputs.empty()) return error(where_, "the file has no outputs");
    name_outputs();
    return {};
  }

  // Gives the outputs the container's names, which the user knows. A value with several names keeps the first.
  void name_outputs() {
    if (container_.output_names.empty()) return;
    std::vector<ir::ValueId> named = graph_.inputs;
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ir::ValueId id = graph_.outputs[i];
      const std::string& name = container_.output_names[i];
      if (std::ranges::find(named, id) != named.end() || name.empty()) continue;
      named.push_back(id);
      if (graph_[id].name != name) graph_.rename(id, name);
    }
  }

  const Container& container_;
  const std::string& where_;
  ir::Graph graph_;
  std::unordered_map<uint32_t, ir::ValueId> values_;  // indexed by resource
  size_t bound_bytes_ = 0;
};

}  // namespace

Result<ir::Module> read_vgf(const Container& container, const std::string& where) {
  return Reader(container, where).read();
}

Result<ir::Module> read_vgf(const Buffer& file, const std::string& where) {
  CARINA_TRY(const Container container, read_container(file, where));
  return read_vgf(container, where);
}

}  // namespace carina::vgf
