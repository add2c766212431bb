#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "carina/result.h"
#include "facts/spirv.h"

namespace carina::vgf {

// One instruction as it stands in a module.
struct Instruction {
  uint32_t opcode;
  const SpirvOpRow* row;               // null: an instruction that facts/spirv_ops.def does not have
  uint32_t type = 0;                   // id of the result's type; 0: none
  uint32_t result = 0;                 // id; 0: none
  std::span<const uint32_t> operands;  // those behind type and result

  [[nodiscard]] bool is(SpirvOp op) const { return opcode == static_cast<uint32_t>(op); }
};

// A module taken apart. Every instruction ends inside, has at least the operands that its row asks for, strings end,
// ids lie below the bound, and no id is made twice.
struct SpirvModule {
  uint32_t version = 0;
  uint32_t bound = 0;
  std::vector<Instruction> instructions;
  std::unordered_map<uint32_t, size_t> makers;      // by id
  std::unordered_map<uint32_t, std::string> names;  // OpName, by id
  std::unordered_map<uint32_t, uint32_t> bindings;  // of variables
  std::unordered_map<uint32_t, uint32_t> descriptor_sets;

  // Returns the instruction that defines this id; null: none.
  [[nodiscard]] const Instruction* find(uint32_t id) const {
    const auto found = makers.find(id);
    return found == makers.end() ? nullptr : &instructions[found->second];
  }
};

// Takes `words` apart, which must outlive the module. Errors: as the invariants above say; another magic or version.
Result<SpirvModule> parse_spirv(std::span<const uint32_t> words, const std::string& where);

// The string that begins at the first of these words, and how many words it takes (0: it does not end).
struct Literal {
  std::string text;
  size_t words;
};
Literal string_of(std::span<const uint32_t> words);

// The module's instructions in words, one a line; ids as numbers.
std::string print_spirv(const SpirvModule& module);

}  // namespace carina::vgf
