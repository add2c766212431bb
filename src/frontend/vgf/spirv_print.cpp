#include <fmt/format.h>

#include <algorithm>

#include "facts/vgf_ops.h"
#include "frontend/vgf/spirv_module_internal.h"

// Prints a SPIR-V module as text, one instruction per line, with the names of TOSA instructions.
namespace carina::vgf {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out + "\"";
}

std::string capability_name(uint32_t number) {
  const auto row =
      std::ranges::find(kSpirvCapabilities, static_cast<SpirvCapability>(number), &SpirvCapabilityRow::capability);
  return row == kSpirvCapabilities.end() ? std::to_string(number) : std::string(row->name);
}

std::string decoration_name(uint32_t number) {
  if (number == static_cast<uint32_t>(SpirvDecoration::kBinding)) return "Binding";
  if (number == static_cast<uint32_t>(SpirvDecoration::kDescriptorSet)) return "DescriptorSet";
  return std::to_string(number);
}

class Printer {
 public:
  explicit Printer(const SpirvModule& module) : module_(module) {}

  std::string print() {
    out_ = fmt::format("; SPIR-V {}.{}, ids below {}\n", module_.version >> 16, module_.version >> 8 & 0xFF,
                       module_.bound);
    for (const Instruction& instruction : module_.instructions) print(instruction);
    return std::move(out_);
  }

 private:
  void print(const Instruction& instruction) {
    const std::string made = instruction.result == 0 ? "" : fmt::format("%{} =", instruction.result);
    out_ += fmt::format("{:>8} ", made);
    if (instruction.row == nullptr) {
      out_ += fmt::format("Op{}", instruction.opcode);
      for (const uint32_t word : instruction.operands) out_ += fmt::format(" {:#010x}", word);
    } else {
      out_ += instruction.row->name;
      if (instruction.type != 0) out_ += fmt::format(" %{}", instruction.type);
      print_operands(instruction);
    }
    out_ += '\n';
  }

  void print_operands(const Instruction& instruction) {
    std::span<const uint32_t> rest = instruction.operands;
    char letter = '\0';
    for (const char next : instruction.row->operands) {
      if (next == 't' || next == 'r') continue;
      if (next == '*') {
        while (!rest.empty()) rest = rest.subspan(print_operand(instruction, letter, rest));
        return;
      }
      letter = next;
      if (rest.empty()) return;
      // In the row's pattern, the letter of an optional operand precedes its star.
      rest = rest.subspan(print_operand(instruction, letter, rest));
    }
  }

  size_t print_operand(const Instruction& instruction, char letter, std::span<const uint32_t> rest) {
    switch (letter) {
      case 's': {
        const Literal text = string_of(rest);
        out_ += ' ' + quoted(text.text);
        return text.words;
      }
      case 'i':
        out_ += fmt::format(" %{}", rest.front());
        return 1;
      case 'c':
        out_ += ' ' + capability_name(rest.front());
        return 1;
      case 'd':
        out_ += ' ' + decoration_name(rest.front());
        return 1;
      case 'e':
        out_ += ' ' + instruction_name(instruction.operands.front(), rest.front());
        return 1;
      default:
        out_ += fmt::format(" {}", rest.front());
        return 1;
    }
  }

  // The name of an instruction of an extended instruction set.
  [[nodiscard]] std::string instruction_name(uint32_t set, uint32_t number) const {
    const Instruction* import = module_.find(set);
    const bool tosa = import != nullptr && import->is(SpirvOp::OpExtInstImport) &&
                      string_of(import->operands).text == kVgfInstructionSet;
    const TosaOpRow* row = tosa ? find_vgf_instruction(number) : nullptr;
    constexpr size_t kPrefix = std::string_view("tosa.").size();
    return row == nullptr ? std::to_string(number) : std::string(name_of(row->op).substr(kPrefix));
  }

  const SpirvModule& module_;
  std::string out_;
};

}  // namespace

std::string print_spirv(const SpirvModule& module) {
  return Printer(module).print();
}

}  // namespace carina::vgf
