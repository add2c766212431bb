#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "facts/tosa_row.h"

namespace carina {

// The container of VGF files: a header of 128 bytes, three FlatBuffers (facts/schemas/vgf.fbs) and the constants.
// Source: ai-ml-sdk-vgf-library, docs/source/file_format.rst; version 0.5 as its release 0.11 writes it.

inline constexpr std::string_view kVgfMagic = "VGF1";
inline constexpr std::array<uint8_t, 4> kVgfOldMagic{0xC3, 0xD2, 0xE1, 0xF0};  // files before 0.4
inline constexpr size_t kVgfHeaderBytes = 128;
inline constexpr size_t kVgfVersionOffset = 8;  // major, minor, patch
inline constexpr std::array<uint8_t, 3> kVgfWrittenVersion{0, 5, 0};
inline constexpr uint8_t kVgfNewestMinor = 5;  // of major 0
inline constexpr size_t kVgfSectionAlignment = 8;

// The offsets in the header of a section's offset and size, 8 bytes each.
enum class VgfSection : size_t { kModules = 16, kSequence = 32, kResources = 48, kConstants = 64 };

// The section of constants: this text with its terminator, the count, one entry each, the data. Old files have a
// FlatBuffer instead.
inline constexpr std::string_view kVgfConstantsMagic{"CONST00\0", 8};
inline constexpr size_t kVgfConstantsHeaderBytes = 16;
// u32 index of the resource, i32 sparse dimension (-1: none), u64 size, u64 offset from the end of the last entry.
inline constexpr size_t kVgfConstantEntryBytes = 24;

// The name for `--target`. The TOSA level of its delegates is that of ExecuTorch's VgfCompileSpec.
inline constexpr std::string_view kVgfTarget = "vgf";
inline constexpr std::string_view kVgfTosaSpec = "TOSA-1.0+FP+INT+int4+int16";

enum class VgfCategory : uint8_t { kInput = 0, kOutput = 1, kIntermediate = 2, kConstant = 3 };
inline constexpr auto kVgfCategoryNames =
    std::to_array<std::string_view>({"input", "output", "intermediate", "constant"});

inline constexpr uint32_t kVgfNone = 0xFFFFFFFF;  // no descriptor type, descriptor set, alias group
inline constexpr uint32_t kVkDescriptorTypeTensor = 1000460000;

struct VkDescriptorTypeName {
  uint32_t type;
  std::string_view name;
};
inline constexpr auto kVkDescriptorTypes = std::to_array<VkDescriptorTypeName>({
    {0, "sampler"},
    {1, "combined image sampler"},
    {2, "sampled image"},
    {3, "storage image"},
    {6, "uniform buffer"},
    {7, "storage buffer"},
    {kVkDescriptorTypeTensor, "tensor"},
});

// Vulkan's formats of tensors. A type without a row (i4, shape) never occurs in a file.
struct VkFormatRow {
  uint32_t format;
  std::string_view name;
  TosaType type;
  bool is_unsigned;  // RESCALE reads or writes it as unsigned
};
inline constexpr auto kVkFormats = std::to_array<VkFormatRow>({
    {13, "R8_UINT", TosaType::kInt8, true},
    {14, "R8_SINT", TosaType::kInt8, false},
    {74, "R16_UINT", TosaType::kInt16, true},
    {75, "R16_SINT", TosaType::kInt16, false},
    {76, "R16_SFLOAT", TosaType::kFp16, false},
    {98, "R32_UINT", TosaType::kInt32, true},
    {99, "R32_SINT", TosaType::kInt32, false},
    {100, "R32_SFLOAT", TosaType::kFp32, false},
    {111, "R64_SINT", TosaType::kInt48, false},
    {1000460000, "R8_BOOL_ARM", TosaType::kBool, false},
    {1000460001, "R16_SFLOAT_FPENCODING_BFLOAT16_ARM", TosaType::kBf16, false},
    {1000460002, "R8_SFLOAT_FPENCODING_FLOAT8E4M3_ARM", TosaType::kFp8E4M3, false},
    {1000460003, "R8_SFLOAT_FPENCODING_FLOAT8E5M2_ARM", TosaType::kFp8E5M2, false},
});

// Tensors with more elements are in the section of constants, others in the SPIR-V, as model-converter 0.11 does it.
inline constexpr int64_t kVgfMaxInlineElements = 16;

}  // namespace carina
