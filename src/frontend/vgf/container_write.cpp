#include <flatbuffers/flatbuffers.h>

#include <array>
#include <cstring>

#include "base/checked_math.h"
#include "frontend/vgf/container.h"
#include "vgf_generated.h"

// Writes the container of a VGF file: header, modules, resources, model sequence, constants (vgf.h).
namespace carina::vgf {

namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using Slots = Offset<flatbuffers::Vector<Offset<fb::BindingSlot>>>;
using Strings = Offset<flatbuffers::Vector<Offset<flatbuffers::String>>>;

Slots slots_of(FlatBufferBuilder& builder, const std::vector<Slot>& slots) {
  std::vector<Offset<fb::BindingSlot>> out;
  for (const Slot& slot : slots) out.push_back(fb::CreateBindingSlot(builder, slot.binding, slot.resource));
  return builder.CreateVector(out);
}

Strings strings_of(FlatBufferBuilder& builder, const std::vector<std::string>& texts) {
  std::vector<Offset<flatbuffers::String>> out;
  for (const std::string& text : texts) out.push_back(builder.CreateString(text));
  return builder.CreateVector(out);
}

Offset<fb::Module> module_of(FlatBufferBuilder& builder, const CodeModule& module) {
  fb::Code type = fb::Code::NONE;
  Offset<void> code;
  if (const auto* spirv = std::get_if<Spirv>(&module.code)) {
    type = fb::Code::Spirv;
    code = fb::CreateSpirv(builder, builder.CreateVector(spirv->words)).Union();
  } else if (const auto* source = std::get_if<Source>(&module.code)) {
    const auto text = builder.CreateString(source->text);
    type = source->language == "GLSL" ? fb::Code::Glsl : fb::Code::Hlsl;
    code = type == fb::Code::Glsl ? fb::CreateGlsl(builder, text).Union() : fb::CreateHlsl(builder, text).Union();
  }
  const auto name = builder.CreateString(module.name);
  const auto entry = builder.CreateString(module.entry_point);
  return fb::CreateModule(builder, static_cast<fb::ModuleType>(module.type), name, entry, type, code);
}

void build_modules(FlatBufferBuilder& builder, const Container& container) {
  std::vector<Offset<fb::Module>> modules;
  for (const CodeModule& module : container.modules) modules.push_back(module_of(builder, module));
  builder.Finish(fb::CreateModuleTable(builder, builder.CreateVector(modules)));
}

Offset<fb::Segment> segment_of(FlatBufferBuilder& builder, const Segment& segment) {
  std::vector<Offset<fb::DescriptorSet>> sets;
  for (const DescriptorSet& set : segment.sets)
    sets.push_back(fb::CreateDescriptorSet(builder, slots_of(builder, set.bindings), set.index));
  std::vector<uint32_t> constants;
  std::vector<Offset<fb::ConstantBinding>> bindings;
  for (const GraphConstant& constant : segment.constants) {
    constants.push_back(constant.constant);
    bindings.push_back(fb::CreateConstantBinding(builder, constant.id, constant.constant));
  }
  const auto name = builder.CreateString(segment.name);
  const auto set_list = builder.CreateVector(sets);
  const auto inputs = slots_of(builder, segment.inputs);
  const auto outputs = slots_of(builder, segment.outputs);
  const auto constant_list = builder.CreateVector(constants);
  const auto dispatch = builder.CreateVector(segment.dispatch_shape.data(), segment.dispatch_shape.size());
  const auto ranges = builder.CreateVector(std::vector<Offset<fb::PushConstantRange>>());
  const auto binding_list = builder.CreateVector(bindings);
  return fb::CreateSegment(builder, static_cast<fb::ModuleType>(segment.type), name, segment.module, set_list, inputs,
                           outputs, constant_list, dispatch, ranges, binding_list);
}

void build_sequence(FlatBufferBuilder& builder, const Container& container) {
  std::vector<Offset<fb::Segment>> segments;
  for (const Segment& segment : container.segments) segments.push_back(segment_of(builder, segment));
  const auto list = builder.CreateVector(segments);
  const auto inputs = slots_of(builder, container.inputs);
  const auto outputs = slots_of(builder, container.outputs);
  const auto input_names = strings_of(builder, container.input_names);
  const auto output_names = strings_of(builder, container.output_names);
  builder.Finish(fb::CreateSequenceTable(builder, list, inputs, outputs, input_names, output_names));
}

void build_resources(FlatBufferBuilder& builder, const Container& container) {
  std::vector<Offset<fb::Resource>> entries;
  for (const Resource& resource : container.resources) {
    const auto shape = builder.CreateVector(resource.shape);
    const auto strides = builder.CreateVector(std::vector<int64_t>());
    const auto description = fb::CreateDescription(builder, shape, strides);
    entries.push_back(fb::CreateResource(builder, resource.descriptor_type, resource.format,
                                         static_cast<uint8_t>(resource.category), description, fb::ExtraConfig::NONE, 0,
                                         resource.alias_group));
  }
  builder.Finish(fb::CreateResourceTable(builder, builder.CreateVector(entries)));
}

// A file in memory that grows at its end.
class Writer {
 public:
  explicit Writer(size_t expected_bytes) { bytes_.reserve(expected_bytes); }
  template <typename T>
  void put(T value) {
    bytes(&value, sizeof(T));
  }
  template <typename T>
  void put_at(size_t position, T value) {
    std::memcpy(bytes_.data() + position, &value, sizeof(T));
  }
  void bytes(const void* data, size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  void align() { bytes_.resize(round_up(bytes_.size(), kVgfSectionAlignment)); }
  void zeros(size_t count) { bytes_.resize(bytes_.size() + count); }
  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

  void section(VgfSection section, size_t begin) {
    put_at<uint64_t>(static_cast<size_t>(section), begin);
    put_at<uint64_t>(static_cast<size_t>(section) + 8, size() - begin);
    align();
  }

 private:
  std::vector<std::byte> bytes_;
};

void write_constants(Writer& out, const std::vector<Constant>& constants) {
  const size_t begin = out.size();
  out.bytes(kVgfConstantsMagic.data(), kVgfConstantsMagic.size());
  out.put<uint64_t>(constants.size());
  uint64_t offset = 0;
  for (const Constant& constant : constants) {
    out.put<uint32_t>(constant.resource);
    out.put<int32_t>(static_cast<int32_t>(constant.sparse_dimension));
    out.put<uint64_t>(constant.data.size());
    out.put<uint64_t>(offset);
    offset += round_up(constant.data.size(), kVgfSectionAlignment);
  }
  for (const Constant& constant : constants) {
    out.bytes(constant.data.data(), constant.data.size());
    out.align();
  }
  out.section(VgfSection::kConstants, begin);
}

}  // namespace

std::vector<std::byte> write_container(const Container& container) {
  std::array<FlatBufferBuilder, 3> builders;
  build_modules(builders[0], container);
  build_sequence(builders[1], container);
  build_resources(builders[2], container);
  size_t expected = kVgfHeaderBytes + kVgfConstantsHeaderBytes;
  for (const FlatBufferBuilder& builder : builders) expected += builder.GetSize() + kVgfSectionAlignment;
  for (const Constant& constant : container.constants)
    expected += kVgfConstantEntryBytes + constant.data.size() + kVgfSectionAlignment;

  Writer out(expected);
  out.bytes(kVgfMagic.data(), kVgfMagic.size());
  out.zeros(kVgfHeaderBytes - kVgfMagic.size());
  for (size_t i = 0; i < kVgfWrittenVersion.size(); ++i) out.put_at(kVgfVersionOffset + i, kVgfWrittenVersion[i]);
  constexpr std::array kSections{VgfSection::kModules, VgfSection::kSequence, VgfSection::kResources};
  for (size_t i = 0; i < builders.size(); ++i) {
    const size_t begin = out.size();
    out.bytes(builders[i].GetBufferPointer(), builders[i].GetSize());
    out.section(kSections[i], begin);
  }
  write_constants(out, container.constants);
  return out.take();
}

}  // namespace carina::vgf
