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

// The tables of a VGF file. After read_container() every index is inside its table, every enumeration has a known
// value, and the data of every constant is inside the file.

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
  std::variant<std::monostate, Spirv, Source> code;  // no value: the application supplies the code
};

struct Resource {
  VgfCategory category;
  uint32_t descriptor_type;  // a VkDescriptorType, or kVgfNone
  uint32_t format;           // a VkFormat, not necessarily one of kVkFormats
  std::vector<int64_t> shape;
  uint32_t alias_group = kVgfNone;  // resources of one group share memory
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
  uint32_t id;        // the constant's id in OpGraphConstantARM
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
  int64_t sparse_dimension = -1;  // the dimension with 2:4 sparsity; -1: none
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
  std::vector<std::string> input_names;   // one per input, or empty
  std::vector<std::string> output_names;  // one per output, or empty
};

// Returns whether a file begins with the header of a VGF file.
bool is_vgf(const Buffer& file);

// Reads the tables of a VGF file of version 0.1 to 0.5. Constants are views of `file`. `where` is the file's name in
// messages. Errors: another kind of file or another version; sections outside of the file or overlapping; damaged
// tables; indices outside of their table; unknown enumeration values; constants outside of their section.
Result<Container> read_container(const Buffer& file, const std::string& where);

// Returns the bytes of a file of version 0.5.0. Equal tables give equal bytes. Every segment has one descriptor set.
std::vector<std::byte> write_container(const Container& container);

// Returns the name of a format, "R8_SINT", or its number if the name is unknown.
std::string format_name(uint32_t format);
// Returns the row of a tensor format, or nullptr.
const VkFormatRow* find_format(uint32_t format);

}  // namespace carina::vgf
