#include "inspect/vgf_file_internal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "frontend/vgf/vgf.h"
#include "ir/text.h"

namespace carina::inspect {

namespace {

constexpr size_t kShownConstantElements = 32;

using results::Listing;

std::string name_of(vgf::ModuleType type) {
  return type == vgf::ModuleType::kGraph ? "graph" : "compute";
}

std::string descriptor_name(uint32_t type) {
  if (type == kVgfNone) return "-";
  const auto row = std::ranges::find(kVkDescriptorTypes, type, &VkDescriptorTypeName::type);
  return row == kVkDescriptorTypes.end() ? std::to_string(type) : std::string(row->name);
}

std::string slots_text(const std::vector<vgf::Slot>& slots) {
  std::string out;
  for (const vgf::Slot& slot : slots)
    out += fmt::format("{}{}@{}", out.empty() ? "" : ",", slot.resource, slot.binding);
  return out.empty() ? "-" : out;
}

void list_interface(std::string_view kind, const std::vector<vgf::Slot>& slots, const std::vector<std::string>& names,
                    Listing& listing) {
  for (size_t i = 0; i < slots.size(); ++i) {
    listing.add(std::string(kind), {{"name", names.empty() ? std::to_string(i) : names[i]},
                                    {"resource", static_cast<int64_t>(slots[i].resource)}});
  }
}

void list_segments(const vgf::Container& container, Listing& listing) {
  for (const vgf::Segment& segment : container.segments) {
    listing.add("segment", {{"name", segment.name},
                            {"type", name_of(segment.type)},
                            {"module", static_cast<int64_t>(segment.module)},
                            {"reads", slots_text(segment.inputs)},
                            {"makes", slots_text(segment.outputs)},
                            {"constants", static_cast<int64_t>(segment.constants.size())},
                            {"dispatch", fmt::format("{}", fmt::join(segment.dispatch_shape, "x"))}});
  }
}

void list_modules(const vgf::Container& container, Listing& listing) {
  for (const vgf::CodeModule& module : container.modules) {
    std::string code = "none, the program brings it";
    if (const auto* spirv = std::get_if<vgf::Spirv>(&module.code))
      code = fmt::format("SPIR-V, {} bytes", spirv->words.size() * sizeof(uint32_t));
    if (const auto* source = std::get_if<vgf::Source>(&module.code))
      code = fmt::format("{}, {} characters", source->language, source->text.size());
    listing.add(
        "module",
        {{"name", module.name}, {"type", name_of(module.type)}, {"entry_point", module.entry_point}, {"code", code}});
  }
}

void list_resources(const vgf::Container& container, Listing& listing) {
  for (size_t i = 0; i < container.resources.size(); ++i) {
    const vgf::Resource& resource = container.resources[i];
    listing.add("resource", {{"index", static_cast<int64_t>(i)},
                             {"category", std::string(kVgfCategoryNames[static_cast<size_t>(resource.category)])},
                             {"descriptor", descriptor_name(resource.descriptor_type)},
                             {"format", vgf::format_name(resource.format)},
                             {"shape", fmt::format("[{}]", fmt::join(resource.shape, ","))}});
  }
}

}  // namespace

Result<Listing> list_vgf(const Buffer& file, const std::string& path) {
  CARINA_TRY(const vgf::Container container, vgf::read_container(file, path));
  Listing listing;
  size_t constant_bytes = 0;
  for (const vgf::Constant& constant : container.constants) constant_bytes += constant.data.size();
  listing.add("vgf", {{"version", fmt::format("{}", fmt::join(container.version, "."))},
                      {"bytes", static_cast<int64_t>(file.size())},
                      {"constants", static_cast<int64_t>(container.constants.size())},
                      {"constant_bytes", static_cast<int64_t>(constant_bytes)}});
  list_interface("input", container.inputs, container.input_names, listing);
  list_interface("output", container.outputs, container.output_names, listing);
  list_segments(container, listing);
  list_modules(container, listing);
  list_resources(container, listing);
  const auto module = vgf::read_vgf(container, path);
  const std::string graph =
      module ? ir::print(*module, {.elide_above_elements = kShownConstantElements}) : to_string(module.error());
  listing.text = lines_of(listing) + "\n" + graph + (module ? "" : "\n");
  return listing;
}

}  // namespace carina::inspect
