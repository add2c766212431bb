#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "facts/npu_registers.h"

// Commands, the register file, and the reader and the writer of command streams.
namespace carina::npu {

// One decoded command. `param` and `payload` are raw; data() and address() interpret them.
struct Command {
  enum class Kind : uint8_t { kRegister, kOperation };
  Kind kind = Kind::kRegister;
  Reg reg = Reg{};  // if kind is kRegister
  Op op = Op{};     // if kind is kOperation
  uint16_t param = 0;
  uint32_t payload = 0;     // 0 for commands of one word
  uint32_t word_index = 0;  // of its first word in the stream

  [[nodiscard]] const CommandRow& row() const { return kind == Kind::kRegister ? row_of(reg) : row_of(op); }
  [[nodiscard]] std::span<const FieldRow> fields() const {
    return kind == Kind::kRegister ? fields_of(reg) : fields_of(op);
  }
  // Parameter and payload as the argument of FieldRow::get().
  [[nodiscard]] uint64_t data() const { return param | static_cast<uint64_t>(payload) << 16; }
  // The value of an address or stride register. It is sign-extended from 32 bits on U55 (the parameter is ignored), and
  // from 40 bits on the other products.
  [[nodiscard]] int64_t address(Product product) const;
  // The number of words of the command.
  [[nodiscard]] uint32_t words() const { return row().form == Form::kNoPayload ? 1 : 2; }
};

// The value of an address register with these two parts.
constexpr int64_t address_of(Product product, uint16_t param, uint32_t payload) {
  if (product == Product::kU55) return static_cast<int32_t>(payload);
  return static_cast<int64_t>((static_cast<uint64_t>(param & 0xFF) << 32 | payload) << 24) >> 24;
}
inline int64_t Command::address(Product product) const {
  return address_of(product, param, payload);
}

// The register file: the value of each register after the commands so far. Unwritten registers read as 0 and are not
// `written`.
class RegisterFile {
 public:
  explicit RegisterFile(Product product) : product_(product) {}
  [[nodiscard]] Product product() const { return product_; }
  void write(const Command& command) {
    const auto i = static_cast<size_t>(command.reg);
    data_[i] = command.data();
    written_[i] = true;
  }
  [[nodiscard]] bool written(Reg reg) const { return written_[static_cast<size_t>(reg)]; }
  [[nodiscard]] uint64_t data(Reg reg) const { return data_[static_cast<size_t>(reg)]; }
  [[nodiscard]] uint16_t param(Reg reg) const { return static_cast<uint16_t>(data(reg)); }
  [[nodiscard]] uint32_t payload(Reg reg) const { return static_cast<uint32_t>(data(reg) >> 16); }
  [[nodiscard]] int64_t address(Reg reg) const { return address_of(product_, param(reg), payload(reg)); }

 private:
  Product product_;
  std::array<uint64_t, kRegCount> data_{};
  std::bitset<kRegCount> written_;
};

// Decodes a command stream word by word, from memory with any content. It makes no unaligned access and allocates
// nothing.
class StreamReader {
 public:
  // Messages name the stream `where`. `words` must outlive the reader.
  StreamReader(Product product, std::span<const uint32_t> words, std::string where)
      : product_(product), words_(words), where_(std::move(where)) {}

  // Reads the next command into `command`. Returns false at the end of the words. Errors, with the byte offset: an
  // opcode that this product does not have; reserved bits that are set; a truncated payload.
  [[nodiscard]] Result<bool> next(Command& command) {
    if (at_ >= words_.size()) return false;
    return decode(command) ? Result<bool>(true) : fail_here();
  }
  // Continues at this byte offset (a branch target). Errors: not a multiple of 4, or outside the stream.
  [[nodiscard]] Result<void> seek(uint64_t byte_offset);
  [[nodiscard]] size_t word_index() const { return at_; }
  [[nodiscard]] Product product() const { return product_; }

 private:
  bool decode(Command& command);
  [[nodiscard]] Result<bool> fail_here() const;

  Product product_;
  std::span<const uint32_t> words_;
  std::string where_;
  size_t at_ = 0;
};

// Decodes all commands of a stream. Errors: as StreamReader::next().
Result<std::vector<Command>> read_stream(Product product, std::span<const uint32_t> words, const std::string& where);

// Builds a command stream. Values are checked against the register table. A register that the product does not have, or
// a value that does not fit, is an internal error (CARINA_CHECK).
class StreamWriter {
 public:
  // kOmitUnchanged leaves out writes that would not change a register. Registers keep their values between operations.
  enum class Writes : uint8_t { kAll, kOmitUnchanged };
  explicit StreamWriter(Product product, Writes writes = Writes::kOmitUnchanged) : product_(product), writes_(writes) {}

  // Sets a register to one number: the parameter (-32768..65535) of a CMD0 register; the payload (-2^31..2^32-1) of a
  // kPayload32 register, whose parameter becomes 0; the address or the stride (may be negative) of a kAddress register.
  void set(Reg reg, int64_t value);
  // Sets both parts of a kPayload32 register, such as OFM_SCALE: param = shift, payload = scale.
  void set(Reg reg, uint16_t param, uint32_t payload);
  // Sets a register from packed fields: bits 0..15 are the parameter, bits 16..47 the payload, as FieldRow::set()
  // returns them.
  void set_fields(Reg reg, uint64_t data);
  // Appends an operation.
  void op(Op op, uint16_t param = 0);
  // Appends NPU_OP_BRANCH (U85) to a byte offset from the start of the stream. Then calls forget().
  void branch(BranchCond condition, uint32_t target_byte_offset);
  // Forgets all registers, so that the next write of each is not omitted. Needed at branch targets.
  void forget() { known_.reset(); }
  // Rewrites the target of the branch at this word.
  void patch_branch(size_t word_index, uint32_t target_byte_offset);

  [[nodiscard]] Product product() const { return product_; }
  [[nodiscard]] const std::vector<uint32_t>& words() const { return words_; }
  [[nodiscard]] std::vector<uint32_t> take() && { return std::move(words_); }
  [[nodiscard]] size_t word_count() const { return words_.size(); }

 private:
  void append(const CommandRow& row, uint16_t param, uint32_t payload);

  Product product_;
  Writes writes_;
  std::vector<uint32_t> words_;
  std::array<uint64_t, kRegCount> values_{};
  std::bitset<kRegCount> known_;
};

}  // namespace carina::npu
