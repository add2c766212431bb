#pragma once

#include <string>
#include <unordered_map>

#include "carina/result.h"
#include "carina/tensor.h"
#include "frontend/vgf/spirv_module_internal.h"

// Types and constants of a SPIR-V module as Carina's types and tensors.
namespace carina::vgf {

struct TensorType {
  DType dtype;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};

// Converts the types and constants of a module to Carina's types and tensors. The total size of all constants is
// limited, because replicated and null constants are small in the file.
class SpirvValues {
 public:
  static constexpr size_t kMaxConstantBytes = size_t{1} << 26;

  SpirvValues(const SpirvModule& module, std::string where) : module_(module), where_(std::move(where)) {}

  // The instruction that defines an id, which must be `op`. Errors: the id is undefined, or another instruction defines
  // it.
  Result<const Instruction*> definition(uint32_t id, SpirvOp op) const;

  // The TOSA element type of a SPIR-V type. An integer of 64 bits is i48.
  Result<DType> element_type(uint32_t type) const;
  // A tensor type of known rank, whose sizes are all at least 1.
  Result<TensorType> tensor_type(uint32_t type) const;

  // Values of constants: an integer of 32 bits, a boolean, the bits of a scalar of this type.
  Result<int64_t> integer(uint32_t id) const;
  Result<bool> boolean(uint32_t id) const;
  Result<uint64_t> scalar(uint32_t id, DType dtype) const;
  // Returns whether the id is a constant tensor of the module itself, not one of the container's constants section.
  [[nodiscard]] bool is_constant_tensor(uint32_t id) const;
  // Returns the tensor, which is converted once and cached.
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
