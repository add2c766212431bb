#include <algorithm>
#include <array>
#include <cstring>

#include "carina/check.h"
#include "facts/vgf_ops.h"
#include "frontend/vgf/spirv_builder_internal.h"

namespace carina::vgf {

namespace {

// Encodes a string as operands: its bytes and a zero byte, padded to words. Very long names are truncated, because an
// instruction has at most 65535 words.
std::vector<uint32_t> words_of(std::string_view text) {
  constexpr size_t kMaxBytes = 4096;
  text = text.substr(0, kMaxBytes);
  text = text.substr(0, text.find('\0'));
  std::vector<uint32_t> out(text.size() / sizeof(uint32_t) + 1);
  std::memcpy(out.data(), text.data(), text.size());
  return out;
}

std::vector<uint32_t> joined(std::initializer_list<uint32_t> first, std::span<const uint32_t> rest) {
  std::vector<uint32_t> out(first);
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

}  // namespace

SpirvBuilder::SpirvBuilder()
    : capabilities_{SpirvCapability::kShader, SpirvCapability::kTensors, SpirvCapability::kGraph,
                    SpirvCapability::kVulkanMemoryModel},
      instruction_set_(bound_++) {}

void SpirvBuilder::add(Words& to, SpirvOp op, std::span<const uint32_t> operands) {
  CARINA_CHECK(operands.size() < kSpirvMaxWords, "{} operands", operands.size());
  to.push_back(static_cast<uint32_t>((operands.size() + 1) << 16) | static_cast<uint32_t>(op));
  to.insert(to.end(), operands.begin(), operands.end());
}

uint32_t SpirvBuilder::once(SpirvOp op, std::span<const uint32_t> operands) {
  const auto [found, is_new] = known_.try_emplace(joined({static_cast<uint32_t>(op)}, operands), bound_);
  if (!is_new) return found->second;
  add(globals_, op, joined({bound_}, operands));
  return bound_++;
}

uint32_t SpirvBuilder::typed_once(SpirvOp op, uint32_t type, std::span<const uint32_t> operands) {
  const auto [found, is_new] = known_.try_emplace(joined({static_cast<uint32_t>(op), type}, operands), bound_);
  if (!is_new) return found->second;
  return with_result(globals_, op, type, operands);
}

uint32_t SpirvBuilder::with_result(Words& to, SpirvOp op, uint32_t type, std::span<const uint32_t> operands) {
  add(to, op, joined({type, bound_}, operands));
  return bound_++;
}

uint32_t SpirvBuilder::element_type(DType dtype) {
  const auto integer = [&](uint32_t bits) { return once(SpirvOp::OpTypeInt, std::array{bits, 0U}); };
  const auto of = [&](SpirvCapability capability, SpirvOp op, std::initializer_list<uint32_t> operands) {
    capabilities_.insert(capability);
    return once(op, std::span(operands.begin(), operands.size()));
  };
  switch (dtype) {
    case DType::kBool:
      return once(SpirvOp::OpTypeBool, {});
    case DType::kInt4:
    case DType::kInt8:
      return of(SpirvCapability::kInt8, SpirvOp::OpTypeInt, {8, 0});
    case DType::kInt16:
      return of(SpirvCapability::kInt16, SpirvOp::OpTypeInt, {16, 0});
    case DType::kInt32:
    case DType::kShape:
      return integer(32);
    case DType::kInt48:
      return of(SpirvCapability::kInt64, SpirvOp::OpTypeInt, {64, 0});
    case DType::kFp16:
      return of(SpirvCapability::kFloat16, SpirvOp::OpTypeFloat, {16});
    case DType::kBf16:
      return of(SpirvCapability::kBFloat16, SpirvOp::OpTypeFloat, {16, kSpirvEncodingBFloat16});
    case DType::kFp32:
      return once(SpirvOp::OpTypeFloat, std::array{32U});
    case DType::kFp8E4M3:
      return of(SpirvCapability::kFloat8, SpirvOp::OpTypeFloat, {8, kSpirvEncodingFloat8E4M3});
    case DType::kFp8E5M2:
      return of(SpirvCapability::kFloat8, SpirvOp::OpTypeFloat, {8, kSpirvEncodingFloat8E5M2});
    default:
      CARINA_UNREACHABLE("element type", dtype);
  }
}

uint32_t SpirvBuilder::tensor_type(DType dtype, const Shape& shape) {
  CARINA_CHECK(shape.rank() > 0, "a tensor of rank 0");
  const uint32_t element = element_type(dtype);
  const uint32_t rank = word(static_cast<uint32_t>(shape.rank()));
  std::vector<uint32_t> sizes;
  for (const int64_t size : shape.dims()) sizes.push_back(word(static_cast<uint32_t>(size)));
  const uint32_t list = once(SpirvOp::OpTypeArray, std::array{element_type(DType::kInt32), rank});
  const uint32_t dims = typed_once(SpirvOp::OpConstantComposite, list, sizes);
  return once(SpirvOp::OpTypeTensorARM, std::array{element, rank, dims});
}

uint32_t SpirvBuilder::pointer_to(uint32_t type) {
  return once(SpirvOp::OpTypePointer, std::array{kSpirvStorageUniformConstant, type});
}

uint32_t SpirvBuilder::struct_of(std::span<const uint32_t> types) {
  return once(SpirvOp::OpTypeStruct, types);
}

uint32_t SpirvBuilder::graph_type(std::span<const uint32_t> inputs, std::span<const uint32_t> outputs) {
  Words operands = joined({static_cast<uint32_t>(inputs.size())}, inputs);
  operands.insert(operands.end(), outputs.begin(), outputs.end());
  return once(SpirvOp::OpTypeGraphARM, operands);
}

uint32_t SpirvBuilder::word(uint32_t value) {
  return typed_once(SpirvOp::OpConstant, element_type(DType::kInt32), std::array{value});
}

uint32_t SpirvBuilder::boolean(bool value) {
  return typed_once(value ? SpirvOp::OpConstantTrue : SpirvOp::OpConstantFalse, element_type(DType::kBool), {});
}

uint32_t SpirvBuilder::scalar(DType dtype, uint64_t bits) {
  if (dtype == DType::kBool) return boolean(bits != 0);
  Words words{static_cast<uint32_t>(bits)};
  if (dtype == DType::kInt48) words.push_back(static_cast<uint32_t>(bits >> 32));
  return typed_once(SpirvOp::OpConstant, element_type(dtype), words);
}

uint32_t SpirvBuilder::tensor(DType dtype, const Shape& shape, std::span<const uint64_t> bits) {
  // The constituents of a tensor constant are its slices along the first axis. Each has the type of a tensor without
  // that axis.
  std::vector<uint32_t> parts;
  if (shape.rank() == 1) {
    for (const uint64_t element : bits) parts.push_back(scalar(dtype, element));
  } else {
    const Shape inner(shape.dims().subspan(1));
    const auto step = static_cast<size_t>(inner.elements());
    for (size_t at = 0; at < bits.size(); at += step) parts.push_back(tensor(dtype, inner, bits.subspan(at, step)));
  }
  return typed_once(SpirvOp::OpConstantComposite, tensor_type(dtype, shape), parts);
}

uint32_t SpirvBuilder::graph_constant(uint32_t type, uint32_t graph_id) {
  return typed_once(SpirvOp::OpGraphConstantARM, type, std::array{graph_id});
}

uint32_t SpirvBuilder::variable(uint32_t type, uint32_t binding) {
  const std::array operands{kSpirvStorageUniformConstant};
  const uint32_t id = with_result(globals_, SpirvOp::OpVariable, pointer_to(type), operands);
  add(decorations_, SpirvOp::OpDecorate, std::array{id, static_cast<uint32_t>(SpirvDecoration::kBinding), binding});
  add(decorations_, SpirvOp::OpDecorate, std::array{id, static_cast<uint32_t>(SpirvDecoration::kDescriptorSet), 0U});
  return id;
}

void SpirvBuilder::name(uint32_t id, std::string_view name) {
  add(names_, SpirvOp::OpName, joined({id}, words_of(name)));
}

uint32_t SpirvBuilder::entry_point(std::string_view name, uint32_t graph_type, std::span<const uint32_t> interface) {
  const uint32_t graph = bound_++;
  Words operands = joined({graph}, words_of(name));
  operands.insert(operands.end(), interface.begin(), interface.end());
  add(body_, SpirvOp::OpGraphEntryPointARM, operands);
  add(body_, SpirvOp::OpGraphARM, std::array{graph_type, graph});
  return graph;
}

uint32_t SpirvBuilder::graph_input(uint32_t type, uint32_t index) {
  return with_result(body_, SpirvOp::OpGraphInputARM, type, std::array{word(index)});
}

uint32_t SpirvBuilder::tosa(uint32_t type, uint32_t instruction, std::span<const uint32_t> operands) {
  return with_result(body_, SpirvOp::OpExtInst, type, joined({instruction_set_, instruction}, operands));
}

uint32_t SpirvBuilder::extract(uint32_t type, uint32_t composite, uint32_t index) {
  return with_result(body_, SpirvOp::OpCompositeExtract, type, std::array{composite, index});
}

void SpirvBuilder::set_output(uint32_t value, uint32_t index) {
  add(body_, SpirvOp::OpGraphSetOutputARM, std::array{value, word(index)});
}

std::vector<uint32_t> SpirvBuilder::finish() {
  add(body_, SpirvOp::OpGraphEndARM, {});
  Words out{kSpirvMagic, kSpirvVersion1_5, 0, bound_, 0};
  Words extensions;
  for (const SpirvCapabilityRow& row : kSpirvCapabilities) {
    if (!capabilities_.contains(row.capability)) continue;
    add(out, SpirvOp::OpCapability, std::array{static_cast<uint32_t>(row.capability)});
    if (!row.extension.empty()) add(extensions, SpirvOp::OpExtension, words_of(row.extension));
  }
  add(extensions, SpirvOp::OpExtInstImport, joined({instruction_set_}, words_of(kVgfInstructionSet)));
  add(extensions, SpirvOp::OpMemoryModel, std::array{kSpirvAddressingLogical, kSpirvMemoryModelVulkan});
  for (const Words& part : {extensions, names_, decorations_, globals_, body_})
    out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace carina::vgf
