#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked_math.h"
#include "frontend/vgf/container.h"
#include "vgf_generated.h"

// Reads the container of a VGF file: a header with the offsets of four sections (modules, resources, model sequence,
// constants), each a FlatBuffer except the constants. Every offset and count is checked against the file first.
namespace carina::vgf {

namespace {

struct Range {
  std::string_view name;
  uint64_t offset;
  uint64_t size;
};

template <typename T>
T number_at(std::span<const std::byte> bytes, size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <typename T>
uint32_t count_of(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? 0 : list->size();
}
class Reader {
 public:
  Reader(const Buffer& file, const std::string& where) : file_(file), where_(where) {}

  Result<Container> read() {
    CARINA_CHECKED(read_header());
    CARINA_CHECKED(read_sections());
    CARINA_CHECKED(read_modules());
    CARINA_CHECKED(read_resources());
    CARINA_CHECKED(read_constants());
    CARINA_CHECKED(read_sequence());
    if (copied_bytes_ > max_copied_bytes()) return error("the tables repeat parts of the file too often");
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::unexpected<Diagnostics> error(std::string what, std::string expected = {},
                                                   std::string got = {}) const {
    return fail({.where = where_, .what = std::move(what), .expected = std::move(expected), .got = std::move(got)});
  }

  // The limit of copied bytes. Tables may share vectors and strings, so a small file could cause many copies of a large
  // one.
  [[nodiscard]] size_t max_copied_bytes() const { return (size_t{1} << 16) + 8 * file_.size(); }
  [[nodiscard]] bool may_copy(size_t bytes) {
    copied_bytes_ += bytes;
    return copied_bytes_ <= max_copied_bytes();
  }
  template <typename T>
  std::vector<T> items_of(const flatbuffers::Vector<T>* list) {
    const bool copied = list != nullptr && may_copy(list->size() * sizeof(T));
    // FlatBuffers' verifier checks the alignment of a vector's count only, not that of its elements.
    std::vector<T> out(copied ? list->size() : 0);
    if (!out.empty()) std::memcpy(out.data(), list->Data(), out.size() * sizeof(T));
    return out;
  }
  std::string text_of(const flatbuffers::String* text) {
    return text != nullptr && may_copy(text->size()) ? text->str() : std::string();
  }

  Result<void> read_header() {
    if (!is_vgf(file_)) return error("not a VGF file", "a file that begins with VGF1");
    if (file_.size() < kVgfHeaderBytes) {
      return error("the file ends in its header", fmt::format("{} bytes", kVgfHeaderBytes),
                   std::to_string(file_.size()));
    }
    std::memcpy(out_.version.data(), file_.data() + kVgfVersionOffset, out_.version.size());
    if (out_.version[0] == 0 && out_.version[1] <= kVgfNewestMinor) return {};
    return error("a version of VGF that Carina does not read", fmt::format("0.{} or older", kVgfNewestMinor),
                 fmt::format("{}.{}.{}", out_.version[0], out_.version[1], out_.version[2]));
  }

  Result<void> read_sections() {
    constexpr std::array<std::pair<VgfSection, std::string_view>, 4> kSections{{{VgfSection::kModules, "modules"},
                                                                                {VgfSection::kSequence, "sequence"},
                                                                                {VgfSection::kResources, "resources"},
                                                                                {VgfSection::kConstants, "constants"}}};
    std::vector<Range> ranges{{"header", 0, kVgfHeaderBytes}};
    for (const auto& [section, name] : kSections) {
      const auto offset = number_at<uint64_t>(file_.bytes(), static_cast<size_t>(section));
      const auto size = number_at<uint64_t>(file_.bytes(), static_cast<size_t>(section) + 8);
      const auto end = checked_add(offset, size);
      if (!end || *end > file_.size()) {
        return error(fmt::format("the section of {} lies outside the file", name),
                     fmt::format("at most {} bytes", file_.size()), fmt::format("{} bytes at {}", size, offset));
      }
      for (const Range& other : ranges) {
        if (size > 0 && other.size > 0 && offset < other.offset + other.size && other.offset < *end)
          return error(fmt::format("the section of {} overlaps that of {}", name, other.name));
      }
      ranges.push_back({name, offset, size});
    }
    for (size_t i = 0; i < sections_.size(); ++i)
      sections_[i] = aligned(file_.slice(ranges[i + 1].offset, ranges[i + 1].size));
    return {};
  }

  // Copies a section of an old file, whose sections are not aligned.
  static Buffer aligned(const Buffer& section) {
    const bool stays = reinterpret_cast<uintptr_t>(section.data()) % kVgfSectionAlignment == 0;
    return stays || section.size() == 0 ? section : Buffer::copy_of(section.bytes());
  }

  template <typename Table>
  Result<const Table*> table(const Buffer& section, std::string_view name) const {
    const auto* bytes = reinterpret_cast<const uint8_t*>(section.data());
    if (section.size() < sizeof(uint32_t) || section.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
      return error(fmt::format("the section of {} is no FlatBuffer", name), "",
                   fmt::format("{} bytes", section.size()));
    flatbuffers::Verifier verifier(bytes, section.size());
    if (!verifier.VerifyBuffer<Table>(nullptr)) return error(fmt::format("the section of {} is damaged", name));
    return flatbuffers::GetRoot<Table>(bytes);
  }

  Result<ModuleType> type_of(fb::ModuleType type, const std::string& of) const {
    if (type <= fb::ModuleType::GRAPH) return static_cast<ModuleType>(type);
    return error("the type of " + of + " is unknown", "0 (compute) or 1 (graph)",
                 std::to_string(static_cast<int>(type)));
  }

  Result<void> read_modules() {
    CARINA_TRY(const auto* modules, table<fb::ModuleTable>(sections_[0], "modules"));
    for (uint32_t i = 0; i < count_of(modules->modules()); ++i) {
      const fb::Module& module = *modules->modules()->Get(i);
      CodeModule read{
          .type = {}, .name = text_of(module.name()), .entry_point = text_of(module.entry_point()), .code = {}};
      CARINA_TRY(read.type, type_of(module.type(), fmt::format("module {}", i)));
      CARINA_CHECKED(read_code(module, read, i));
      out_.modules.push_back(std::move(read));
    }
    return {};
  }

  Result<void> read_code(const fb::Module& module, CodeModule& out, uint32_t index) {
    switch (module.code_type()) {
      case fb::Code::NONE:
        return {};
      case fb::Code::Spirv:
        if (module.code_as_Spirv() != nullptr) out.code = Spirv{items_of(module.code_as_Spirv()->words())};
        return {};
      case fb::Code::Glsl:
        if (module.code_as_Glsl() != nullptr) out.code = Source{"GLSL", text_of(module.code_as_Glsl()->code())};
        return {};
      case fb::Code::Hlsl:
        if (module.code_as_Hlsl() != nullptr) out.code = Source{"HLSL", text_of(module.code_as_Hlsl()->code())};
        return {};
    }
    return error(fmt::format("the code of module {} is of an unknown kind", index), "SPIR-V, GLSL or HLSL",
                 fmt::format("number {}", static_cast<int>(module.code_type())));
  }

  Result<void> read_resources() {
    CARINA_TRY(const auto* resources, table<fb::ResourceTable>(sections_[2], "resources"));
    for (uint32_t i = 0; i < count_of(resources->entries()); ++i) {
      const fb::Resource& entry = *resources->entries()->Get(i);
      if (entry.category() >= kVgfCategoryNames.size()) {
        return error(fmt::format("the category of resource {} is unknown", i),
                     fmt::format("0 to {}", kVgfCategoryNames.size() - 1), std::to_string(entry.category()));
      }
      const auto* description = entry.description();
      out_.resources.push_back({.category = static_cast<VgfCategory>(entry.category()),
                                .descriptor_type = entry.vk_descriptor_type(),
                                .format = entry.vk_format(),
                                .shape = items_of(description == nullptr ? nullptr : description->shape()),
                                .alias_group = entry.alias_group_id()});
    }
    return {};
  }

  Result<void> check_index(uint32_t index, size_t count, std::string_view of, const std::string& in) const {
    if (index < count) return {};
    return error(fmt::format("{} names a {} that does not exist", in, of),
                 count == 0 ? "none" : fmt::format("0 to {}", count - 1), std::to_string(index));
  }

  Result<void> add_constant(Constant constant) {
    const std::string name = fmt::format("constant {}", out_.constants.size());
    CARINA_CHECKED(check_index(constant.resource, out_.resources.size(), "resource", name));
    if (constant.sparse_dimension < -1)
      return error("the sparse dimension of " + name + " is wrong", "-1 or more",
                   std::to_string(constant.sparse_dimension));
    out_.constants.push_back(std::move(constant));
    return {};
  }

  Result<void> read_constants() {
    const Buffer& section = sections_[3];
    if (section.size() == 0) return {};
    const auto magic = std::as_bytes(std::span(kVgfConstantsMagic));
    const bool raw = section.size() >= magic.size() && std::ranges::equal(section.bytes().first(magic.size()), magic);
    return raw ? read_raw_constants(section) : read_old_constants(section);
  }

  Result<void> read_raw_constants(const Buffer& section) {
    if (section.size() < kVgfConstantsHeaderBytes) return error("the section of constants ends in its header");
    const auto count = number_at<uint64_t>(section.bytes(), kVgfConstantsMagic.size());
    const size_t max = (section.size() - kVgfConstantsHeaderBytes) / kVgfConstantEntryBytes;
    if (count > max) {
      return error("the section of constants is too short for its entries", fmt::format("at most {}", max),
                   std::to_string(count));
    }
    const size_t data = kVgfConstantsHeaderBytes + count * kVgfConstantEntryBytes;
    for (size_t entry = kVgfConstantsHeaderBytes; entry < data; entry += kVgfConstantEntryBytes) {
      const auto size = number_at<uint64_t>(section.bytes(), entry + 8);
      const auto offset = number_at<uint64_t>(section.bytes(), entry + 16);
      const auto end = checked_add(offset, size);
      if (!end || *end > section.size() - data) {
        return error(fmt::format("the data of constant {} lie outside their section", out_.constants.size()),
                     fmt::format("at most {} bytes", section.size() - data),
                     fmt::format("{} bytes at {}", size, offset));
      }
      CARINA_CHECKED(add_constant({.resource = number_at<uint32_t>(section.bytes(), entry),
                                   .sparse_dimension = number_at<int32_t>(section.bytes(), entry + 4),
                                   .data = section.slice(data + offset, size)}));
    }
    return {};
  }

  Result<void> read_old_constants(const Buffer& section) {
    CARINA_TRY(const auto* constants, table<fb::OldConstants>(section, "constants"));
    for (uint32_t i = 0; i < count_of(constants->data()); ++i) {
      const fb::OldConstant& constant = *constants->data()->Get(i);
      Buffer data;
      if (const auto* raw = constant.raw()) {
        const auto offset = static_cast<size_t>(reinterpret_cast<const std::byte*>(raw->data()) - section.data());
        data = section.slice(offset, raw->size());
      }
      CARINA_CHECKED(add_constant({.resource = constant.resource(),
                                   .sparse_dimension = constant.sparsity_dimension(),
                                   .data = std::move(data)}));
    }
    return {};
  }

  Result<std::vector<Slot>> slots_of(const flatbuffers::Vector<flatbuffers::Offset<fb::BindingSlot>>* slots,
                                     const std::string& of) const {
    std::vector<Slot> out;
    for (uint32_t i = 0; i < count_of(slots); ++i) {
      const fb::BindingSlot& slot = *slots->Get(i);
      CARINA_CHECKED(check_index(slot.resource(), out_.resources.size(), "resource", of));
      out.push_back({.binding = slot.binding(), .resource = slot.resource()});
    }
    return out;
  }

  Result<std::vector<GraphConstant>> constants_of(const fb::Segment& segment, const std::string& name) {
    std::vector<GraphConstant> out;
    const bool bound = segment.constant_bindings() != nullptr && out_.version[1] >= 5;
    if (bound) {
      for (const fb::ConstantBinding* binding : *segment.constant_bindings())
        out.push_back({.id = binding->graph_constant_id(), .constant = binding->constant()});
    } else {
      for (const uint32_t constant : items_of(segment.constants()))
        out.push_back({.id = constant, .constant = constant});
    }
    for (const GraphConstant& constant : out)
      CARINA_CHECKED(check_index(constant.constant, out_.constants.size(), "constant", name));
    return out;
  }

  Result<std::array<uint32_t, 3>> dispatch_of(const fb::Segment& segment, const std::string& name) const {
    std::array<uint32_t, 3> out{};
    const uint32_t count = count_of(segment.dispatch_shape());
    if (count != 0 && count != out.size())
      return error("the dispatch shape of " + name + " is wrong", "3 numbers", std::to_string(count));
    for (uint32_t i = 0; i < count; ++i) out[i] = segment.dispatch_shape()->Get(i);
    return out;
  }

  Result<Segment> segment_of(const fb::Segment& segment, const std::string& name) {
    Segment out{.type = {},
                .name = text_of(segment.name()),
                .module = segment.module_(),
                .sets = {},
                .inputs = {},
                .outputs = {},
                .constants = {}};
    CARINA_TRY(out.type, type_of(segment.type(), name));
    CARINA_CHECKED(check_index(out.module, out_.modules.size(), "module", name));
    if (out_.modules[out.module].type != out.type) return error("the types of " + name + " and its module differ");
    for (uint32_t i = 0; i < count_of(segment.sets()); ++i) {
      const fb::DescriptorSet& set = *segment.sets()->Get(i);
      CARINA_TRY(auto bindings, slots_of(set.bindings(), name));
      // A set without an index has the index of its position in the list.
      out.sets.push_back({.index = set.set_index() == kVgfNone ? i : set.set_index(), .bindings = std::move(bindings)});
    }
    CARINA_TRY(out.inputs, slots_of(segment.inputs(), name));
    CARINA_TRY(out.outputs, slots_of(segment.outputs(), name));
    CARINA_TRY(out.constants, constants_of(segment, name));
    CARINA_TRY(out.dispatch_shape, dispatch_of(segment, name));
    return out;
  }

  Result<std::vector<std::string>> names_of(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* names,
                                            size_t count, std::string_view of) {
    std::vector<std::string> out;
    for (uint32_t i = 0; i < count_of(names); ++i) out.push_back(text_of(names->Get(i)));
    if (!out.empty() && out.size() != count)
      return error(fmt::format("the number of names of {} is wrong", of), std::to_string(count),
                   std::to_string(out.size()));
    return out;
  }

  Result<void> read_sequence() {
    CARINA_TRY(const auto* sequence, table<fb::SequenceTable>(sections_[1], "sequence"));
    for (uint32_t i = 0; i < count_of(sequence->segments()); ++i) {
      CARINA_TRY(out_.segments.emplace_back(), segment_of(*sequence->segments()->Get(i), fmt::format("segment {}", i)));
    }
    CARINA_TRY(out_.inputs, slots_of(sequence->inputs(), "the model's list of inputs"));
    CARINA_TRY(out_.outputs, slots_of(sequence->outputs(), "the model's list of outputs"));
    CARINA_TRY(out_.input_names, names_of(sequence->input_names(), out_.inputs.size(), "inputs"));
    CARINA_TRY(out_.output_names, names_of(sequence->output_names(), out_.outputs.size(), "outputs"));
    return {};
  }

  const Buffer& file_;
  const std::string& where_;
  std::array<Buffer, 4> sections_;  // modules, sequence, resources, constants
  size_t copied_bytes_ = 0;
  Container out_;
};

}  // namespace

bool is_vgf(const Buffer& file) {
  const auto begins = [&](std::span<const std::byte> magic) {
    return file.size() >= magic.size() && std::ranges::equal(file.bytes().first(magic.size()), magic);
  };
  return begins(std::as_bytes(std::span(kVgfMagic))) || begins(std::as_bytes(std::span(kVgfOldMagic)));
}

Result<Container> read_container(const Buffer& file, const std::string& where) {
  return Reader(file, where).read();
}

const VkFormatRow* find_format(uint32_t format) {
  const auto row = std::ranges::find(kVkFormats, format, &VkFormatRow::format);
  return row == kVkFormats.end() ? nullptr : &*row;
}

std::string format_name(uint32_t format) {
  const VkFormatRow* row = find_format(format);
  return row == nullptr ? fmt::format("format {}", format) : std::string(row->name);
}

}  // namespace carina::vgf
