#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "carina/dtype.h"
#include "carina/shape.h"
#include "facts/spirv.h"

namespace carina::vgf {

// Builds a SPIR-V module of graphs. Each type and constant is added once; each capability is added at its first use.
class SpirvBuilder {
 public:
  SpirvBuilder();

  // Ids of types. An element type that SPIR-V does not have (i4, i48) becomes the next wider type.
  uint32_t element_type(DType dtype);
  uint32_t tensor_type(DType dtype, const Shape& shape);  // of rank 1 or more
  uint32_t pointer_to(uint32_t type);
  uint32_t struct_of(std::span<const uint32_t> types);
  uint32_t graph_type(std::span<const uint32_t> inputs, std::span<const uint32_t> outputs);

  // Ids of constants.
  uint32_t word(uint32_t value);  // 32 bits
  uint32_t boolean(bool value);
  uint32_t scalar(DType dtype, uint64_t bits);  // the element's bits; higher bits are zero
  // `bits` has one number for each element of the tensor.
  uint32_t tensor(DType dtype, const Shape& shape, std::span<const uint64_t> bits);
  uint32_t graph_constant(uint32_t type, uint32_t graph_id);

  // A variable of the interface, bound in descriptor set 0.
  uint32_t variable(uint32_t type, uint32_t binding);
  void name(uint32_t id, std::string_view name);

  // The graph's body, in order. Instructions with a result return its id.
  uint32_t entry_point(std::string_view name, uint32_t graph_type, std::span<const uint32_t> interface);
  uint32_t graph_input(uint32_t type, uint32_t index);
  uint32_t tosa(uint32_t type, uint32_t instruction, std::span<const uint32_t> operands);
  uint32_t extract(uint32_t type, uint32_t composite, uint32_t index);
  void set_output(uint32_t value, uint32_t index);

  // Returns the words of the whole module.
  [[nodiscard]] std::vector<uint32_t> finish();

 private:
  using Words = std::vector<uint32_t>;
  static void add(Words& to, SpirvOp op, std::span<const uint32_t> operands);
  // Returns the id of an instruction with these operands, which is added if it does not exist. `operands` exclude the
  // result id.
  uint32_t once(SpirvOp op, std::span<const uint32_t> operands);
  uint32_t typed_once(SpirvOp op, uint32_t type, std::span<const uint32_t> operands);
  uint32_t with_result(Words& to, SpirvOp op, uint32_t type, std::span<const uint32_t> operands);

  uint32_t bound_ = 1;
  std::set<SpirvCapability> capabilities_;
  std::map<Words, uint32_t> known_;
  Words names_;
  Words decorations_;
  Words globals_;
  Words body_;
  uint32_t instruction_set_;
};

}  // namespace carina::vgf
