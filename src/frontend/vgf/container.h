#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "facts/vgf.h"

namespace carina::vgf {

// A VGF file as its tables have it. In one that was read every index lies inside its table, every enumeration has a
// value that the format knows, and every constant's data lies in the file.

enum class ModuleType : uint8_t { kCompute = 0, kGraph = 1 };

struct Spirv {
  std::vector<uint32_t> words;
};
struct Source {
  std::string language;  // "GLSL", "HLSL"
  std::string text;
};

struct CodeModule {
  ModuleType type;
  std::string name;
  std::string entry_point;
  std::variant<std::monostate, Spirv, Source> code;  // none: the program brings it
};

struct Resource {
  VgfCategory category;
  uint32_t descriptor_type;  // a VkDescriptorType, or kVgfNone
  uint32_t format;           // a VkFormat, which need not be one of kVkFormats
  std::vector<int64_t> shape;
  uint32_t alias_group = kVgfNone;  // resources of one group share their memory
};

struct Slot {
  uint32_t binding;
  uint32_t resource;
};

struct DescriptorSet {
  uint32_t index;
  std::vector<Slot> bindings;
};

struct GraphConstant {
  uint32_t id;        // as OpGraphConstantARM calls it
  uint32_t constant;  // index
};

struct Segment {
  ModuleType type;
  std::string name;
  uint32_t module;
  std::vector<DescriptorSet> sets;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
  std::vector<GraphConstant> constants;
  std::array<uint32_t, 3> dispatch_shape{};
};

struct Constant {
  uint32_t resource;
  int64_t sparse_dimension = -1;  // of 2:4 sparsity; -1: none
  Buffer data;
};

struct Container {
  std::array<uint8_t, 3> version{};
  std::vector<CodeModule> modules;
  std::vector<Segment> segments;  // in the order of execution
  std::vector<Resource> resources;
  std::vector<Constant> constants;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
  std::vector<std::string> input_names;   // as many as inputs, or none
  std::vector<std::string> output_names;  // as many as outputs, or none
};

// Whether a file begins as VGF files do.
bool is_vgf(const Buffer& file);

// The tables of a VGF file of version 0.1 to 0.5. Constants are views of `file`. `where` is what messages call it.
// Errors: another file or version; sections outside the file or on top of each other; damaged tables; indices past
// their table; enumerations without that value; constants outside their section.
Result<Container> read_container(const Buffer& file, const std::string& where);

// The bytes of a file of version 0.5.0: the same tables give the same bytes. Every segment has one descriptor set.
std::vector<std::byte> write_container(const Container& container);

// "R8_SINT", else the number.
std::string format_name(uint32_t format);
// The row of a format of tensors; null: another format.
const VkFormatRow* find_format(uint32_t format);

}  // namespace carina::vgf
