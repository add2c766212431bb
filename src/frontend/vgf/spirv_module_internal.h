#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "carina/result.h"
#include "facts/spirv.h"

namespace carina::vgf {

// One instruction of a module.
struct Instruction {
  uint32_t opcode;
  const SpirvOpRow* row;               // nullptr: facts/spirv_ops.def does not have the instruction
  uint32_t type = 0;                   // id of the result's type; 0: no type
  uint32_t result = 0;                 // id of the result; 0: no result
  std::span<const uint32_t> operands;  // the operands after type and result

  [[nodiscard]] bool is(SpirvOp op) const { return opcode == static_cast<uint32_t>(op); }
};

// A parsed module. Invariants: every instruction ends inside of the module and has at least the operands of its row;
// strings are terminated; ids are below the bound; no id is defined twice.
struct SpirvModule {
  uint32_t version = 0;
  uint32_t bound = 0;
  std::vector<Instruction> instructions;
  std::unordered_map<uint32_t, size_t> definitions;  // index of the defining instruction, by id
  std::unordered_map<uint32_t, std::string> names;   // names of OpName, by id
  std::unordered_map<uint32_t, uint32_t> bindings;   // bindings of variables, by id
  std::unordered_map<uint32_t, uint32_t> descriptor_sets;

  // Returns the instruction that defines this id, or nullptr.
  [[nodiscard]] const Instruction* find(uint32_t id) const {
    const auto found = definitions.find(id);
    return found == definitions.end() ? nullptr : &instructions[found->second];
  }
};

// Parses `words`, which must outlive the module. Errors: a violation of the invariants above; an unknown magic number
// or version.
Result<SpirvModule> parse_spirv(std::span<const uint32_t> words, const std::string& where);

// The string that begins at the first of these words, and its number of words (0: it is not terminated).
struct Literal {
  std::string text;
  size_t words;
};
Literal string_of(std::span<const uint32_t> words);

// The module as text, one instruction per line; ids are numbers.
std::string print_spirv(const SpirvModule& module);

}  // namespace carina::vgf
