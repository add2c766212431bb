#pragma once

#include <string>
#include <unordered_map>

#include "carina/result.h"
#include "carina/tensor.h"
#include "frontend/vgf/spirv_module_internal.h"

namespace carina::vgf {

struct TensorType {
  DType dtype;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};

// Types and constants of a module in our terms. All constants of a module together may have so many bytes: replicated
// and null ones are small in the file.
class SpirvValues {
 public:
  static constexpr size_t kMaxConstantBytes = size_t{1} << 26;

  SpirvValues(const SpirvModule& module, std::string where) : module_(module), where_(std::move(where)) {}

  // The instruction that makes an id, which must be `op`. Errors: nothing makes it, or another instruction.
  Result<const Instruction*> maker(uint32_t id, SpirvOp op) const;

  // An element type that TOSA has: i48 is SPIR-V's integer of 64 bits.
  Result<DType> element_type(uint32_t type) const;
  // A tensor type of known rank and sizes, all at least 1.
  Result<TensorType> tensor_type(uint32_t type) const;

  // Constants: an integer of 32 bits, a boolean, the bits of a scalar of this type.
  Result<int64_t> integer(uint32_t id) const;
  Result<bool> boolean(uint32_t id) const;
  Result<uint64_t> scalar(uint32_t id, DType dtype) const;
  // Whether the id is a constant tensor (not one of the constants' section).
  [[nodiscard]] bool is_constant_tensor(uint32_t id) const;
  // Returns the tensor; it is made once and cached.
  Result<Tensor> tensor(uint32_t id);

  [[nodiscard]] std::unexpected<Diagnostics> error(std::string what, std::string expected = {}, std::string got = {},
                                                   std::string hint = {}) const;

 private:
  Result<uint32_t> array_length(uint32_t type) const;
  Result<std::vector<int64_t>> sizes(uint32_t id) const;
  Result<void> fill(uint32_t id, const TensorType& type, std::span<std::byte> out) const;
  Result<void> fill_parts(const Instruction& composite, const TensorType& type, std::span<std::byte> out) const;

  const SpirvModule& module_;
  std::string where_;
  std::unordered_map<uint32_t, Tensor> tensors_;
  size_t constant_bytes_ = 0;
};

}  // namespace carina::vgf
