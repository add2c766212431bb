#include "npu/registers.h"

#include <fmt/format.h>

#include "carina/check.h"

namespace carina::npu {

namespace {

constexpr uint8_t kNoCommand = 0xFF;
constexpr uint8_t kOperationBit = 0x80;
static_assert(kRegCount < kOperationBit && kOpCount < kOperationBit - 1);

// Maps (opcode, control) to a Reg, or to an Op with kOperationBit set, for one product.
struct OpcodeMap {
  std::array<std::array<uint8_t, kOpcodeMask + 1>, 2> entries{};
};

template <size_t N>
constexpr void add_commands(OpcodeMap& map, const std::array<CommandRow, N>& rows, Product product, uint8_t bit) {
  for (size_t i = 0; i < N; ++i) {
    if (!contains(rows[i].products, product)) continue;
    map.entries[rows[i].form == Form::kNoPayload ? kCmd0 : kCmd1][rows[i].opcode] = static_cast<uint8_t>(i | bit);
  }
}

constexpr OpcodeMap opcode_map(Product product) {
  OpcodeMap map;
  for (auto& form : map.entries) form.fill(kNoCommand);
  add_commands(map, kRegRows, product, 0);
  add_commands(map, kOpRows, product, kOperationBit);
  return map;
}

constexpr std::array<OpcodeMap, 3> kOpcodeMaps{opcode_map(Product::kU55), opcode_map(Product::kU65),
                                               opcode_map(Product::kU85)};

std::string_view product_name(Product product) {
  constexpr std::array<std::string_view, 3> kNames{"Ethos-U55", "Ethos-U65", "Ethos-U85"};
  return kNames[static_cast<size_t>(product)];
}

// The bits of a command's data that belong to a field of this product.
constexpr uint64_t defined_bits(std::span<const FieldRow> fields, Product product) {
  uint64_t bits = 0;
  for (const FieldRow& field : fields) {
    if (contains(field.products, product)) bits |= field.mask() << field.low;
  }
  return bits;
}

// By product and register.
constexpr std::array<std::array<uint64_t, kRegCount>, 3> kDefinedBits = [] {
  std::array<std::array<uint64_t, kRegCount>, 3> bits{};
  for (size_t product = 0; product < bits.size(); ++product) {
    for (size_t reg = 0; reg < kRegCount; ++reg)
      bits[product][reg] = defined_bits(fields_of(static_cast<Reg>(reg)), static_cast<Product>(product));
  }
  return bits;
}();

uint64_t defined_bits(Reg reg, Product product) {
  return kDefinedBits[static_cast<size_t>(product)][static_cast<size_t>(reg)];
}

}  // namespace

bool StreamReader::decode(Command& command) {
  const uint32_t word = words_[at_];
  const uint32_t control = word >> kControlShift & kControlMask;
  if (control > kCmd1 || (word & kReservedMask) != 0) return false;
  const uint8_t found = kOpcodeMaps[static_cast<size_t>(product_)].entries[control][word & kOpcodeMask];
  if (found == kNoCommand || (control == kCmd1 && at_ + 1 >= words_.size())) return false;
  const bool is_operation = (found & kOperationBit) != 0;
  command.kind = is_operation ? Command::Kind::kOperation : Command::Kind::kRegister;
  command.reg = is_operation ? Reg{} : static_cast<Reg>(found);
  command.op = is_operation ? static_cast<Op>(found & ~kOperationBit) : Op{};
  command.param = static_cast<uint16_t>(word >> 16);
  command.payload = control == kCmd1 ? words_[at_ + 1] : 0;
  command.word_index = static_cast<uint32_t>(at_);
  at_ += 1 + control;
  return true;
}

Result<bool> StreamReader::fail_here() const {
  const uint32_t word = words_[at_];
  const uint32_t control = word >> kControlShift & kControlMask;
  const std::string where = fmt::format("{}: command stream, byte {:#x}", where_, at_ * 4);
  const std::string got = fmt::format("word {:#010x}", word);
  if (control > kCmd1 || (word & kReservedMask) != 0) {
    return fail({.where = where,
                 .what = "reserved bits of a command are set",
                 .expected = "bits 10 to 13 and 15 zero",
                 .got = got});
  }
  if (kOpcodeMaps[static_cast<size_t>(product_)].entries[control][word & kOpcodeMask] == kNoCommand) {
    return fail({.where = where, .what = fmt::format("{} has no such command", product_name(product_)), .got = got});
  }
  return fail({.where = where, .what = "the stream ends inside a command of two words", .got = got});
}

Result<void> StreamReader::seek(uint64_t byte_offset) {
  if (byte_offset % 4 != 0 || byte_offset / 4 >= words_.size()) {
    return fail({.where = where_,
                 .what = "a branch leads out of the command stream",
                 .expected = fmt::format("a multiple of 4 below {}", words_.size() * 4),
                 .got = fmt::format("{}", byte_offset)});
  }
  at_ = static_cast<size_t>(byte_offset / 4);
  return {};
}

Result<std::vector<Command>> read_stream(Product product, std::span<const uint32_t> words, const std::string& where) {
  StreamReader reader(product, words, where);
  std::vector<Command> commands;
  for (Command command;;) {
    CARINA_TRY(const bool more, reader.next(command));
    if (!more) return commands;
    commands.push_back(command);
  }
}

void StreamWriter::append(const CommandRow& row, uint16_t param, uint32_t payload) {
  const bool one_word = row.form == Form::kNoPayload;
  words_.push_back(static_cast<uint32_t>(param) << 16 | (one_word ? kCmd0 : kCmd1) << kControlShift | row.opcode);
  if (!one_word) words_.push_back(payload);
}

void StreamWriter::set_fields(Reg reg, uint64_t data) {
  const CommandRow& row = row_of(reg);
  CARINA_CHECK(contains(row.products, product_), "{} on {}", row.name, product_name(product_));
  CARINA_CHECK(row.form == Form::kAddress || (data & ~defined_bits(reg, product_)) == 0, "{} = {:#x}", row.name, data);
  const auto i = static_cast<size_t>(reg);
  if (writes_ == Writes::kOmitUnchanged && known_[i] && values_[i] == data) return;
  known_[i] = true;
  values_[i] = data;
  append(row, static_cast<uint16_t>(data), static_cast<uint32_t>(data >> 16));
}

void StreamWriter::set(Reg reg, int64_t value) {
  const CommandRow& row = row_of(reg);
  if (row.form == Form::kNoPayload) {
    CARINA_CHECK(value >= INT16_MIN && value <= UINT16_MAX, "{} = {}", row.name, value);
    // A negative number is truncated to the width of the register's field.
    const uint64_t bits = defined_bits(reg, product_);
    set_fields(reg, value < 0 ? static_cast<uint64_t>(value) & bits : static_cast<uint64_t>(value));
    return;
  }
  if (row.form == Form::kPayload32) {
    CARINA_CHECK(value >= INT32_MIN && value <= UINT32_MAX, "{} = {}", row.name, value);
    set_fields(reg, static_cast<uint64_t>(static_cast<uint32_t>(value)) << 16);
    return;
  }
  const int64_t limit = int64_t{1} << address_bits(product_);
  CARINA_CHECK(value >= -limit / 2 && value < limit, "{} = {}", row.name, value);
  set_fields(reg, (static_cast<uint64_t>(value) >> 32 & 0xFF) | static_cast<uint64_t>(static_cast<uint32_t>(value))
                                                                    << 16);
}

void StreamWriter::set(Reg reg, uint16_t param, uint32_t payload) {
  CARINA_CHECK(row_of(reg).form == Form::kPayload32, "{} takes no parameter and payload", row_of(reg).name);
  set_fields(reg, param | static_cast<uint64_t>(payload) << 16);
}

void StreamWriter::op(Op op, uint16_t param) {
  const CommandRow& row = row_of(op);
  CARINA_CHECK(contains(row.products, product_) && row.form == Form::kNoPayload, "{} on {}", row.name,
               product_name(product_));
  CARINA_CHECK((param & ~defined_bits(fields_of(op), product_)) == 0, "{} {:#x}", row.name, param);
  append(row, param, 0);
}

void StreamWriter::branch(BranchCond condition, uint32_t target_byte_offset) {
  CARINA_CHECK(contains(row_of(Op::BRANCH).products, product_), "a branch on {}", product_name(product_));
  append(row_of(Op::BRANCH), static_cast<uint16_t>(condition), target_byte_offset);
  forget();
}

void StreamWriter::patch_branch(size_t word_index, uint32_t target_byte_offset) {
  CARINA_CHECK(word_index + 1 < words_.size() && (words_[word_index] & kOpcodeMask) == row_of(Op::BRANCH).opcode,
               "no branch at word {}", word_index);
  words_[word_index + 1] = target_byte_offset;
}

}  // namespace carina::npu
