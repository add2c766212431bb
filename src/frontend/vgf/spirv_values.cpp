#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "frontend/vgf/element_bits_internal.h"
#include "frontend/vgf/spirv_values_internal.h"

namespace carina::vgf {

namespace {

std::string described(const Instruction* instruction, uint32_t id) {
  if (instruction == nullptr) return fmt::format("%{}, which nothing makes", id);
  if (instruction->row == nullptr) return fmt::format("%{} of opcode {}", id, instruction->opcode);
  return fmt::format("%{} of {}", id, instruction->row->name);
}

std::string_view name_of_op(SpirvOp op) {
  return find_spirv_op(static_cast<uint32_t>(op))->name;
}

bool is_constant(const Instruction& instruction) {
  return instruction.is(SpirvOp::OpConstantComposite) || instruction.is(SpirvOp::OpConstantNull) ||
         instruction.is(SpirvOp::OpConstantCompositeReplicateEXT);
}

}  // namespace

std::unexpected<Diagnostics> SpirvValues::error(std::string what, std::string expected, std::string got,
                                                std::string hint) const {
  return fail({.where = where_,
               .what = std::move(what),
               .expected = std::move(expected),
               .got = std::move(got),
               .hint = std::move(hint)});
}

Result<const Instruction*> SpirvValues::definition(uint32_t id, SpirvOp op) const {
  const Instruction* instruction = module_.find(id);
  if (instruction != nullptr && instruction->is(op)) return instruction;
  return error("an id is not what it must be", std::string(name_of_op(op)), described(instruction, id));
}

Result<DType> SpirvValues::element_type(uint32_t type) const {
  const Instruction* made = module_.find(type);
  if (made != nullptr && made->is(SpirvOp::OpTypeBool)) return DType::kBool;
  if (made != nullptr && made->is(SpirvOp::OpTypeInt)) {
    switch (made->operands[0]) {
      case 8:
        return DType::kInt8;
      case 16:
        return DType::kInt16;
      case 32:
        return DType::kInt32;
      case 64:
        return DType::kInt48;
      default:
        return error("an integer type that TOSA does not have", "8, 16, 32 or 64 bits",
                     std::to_string(made->operands[0]));
    }
  }
  if (made != nullptr && made->is(SpirvOp::OpTypeFloat)) {
    const uint32_t bits = made->operands[0];
    if (made->operands.size() == 1 && bits == 16) return DType::kFp16;
    if (made->operands.size() == 1 && bits == 32) return DType::kFp32;
    const uint32_t encoding = made->operands.size() > 1 ? made->operands[1] : kSpirvMaxBound;
    if (bits == 16 && encoding == kSpirvEncodingBFloat16) return DType::kBf16;
    if (bits == 8 && encoding == kSpirvEncodingFloat8E4M3) return DType::kFp8E4M3;
    if (bits == 8 && encoding == kSpirvEncodingFloat8E5M2) return DType::kFp8E5M2;
    return error("a floating point type that TOSA does not have", "", fmt::format("{} bits", bits));
  }
  return error("not a type of elements", "OpTypeBool, OpTypeInt or OpTypeFloat", described(made, type));
}

Result<int64_t> SpirvValues::integer(uint32_t id) const {
  CARINA_TRY(const uint64_t bits, scalar(id, DType::kInt32));
  return static_cast<int64_t>(static_cast<int32_t>(bits));
}

Result<bool> SpirvValues::boolean(uint32_t id) const {
  CARINA_TRY(const uint64_t bits, scalar(id, DType::kBool));
  return bits != 0;
}

Result<uint64_t> SpirvValues::scalar(uint32_t id, DType dtype) const {
  const Instruction* made = module_.find(id);
  if (made == nullptr || made->type == 0) return error("not a constant", "", described(made, id));
  CARINA_TRY(const DType found, element_type(made->type));
  if (found != dtype)
    return error("a constant is of the wrong type", std::string(name_of(dtype)), std::string(name_of(found)));
  if (made->is(SpirvOp::OpConstantNull)) return uint64_t{0};
  if (dtype == DType::kBool && made->is(SpirvOp::OpConstantTrue)) return uint64_t{1};
  if (dtype == DType::kBool && made->is(SpirvOp::OpConstantFalse)) return uint64_t{0};
  const size_t words = dtype == DType::kInt48 ? 2 : 1;
  if (dtype == DType::kBool || !made->is(SpirvOp::OpConstant) || made->operands.size() != words)
    return error("not a constant", "OpConstant of " + std::string(name_of(dtype)), described(made, id));
  const uint64_t high = words == 2 ? made->operands[1] : 0;
  const uint64_t bits = high << 32 | made->operands[0];
  // Narrow numbers may be sign-extended to a word, so the upper bits are removed.
  return spirv_bits(dtype) >= 64 ? bits : bits & ((uint64_t{1} << spirv_bits(dtype)) - 1);
}

Result<uint32_t> SpirvValues::array_length(uint32_t type) const {
  CARINA_TRY(const Instruction* array, definition(type, SpirvOp::OpTypeArray));
  CARINA_TRY(const int64_t length, integer(array->operands[1]));
  if (length < 1 || length > static_cast<int64_t>(Shape::kMaxRank))
    return error("a tensor has too many axes, or none", fmt::format("1 to {}", Shape::kMaxRank),
                 std::to_string(length));
  return static_cast<uint32_t>(length);
}

Result<std::vector<int64_t>> SpirvValues::sizes(uint32_t id) const {
  const Instruction* made = module_.find(id);
  const bool replicated = made != nullptr && made->is(SpirvOp::OpConstantCompositeReplicateEXT);
  if (made == nullptr || !(replicated || made->is(SpirvOp::OpConstantComposite)))
    return error("a tensor's sizes are not constant", "OpConstantComposite", described(made, id));
  CARINA_TRY(const uint32_t length, array_length(made->type));
  if (!replicated && made->operands.size() != length)
    return error("a tensor has another number of sizes than axes", std::to_string(length),
                 std::to_string(made->operands.size()));
  std::vector<int64_t> out;
  for (uint32_t i = 0; i < length; ++i) {
    CARINA_TRY(out.emplace_back(), integer(made->operands[replicated ? 0 : i]));
  }
  return out;
}

Result<TensorType> SpirvValues::tensor_type(uint32_t type) const {
  CARINA_TRY(const Instruction* made, definition(type, SpirvOp::OpTypeTensorARM));
  CARINA_TRY(const DType dtype, element_type(made->operands[0]));
  if (made->operands.size() != 3)
    return error("a tensor type without sizes", "", "", "only tensors of fixed shape are supported");
  CARINA_TRY(const int64_t rank, integer(made->operands[1]));
  CARINA_TRY(const std::vector<int64_t> dims, sizes(made->operands[2]));
  if (rank != static_cast<int64_t>(dims.size()))
    return error("a tensor type's rank is not the number of its sizes", std::to_string(rank),
                 std::to_string(dims.size()));
  if (std::ranges::any_of(dims, [](int64_t size) { return size < 1; }))
    return error("a tensor type has a size below 1", "", "", "only tensors of fixed shape are supported");
  const auto elements = checked_product(dims);
  if (!elements || !checked_mul<int64_t>(*elements, 8)) return error("the size of a tensor type overflows");
  return TensorType{.dtype = dtype, .shape = Shape(dims)};
}

bool SpirvValues::is_constant_tensor(uint32_t id) const {
  const Instruction* made = module_.find(id);
  return made != nullptr && is_constant(*made);
}

Result<Tensor> SpirvValues::tensor(uint32_t id) {
  if (const auto known = tensors_.find(id); known != tensors_.end()) return known->second;
  const Instruction* made = module_.find(id);
  if (made == nullptr || !is_constant(*made)) return error("not a constant tensor", "", described(made, id));
  CARINA_TRY(const TensorType type, tensor_type(made->type));
  const auto needed = static_cast<size_t>(type.shape.elements()) * element_bytes(type.dtype);
  if (needed > kMaxConstantBytes - constant_bytes_)
    return error("the constants in the SPIR-V are too large", fmt::format("at most {} bytes", kMaxConstantBytes));
  constant_bytes_ += needed;
  MutableTensor out(type.dtype, type.shape);
  CARINA_CHECKED(fill(id, type, out.bytes()));
  return tensors_.emplace(id, std::move(out).freeze()).first->second;
}

// Invariant: each nesting level has one axis less, so the recursion ends at the tensor's rank.
Result<void> SpirvValues::fill(uint32_t id, const TensorType& type, std::span<std::byte> out) const {
  if (type.shape.rank() == 0) {
    CARINA_TRY(const uint64_t bits, scalar(id, type.dtype));
    if (store_element(type.dtype, bits, out.data())) return {};
    return error("a number does not fit its type", std::string(name_of(type.dtype)));
  }
  const Instruction* made = module_.find(id);
  if (made == nullptr || !is_constant(*made)) return error("a part of a constant is none", "", described(made, id));
  CARINA_TRY(const TensorType found, tensor_type(made->type));
  if (found != type)
    return error("a part of a constant is of another type",
                 fmt::format("{} {}", name_of(type.dtype), to_string(type.shape)),
                 fmt::format("{} {}", name_of(found.dtype), to_string(found.shape)));
  if (!made->is(SpirvOp::OpConstantNull)) return fill_parts(*made, type, out);
  std::memset(out.data(), 0, out.size());
  return {};
}

Result<void> SpirvValues::fill_parts(const Instruction& composite, const TensorType& type,
                                     std::span<std::byte> out) const {
  const auto count = static_cast<size_t>(type.shape[0]);
  const bool replicated = composite.is(SpirvOp::OpConstantCompositeReplicateEXT);
  if (!replicated && composite.operands.size() != count)
    return error("a constant has another number of parts than its type", std::to_string(count),
                 std::to_string(composite.operands.size()));
  const TensorType part{.dtype = type.dtype, .shape = Shape(type.shape.dims().subspan(1))};
  const size_t step = out.size() / count;
  CARINA_CHECKED(fill(composite.operands[0], part, out.first(step)));
  for (size_t i = 1; i < count; ++i) {
    const auto element = out.subspan(i * step, step);
    if (replicated || composite.operands[i] == composite.operands[i - 1]) {
      std::memcpy(element.data(), out.data() + (i - 1) * step, step);
    } else {
      CARINA_CHECKED(fill(composite.operands[i], part, element));
    }
  }
  return {};
}

}  // namespace carina::vgf
