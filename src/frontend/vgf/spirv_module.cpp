#include <fmt/format.h>

#include "frontend/vgf/spirv_module_internal.h"

namespace carina::vgf {

namespace {

class Parser {
 public:
  Parser(std::span<const uint32_t> words, const std::string& where) : words_(words), where_(where) {}

  Result<SpirvModule> parse() {
    CARINA_CHECKED(read_header());
    for (size_t at = kSpirvHeaderWords; at < words_.size();) {
      const size_t count = words_[at] >> 16;
      if (count == 0 || count > words_.size() - at) {
        return error(fmt::format("the instruction at word {} does not end in the module", at),
                     fmt::format("1 to {} words", words_.size() - at), std::to_string(count));
      }
      CARINA_CHECKED(read_instruction(words_.subspan(at, count), at));
      at += count;
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::unexpected<Diagnostics> error(std::string what, std::string expected = {},
                                                   std::string got = {}) const {
    return fail({.where = where_, .what = std::move(what), .expected = std::move(expected), .got = std::move(got)});
  }

  Result<void> read_header() {
    if (words_.size() < kSpirvHeaderWords)
      return error("the SPIR-V ends in its header", fmt::format("{} words", kSpirvHeaderWords),
                   std::to_string(words_.size()));
    if (words_[0] != kSpirvMagic)
      return error("not SPIR-V", fmt::format("{:#010x}", kSpirvMagic), fmt::format("{:#010x}", words_[0]));
    out_.version = words_[1];
    if (out_.version < 0x00010000 || out_.version > kSpirvVersion1_6)
      return error("a version of SPIR-V that Carina does not read", "1.0 to 1.6",
                   fmt::format("{}.{}", out_.version >> 16, (out_.version >> 8) & 0xFF));
    out_.bound = words_[3];
    if (out_.bound > kSpirvMaxBound)
      return error("the bound of the ids is too high", fmt::format("at most {}", kSpirvMaxBound),
                   std::to_string(out_.bound));
    return {};
  }

  Result<void> check_id(uint32_t id, std::string_view op) const {
    if (id != 0 && id < out_.bound) return {};
    return error(fmt::format("{} has an id out of range", op), fmt::format("1 to {}", out_.bound - 1),
                 std::to_string(id));
  }

  // Checks the operands by the row's pattern, and sets type and result of the instruction.
  Result<void> check_operands(Instruction& instruction) {
    std::span<const uint32_t> rest = instruction.operands;
    size_t fixed = 0;
    const std::string_view letters = instruction.row->operands;
    for (size_t i = 0; i < letters.size(); ++i) {
      const bool repeats = i + 1 < letters.size() && letters[i + 1] == '*';
      while (!repeats || !rest.empty()) {
        if (rest.empty()) return error(fmt::format("{} has too few operands", instruction.row->name));
        CARINA_TRY(const size_t used, check_operand(instruction, letters[i], rest));
        rest = rest.subspan(used);
        if (letters[i] == 't' || letters[i] == 'r') ++fixed;
        if (!repeats) break;
      }
      if (repeats) ++i;
    }
    if (!rest.empty()) return error(fmt::format("{} has too many operands", instruction.row->name));
    instruction.operands = instruction.operands.subspan(fixed);
    return {};
  }

  // Checks one operand. Returns the number of its words.
  Result<size_t> check_operand(Instruction& instruction, char letter, std::span<const uint32_t> rest) const {
    if (letter == 's') {
      const Literal text = string_of(rest);
      if (text.words == 0) return error(fmt::format("a string of {} does not end", instruction.row->name));
      return text.words;
    }
    if (letter == 't' || letter == 'r' || letter == 'i') CARINA_CHECKED(check_id(rest.front(), instruction.row->name));
    if (letter == 't') instruction.type = rest.front();
    if (letter == 'r') instruction.result = rest.front();
    return size_t{1};
  }

  Result<void> read_instruction(std::span<const uint32_t> words, size_t at) {
    Instruction instruction{.opcode = words[0] & 0xFFFF, .row = nullptr, .operands = words.subspan(1)};
    instruction.row = find_spirv_op(instruction.opcode);
    if (instruction.row != nullptr) CARINA_CHECKED(check_operands(instruction));
    if (instruction.result != 0 && !out_.definitions.emplace(instruction.result, out_.instructions.size()).second)
      return error(fmt::format("the id {} is made twice, the second time at word {}", instruction.result, at));
    note(instruction);
    out_.instructions.push_back(instruction);
    return {};
  }

  void note(const Instruction& instruction) {
    const auto operands = instruction.operands;
    if (instruction.is(SpirvOp::OpName)) out_.names.emplace(operands[0], string_of(operands.subspan(1)).text);
    if (!instruction.is(SpirvOp::OpDecorate) || operands.size() < 3) return;
    const auto decoration = static_cast<SpirvDecoration>(operands[1]);
    if (decoration == SpirvDecoration::kBinding) out_.bindings.emplace(operands[0], operands[2]);
    if (decoration == SpirvDecoration::kDescriptorSet) out_.descriptor_sets.emplace(operands[0], operands[2]);
  }

  std::span<const uint32_t> words_;
  const std::string& where_;
  SpirvModule out_;
};

}  // namespace

Result<SpirvModule> parse_spirv(std::span<const uint32_t> words, const std::string& where) {
  return Parser(words, where).parse();
}

Literal string_of(std::span<const uint32_t> words) {
  Literal out{.text = {}, .words = 0};
  for (size_t i = 0; i < words.size(); ++i) {
    for (int shift = 0; shift < 32; shift += 8) {
      const char c = static_cast<char>(words[i] >> shift & 0xFF);
      if (c == '\0') {
        out.words = i + 1;
        return out;
      }
      out.text += c;
    }
  }
  return out;
}

}  // namespace carina::vgf
